//! A judge's task from a template: JSON whose texts may hold expressions over the item, such as `{{ task.answer }}`.
//!
//! A text that is one expression becomes that value, with its type; any other text becomes a text. Names that are not there are
//! errors, so that a judge never grades against nothing.

use std::sync::LazyLock;

use assay_core::{Completion, Evidence, Task};
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value as Filled, filters};
use serde_json::Value;

use crate::BatchItem;

/// Steps of one template.
const FUEL: u64 = 100_000;

/// Longest template, in bytes.
const LONGEST: usize = 4_096;

/// Most bytes that a template could make of an item's facts: each mention may copy the largest of them.
const LARGEST: usize = 64 << 20;

/// Expressions with a few filters and nothing that makes much of little: no loops, no variables, no multiplication of texts.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::empty();
    environment.add_filter("default", filters::default);
    environment.add_filter("first", filters::first);
    environment.add_filter("last", filters::last);
    environment.add_filter("length", filters::length);
    environment.add_filter("lower", filters::lower);
    environment.add_filter("tojson", filters::tojson);
    environment.add_filter("trim", filters::trim);
    environment.add_filter("upper", filters::upper);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment
});

/// What a template may name.
pub(crate) struct Facts<'a> {
    pub(crate) item: &'a BatchItem,
    pub(crate) channel: &'a str,
    pub(crate) evidence: &'a Evidence,
}

impl Facts<'_> {
    /// What a template could make of the facts has a bound: as many copies as it has mentions.
    fn refuse_too_large(&self, template: &Value) -> Result<(), String> {
        let item = &self.item.item;
        let prompt = item.prompt.as_ref().map_or(0, Completion::bytes);
        let largest = item.completion.bytes().max(prompt).max(self.item.task.body.get().len());
        let mentions = mentions(template);
        if largest.saturating_mul(mentions) > LARGEST {
            return Err(format!(
                "the judge's task cannot be made: {mentions} mentions of {largest} bytes are too much"
            ));
        }
        Ok(())
    }

    fn values(&self) -> Filled {
        let item = &self.item.item;
        let task: Value = serde_json::from_str(self.item.task.body.get()).unwrap_or_default();
        minijinja::context! {
            prompt => item.prompt.as_ref().map(prompt_text),
            completion => item.completion.text(),
            task => Filled::from(Serde(task)),
            evidence => Filled::from(Serde(self.evidence.as_map())),
            channel => self.channel,
            meta => Filled::from(Serde(&item.meta)),
        }
    }
}

/// How many names the templates could mention: as many as words begin in their expressions.
fn mentions(template: &Value) -> usize {
    match template {
        Value::String(text) if text.contains("{{") => text
            .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .filter(|word| !word.is_empty())
            .count(),
        Value::Array(list) => list.iter().map(mentions).sum(),
        Value::Object(members) => members.values().map(mentions).sum(),
        _ => 0,
    }
}

/// The task that `template` makes of an item.
///
/// # Errors
/// What is missing or wrong, in a sentence.
pub(crate) fn render(template: &Value, facts: &Facts<'_>) -> Result<Task, String> {
    facts.refuse_too_large(template)?;
    let values = facts.values();
    let mut filled = template.clone();
    fill(&mut filled, "", &mut |text| render_text(text, &values))
        .map_err(|(pointer, message)| format!("the judge's task cannot be made: `{pointer}`: {message}"))?;
    Task::from_json(&filled.to_string()).map_err(|error| error.to_string())
}

/// Reads the templates without filling them.
///
/// # Errors
/// A pointer to the text within the task, and what is wrong with it.
pub(crate) fn check(template: &Value) -> Result<(), (String, String)> {
    let mut read = template.clone();
    fill(&mut read, "", &mut |text| {
        if text.len() > LONGEST {
            return Err(format!("the template is longer than {LONGEST} bytes"));
        }
        if text.contains("{%") || (text.contains("{{") && text.contains('*')) {
            return Err("a template has expressions in `{{ }}`, without statements and without `*`".to_owned());
        }
        match expression(text) {
            Some(expression) => ENVIRONMENT.compile_expression(expression).map(drop),
            None => ENVIRONMENT.template_from_str(text).map(drop),
        }
        .map_err(|error| format!("the template cannot be read: {error:#}"))?;
        Ok(Value::Null)
    })
}

/// Replaces every text of `value` by what `with` makes of it.
fn fill(
    value: &mut Value,
    pointer: &str,
    with: &mut dyn FnMut(&str) -> Result<Value, String>,
) -> Result<(), (String, String)> {
    match value {
        Value::String(text) => *value = with(text).map_err(|message| (pointer.to_owned(), message))?,
        Value::Array(list) => {
            for (at, value) in list.iter_mut().enumerate() {
                fill(value, &format!("{pointer}/{at}"), with)?;
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                fill(value, &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")), with)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn render_text(text: &str, values: &Filled) -> Result<Value, String> {
    let told = |error: minijinja::Error| format!("{error:#}");
    if !text.contains("{{") {
        return Ok(Value::from(text));
    }
    if let Some(expression) = expression(text) {
        let value = ENVIRONMENT.compile_expression(expression).and_then(|it| it.eval(values)).map_err(told)?;
        if value.is_undefined() {
            return Err(format!("`{}` is not there", expression.trim()));
        }
        return serde_json::to_value(value).map_err(|error| error.to_string());
    }
    ENVIRONMENT.render_str(text, values).map(Value::from).map_err(told)
}

/// What the model was asked: the texts of all messages but its own.
fn prompt_text(prompt: &Completion) -> String {
    match prompt {
        Completion::Text(text) => text.to_string(),
        Completion::Messages(messages) => {
            let asked = messages.iter().filter(|message| message.role != "assistant");
            asked.map(assay_core::Message::text).collect::<Vec<_>>().join("\n\n")
        }
    }
}

/// The expression that a text is and nothing else.
fn expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then_some(inner)
}

#[cfg(test)]
mod tests {
    use assay_core::Item;
    use serde_json::json;

    use super::*;

    fn item() -> BatchItem {
        let task = Task::from_json(r#"{"type":"math","answer":["1/3","2/6"],"rounding":"gold"}"#).unwrap();
        BatchItem::new(Item::text("so it is 1/3"), task)
    }

    fn rendered(template: &Value) -> Result<String, String> {
        let item = item();
        let evidence = Evidence::new().value("extracted", "1/3");
        let facts = Facts { item: &item, channel: "math/a", evidence: &evidence };
        render(template, &facts).map(|task| task.body.get().to_owned())
    }

    #[test]
    fn a_text_that_is_one_expression_keeps_its_type() {
        let task = rendered(&json!({ "type": "math", "answer": "{{ task.answer }}", "n": 3 })).unwrap();
        let task: Value = serde_json::from_str(&task).unwrap();
        assert_eq!(task, json!({ "type": "math", "answer": ["1/3", "2/6"], "n": 3 }));
    }

    #[test]
    fn texts_are_filled_in() {
        let text = "Is {{ evidence.extracted }} the same as {{ task.answer[0] }}?";
        let task = rendered(&json!({ "type": "rubric", "question": text })).unwrap();
        assert!(task.contains("Is 1/3 the same as 1/3?"), "{task}");
    }

    #[test]
    fn what_is_not_there_is_no_empty_gold() {
        for text in ["{{ task.gold }}", "{{ task.gold }} and more", "{{ prompt.x.y }}"] {
            let error = rendered(&json!({ "type": "math", "answer": text })).unwrap_err();
            assert!(error.starts_with("the judge's task cannot be made: `/answer`"), "{error}");
        }
    }

    #[test]
    fn nothing_makes_much_of_little() {
        for text in [
            "{% for a in [1, 2] %}x{% endfor %}",
            "{% set x = completion %}{{ x ~ x }}",
            "{{ 'x' * 1000000 }}",
            "{{ range(1000) }}",
            "{{ [1, 2] | join(completion) }}",
            &format!("{{{{ '{}' }}}}", "x".repeat(5_000)),
        ] {
            let template = json!({ "type": "math", "answer": text });
            assert!(check(&template).is_err() || rendered(&template).is_err(), "{text}");
        }
        let long = BatchItem::new(Item::text(&"x".repeat(1 << 20)), item().task);
        let facts = Facts { item: &long, channel: "math/a", evidence: &Evidence::new() };
        let text = format!("{{{{ {} }}}}", ["completion"; 100].join(" ~ "));
        let error = render(&json!({ "type": "math", "answer": text }), &facts).unwrap_err();
        assert!(error.contains("100 mentions"), "{error}");
    }

    #[test]
    fn a_slip_in_a_template_is_found_before_it_is_used() {
        assert_eq!(check(&json!({ "type": "math", "answer": "{{ task.answer }}" })), Ok(()));
        let (pointer, message) = check(&json!({ "type": "math", "a": ["ok", "{{ if }}"] })).unwrap_err();
        assert!(pointer == "/a/1" && message.starts_with("the template cannot be read"), "{pointer} {message}");
    }
}
