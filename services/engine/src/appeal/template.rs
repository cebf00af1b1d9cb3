//! A judge's task from a template: JSON whose texts may name facts of the item, such as `{{
//! task.answer }}`.
//!
//! A text that is one name becomes that value, with its type; in any other text names become text.
//! Names have members and places (`task.answer[0]`, `evidence.extracted`) and nothing else: no
//! functions, loops or operators, so that a template cannot make much of little. What is not there
//! is an error, so that a judge never grades against nothing.

use assay_core::{Completion, Evidence, Task};
use serde_json::Value;

use crate::BatchItem;

/// Longest template of one text, in bytes.
const LONGEST: usize = 4_096;

/// Most bytes that a judge's task may come to.
const LARGEST: usize = 16 << 20;

/// What a name may begin with.
const NAMES: [&str; 6] = [
    "prompt",
    "completion",
    "task",
    "evidence",
    "channel",
    "meta",
];

/// What a template may name.
pub(crate) struct Facts<'a> {
    pub(crate) item: &'a BatchItem,
    pub(crate) channel: &'a str,
    pub(crate) evidence: &'a Evidence,
}

impl Facts<'_> {
    /// The fact of this name; `None` where the item has none.
    fn fact(&self, name: &str) -> Option<Value> {
        let item = &self.item.item;
        match name {
            "prompt" => item
                .prompt
                .as_ref()
                .map(|prompt| Value::from(prompt_text(prompt))),
            "completion" => Some(Value::from(item.completion.text())),
            "task" => serde_json::from_str(self.item.task.body.get()).ok(),
            "evidence" => Some(Value::Object(self.evidence.as_map().clone())),
            "channel" => Some(Value::from(self.channel)),
            // Facts came from JSON, so they go back into it.
            "meta" => serde_json::to_value(&item.meta).ok(),
            _ => None,
        }
    }
}

/// The task that `template` makes of an item.
///
/// # Errors
/// What is missing or wrong, in a sentence.
pub(crate) fn render(template: &Value, facts: &Facts<'_>) -> Result<Task, String> {
    let mut filled = template.clone();
    let mut bytes = 0;
    let mut fill_one = |text: &str| {
        let value = filled_text(text, facts)?;
        bytes += value
            .as_str()
            .map_or_else(|| value.to_string().len(), str::len);
        if bytes > LARGEST {
            return Err(format!("it comes to more than {LARGEST} bytes"));
        }
        Ok(value)
    };
    fill(&mut filled, "", &mut fill_one).map_err(|(pointer, message)| {
        format!("the judge's task cannot be made: `{pointer}`: {message}")
    })?;
    Task::from_json(&filled.to_string()).map_err(|error| error.to_string())
}

/// Reads the templates without filling them.
///
/// # Errors
/// A pointer to the text within the task, and what is wrong with it.
pub(crate) fn check(template: &Value) -> Result<(), (String, String)> {
    let mut read = template.clone();
    fill(&mut read, "", &mut |text| {
        if text.contains("{{") && text.len() > LONGEST {
            return Err(format!("the template is longer than {LONGEST} bytes"));
        }
        for part in parts(text)? {
            if let Part::Name(path) = part {
                steps(path)?;
            }
        }
        Ok(Value::Null)
    })
}

/// Replaces every text of `value` by what `with` makes of it. Keys are no templates.
fn fill(
    value: &mut Value,
    pointer: &str,
    with: &mut dyn FnMut(&str) -> Result<Value, String>,
) -> Result<(), (String, String)> {
    match value {
        Value::String(text) => {
            *value = with(text).map_err(|message| (pointer.to_owned(), message))?
        }
        Value::Array(list) => {
            for (at, value) in list.iter_mut().enumerate() {
                fill(value, &format!("{pointer}/{at}"), with)?;
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                if name.contains("{{") {
                    return Err((
                        pointer,
                        "a key is no template; write names into texts".to_owned(),
                    ));
                }
                fill(value, &pointer, with)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// A piece of a text.
#[derive(Debug, PartialEq)]
enum Part<'t> {
    Text(&'t str),
    Name(&'t str),
}

/// The pieces of a text: what stands between `{{` and `}}` is a name.
fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after
            .split_once("}}")
            .ok_or("the template has a `{{` without its `}}`")?;
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        parts.push(Part::Name(name.trim()));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    Ok(parts)
}

/// One step of a name.
#[derive(Debug, PartialEq)]
enum Step<'t> {
    Member(&'t str),
    Place(usize),
}

/// The steps of a name, the fact itself first: `task.answer[0]`.
fn steps(path: &str) -> Result<Vec<Step<'_>>, String> {
    let refuse = || {
        format!(
            "`{path}` is no name: write one of {} with members and places, as `task.answer[0]`",
            NAMES.join(", ")
        )
    };
    let word = |text: &str| {
        text.chars()
            .all(|letter| letter.is_alphanumeric() || letter == '_')
            && !text.is_empty()
    };
    let mut steps = Vec::new();
    for segment in path.split('.') {
        let (member, mut places) = segment
            .find('[')
            .map_or((segment, ""), |at| segment.split_at(at));
        if !word(member) {
            return Err(refuse());
        }
        steps.push(Step::Member(member));
        while !places.is_empty() {
            let inner = places
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'))
                .ok_or_else(refuse)?;
            steps.push(Step::Place(inner.0.parse().map_err(|_| refuse())?));
            places = inner.1;
        }
    }
    match steps.first() {
        Some(Step::Member(name)) if NAMES.contains(name) => Ok(steps),
        _ => Err(refuse()),
    }
}

fn filled_text(text: &str, facts: &Facts<'_>) -> Result<Value, String> {
    let parts = parts(text)?;
    match parts.as_slice() {
        [] => Ok(Value::from("")),
        [Part::Name(path)] => named(path, facts),
        parts => {
            let mut filled = String::new();
            for part in parts {
                match part {
                    Part::Text(text) => filled.push_str(text),
                    Part::Name(path) => match named(path, facts)? {
                        Value::String(text) => filled.push_str(&text),
                        other => filled.push_str(&other.to_string()),
                    },
                }
                if filled.len() > LARGEST {
                    return Err(format!("it comes to more than {LARGEST} bytes"));
                }
            }
            Ok(Value::from(filled))
        }
    }
}

/// The value of a name.
fn named(path: &str, facts: &Facts<'_>) -> Result<Value, String> {
    let absent = || format!("`{path}` is not there");
    let mut steps = steps(path)?.into_iter();
    let Some(Step::Member(name)) = steps.next() else {
        return Err(absent());
    };
    let mut value = facts.fact(name).ok_or_else(absent)?;
    for step in steps {
        let inner = match step {
            Step::Member(name) => value.get_mut(name),
            Step::Place(at) => value.get_mut(at),
        };
        value = inner.map(Value::take).ok_or_else(absent)?;
    }
    if value.is_null() {
        Err(absent())
    } else {
        Ok(value)
    }
}

/// What the model was asked: the texts of all messages but its own.
fn prompt_text(prompt: &Completion) -> String {
    match prompt {
        Completion::Text(text) => text.to_string(),
        Completion::Messages(messages) => {
            let asked = messages
                .iter()
                .filter(|message| message.role != "assistant");
            asked
                .map(assay_core::Message::text)
                .collect::<Vec<_>>()
                .join("\n\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_core::Item;
    use serde_json::json;

    use super::*;

    fn item() -> BatchItem {
        let task =
            Task::from_json(r#"{"type":"math","answer":["1/3","2/6"],"rounding":"gold"}"#).unwrap();
        BatchItem::new(Item::text("so it is 1/3"), task)
    }

    fn rendered(template: &Value) -> Result<String, String> {
        let item = item();
        let evidence = Evidence::new().value("extracted", "1/3");
        let facts = Facts {
            item: &item,
            channel: "math/a",
            evidence: &evidence,
        };
        render(template, &facts).map(|task| task.body.get().to_owned())
    }

    #[test]
    fn a_text_that_is_one_name_keeps_its_type() {
        let task =
            rendered(&json!({ "type": "math", "answer": "{{ task.answer }}", "n": 3 })).unwrap();
        let task: Value = serde_json::from_str(&task).unwrap();
        assert_eq!(
            task,
            json!({ "type": "math", "answer": ["1/3", "2/6"], "n": 3 })
        );
    }

    #[test]
    fn texts_are_filled_in() {
        let text = "Is {{ evidence.extracted }} the same as {{task.answer[1]}}? {{ task.answer }}";
        let task = rendered(&json!({ "type": "rubric", "question": text })).unwrap();
        let task: Value = serde_json::from_str(&task).unwrap();
        assert_eq!(task["question"], r#"Is 1/3 the same as 2/6? ["1/3","2/6"]"#);
    }

    #[test]
    fn what_is_not_there_is_no_empty_gold() {
        for text in [
            "{{ task.gold }}",
            "{{ task.gold }} and more",
            "{{ prompt }}",
            "Q: {{ prompt }}",
            "{{ task.answer[2] }}",
        ] {
            let error = rendered(&json!({ "type": "math", "answer": text })).unwrap_err();
            assert!(
                error.starts_with("the judge's task cannot be made: `/answer`"),
                "{error}"
            );
            assert!(error.ends_with("is not there"), "{error}");
        }
    }

    #[test]
    fn a_completion_is_never_read_as_a_template() {
        let mut odd = item();
        odd.item = Item::text("{{ task.answer }}");
        let facts = Facts {
            item: &odd,
            channel: "math/a",
            evidence: &Evidence::new(),
        };
        let task = render(
            &json!({ "type": "math", "answer": "{{ completion }}" }),
            &facts,
        )
        .unwrap();
        assert!(task.body.get().contains("{{ task.answer }}"));
    }

    #[test]
    fn a_slip_is_found_before_it_is_used() {
        assert_eq!(
            check(&json!({ "type": "math", "answer": "{{ task.answer[0] }} {{ meta.truth }}" })),
            Ok(())
        );
        for text in [
            "{{ task.answer",
            "{{ tasks.answer }}",
            "{{ task.answer | upper }}",
            "{{ task..a }}",
            "{{ 1 + 1 }}",
            "{{ task[x] }}",
            "{{}}",
            "{{ not task }}",
        ] {
            let (pointer, _) = check(&json!({ "type": "math", "a": ["ok", text] })).unwrap_err();
            assert_eq!(pointer, "/a/1", "{text}");
        }
        let (pointer, _) = check(&json!({ "type": "math", "{{ task }}": 1 })).unwrap_err();
        assert_eq!(pointer, "/{{ task }}");
    }

    #[test]
    fn nothing_makes_much_of_little() {
        let long = BatchItem::new(Item::text(&"x".repeat(1 << 20)), item().task);
        let facts = Facts {
            item: &long,
            channel: "math/a",
            evidence: &Evidence::new(),
        };
        let text = "{{completion}}".repeat(100);
        let error = render(&json!({ "type": "math", "answer": text }), &facts).unwrap_err();
        assert!(error.contains("more than 16777216 bytes"), "{error}");
        let (_, message) =
            check(&json!({ "type": "math", "answer": "{{task}}".repeat(1_000) })).unwrap_err();
        assert!(message.contains("longer than 4096 bytes"), "{message}");
    }
}
