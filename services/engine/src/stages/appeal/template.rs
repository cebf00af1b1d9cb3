//! Renders the task of a judge from a template: JSON in which texts may contain variables of the
//! item, such as `{{ task.answer }}`.
//!
//! A text that is exactly one variable is replaced by its value and keeps the type of the value; in
//! other texts variables are replaced by text. A variable may be followed by members and indices
//! (`task.answer[0]`, `evidence.extracted`). There are no functions, loops or operators, so the
//! size of a task is bounded by its template and its variables. A missing value is an error, so
//! that a judge never grades against an empty reference.

use assay_base::pointer;
use assay_core::{Completion, Evidence, Item, Task};
use serde_json::Value;

/// Longest text with variables, in bytes.
const MAX_TEMPLATE_BYTES: usize = 4_096;

/// Largest task that a template may render, in bytes.
const MAX_TASK_BYTES: usize = 16 << 20;

/// The variables.
const VARIABLES: [&str; 6] = [
    "prompt",
    "completion",
    "task",
    "evidence",
    "channel",
    "meta",
];

/// The values of the variables.
pub(crate) struct TemplateVariables<'a> {
    pub(crate) item: &'a Item,
    pub(crate) task: &'a Task,
    pub(crate) channel: &'a str,
    pub(crate) evidence: &'a Evidence,
}

impl TemplateVariables<'_> {
    /// The value of a variable; `None` if the item has none.
    fn variable(&self, name: &str) -> Option<Value> {
        let item = self.item;
        match name {
            "prompt" => item
                .prompt
                .as_ref()
                .map(|prompt| Value::from(prompt_text(prompt))),
            "completion" => Some(Value::from(item.completion.text())),
            "task" => serde_json::from_str(self.task.body.get()).ok(),
            "evidence" => Some(Value::Object(self.evidence.facts())),
            "channel" => Some(Value::from(self.channel)),
            // Metadata was parsed from JSON, so serialising it does not fail.
            "meta" => serde_json::to_value(&item.meta).ok(),
            _ => None,
        }
    }
}

/// Renders the task for one item.
///
/// # Errors
/// The pointer to the text, and what is wrong with it.
pub(crate) fn render(template: &Value, variables: &TemplateVariables<'_>) -> Result<Task, String> {
    let mut rendered = template.clone();
    let mut bytes = 0;
    let mut render_one = |text: &str| {
        let value = render_text(text, variables)?;
        bytes += value
            .as_str()
            .map_or_else(|| value.to_string().len(), str::len);
        if bytes > MAX_TASK_BYTES {
            return Err(format!("the task is larger than {MAX_TASK_BYTES} bytes"));
        }
        Ok(value)
    };
    map_texts(&mut rendered, "", &mut render_one).map_err(|(pointer, message)| {
        format!("cannot render the judge's task at `{pointer}`: {message}")
    })?;
    Task::from_json(&rendered.to_string()).map_err(|error| error.to_string())
}

/// Checks a template without rendering it.
///
/// # Errors
/// A pointer to the text within the template, and what is wrong with it.
pub(crate) fn check(template: &Value) -> Result<(), (String, String)> {
    let mut copy = template.clone();
    map_texts(&mut copy, "", &mut |text| {
        if text.contains("{{") && text.len() > MAX_TEMPLATE_BYTES {
            return Err(format!(
                "the template is longer than {MAX_TEMPLATE_BYTES} bytes"
            ));
        }
        for segment in segments(text)? {
            if let Segment::Path(path) = segment {
                parse_path(path)?;
            }
        }
        Ok(Value::Null)
    })
}

/// Replaces every text in `value` by the result of `map`. Keys cannot contain variables.
fn map_texts(
    value: &mut Value,
    pointer: &str,
    map: &mut dyn FnMut(&str) -> Result<Value, String>,
) -> Result<(), (String, String)> {
    match value {
        Value::String(text) => {
            *value = map(text).map_err(|message| (pointer.to_owned(), message))?;
        }
        Value::Array(list) => {
            for (at, value) in list.iter_mut().enumerate() {
                map_texts(value, &format!("{pointer}/{at}"), map)?;
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let pointer = pointer::member(pointer, name);
                if name.contains("{{") {
                    return Err((
                        pointer,
                        "variables are not allowed in keys; use them in values".to_owned(),
                    ));
                }
                map_texts(value, &pointer, map)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// A part of a text.
#[derive(Debug, PartialEq)]
enum Segment<'t> {
    Text(&'t str),
    Path(&'t str),
}

/// The parts of a text: a path between `{{` and `}}`, text elsewhere.
fn segments(text: &str) -> Result<Vec<Segment<'_>>, String> {
    let mut segments = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after
            .split_once("}}")
            .ok_or("the template has a `{{` without a `}}`")?;
        if !before.is_empty() {
            segments.push(Segment::Text(before));
        }
        segments.push(Segment::Path(name.trim()));
        rest = after;
    }
    if !rest.is_empty() {
        segments.push(Segment::Text(rest));
    }
    Ok(segments)
}

/// One step of a path.
#[derive(Debug, PartialEq)]
enum PathStep<'t> {
    Member(&'t str),
    Index(usize),
}

/// The steps of a path such as `task.answer[0]`, starting with the variable.
fn parse_path(path: &str) -> Result<Vec<PathStep<'_>>, String> {
    let invalid = || {
        format!(
            "`{path}` is not a variable; use one of {}, with members and indices as in \
             `task.answer[0]`",
            VARIABLES.join(", ")
        )
    };
    let is_identifier = |text: &str| {
        text.chars()
            .all(|letter| letter.is_alphanumeric() || letter == '_')
            && !text.is_empty()
    };
    let mut steps = Vec::new();
    for segment in path.split('.') {
        let (member, mut indices) = segment
            .find('[')
            .map_or((segment, ""), |at| segment.split_at(at));
        if !is_identifier(member) {
            return Err(invalid());
        }
        steps.push(PathStep::Member(member));
        while !indices.is_empty() {
            let child = indices
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'))
                .ok_or_else(invalid)?;
            steps.push(PathStep::Index(child.0.parse().map_err(|_| invalid())?));
            indices = child.1;
        }
    }
    match steps.first() {
        Some(PathStep::Member(name)) if VARIABLES.contains(name) => Ok(steps),
        _ => Err(invalid()),
    }
}

fn render_text(text: &str, variables: &TemplateVariables<'_>) -> Result<Value, String> {
    let segments = segments(text)?;
    match segments.as_slice() {
        [] => Ok(Value::from("")),
        [Segment::Path(path)] => lookup(path, variables),
        segments => {
            let mut rendered = String::new();
            for segment in segments {
                match segment {
                    Segment::Text(text) => rendered.push_str(text),
                    Segment::Path(path) => match lookup(path, variables)? {
                        Value::String(text) => rendered.push_str(&text),
                        other => rendered.push_str(&other.to_string()),
                    },
                }
                if rendered.len() > MAX_TASK_BYTES {
                    return Err(format!("the task is larger than {MAX_TASK_BYTES} bytes"));
                }
            }
            Ok(Value::from(rendered))
        }
    }
}

/// The value of a path.
fn lookup(path: &str, variables: &TemplateVariables<'_>) -> Result<Value, String> {
    let missing = || format!("`{path}` is missing");
    let mut steps = parse_path(path)?.into_iter();
    let Some(PathStep::Member(name)) = steps.next() else {
        return Err(missing());
    };
    let mut value = variables.variable(name).ok_or_else(missing)?;
    for step in steps {
        let child = match step {
            PathStep::Member(name) => value.get_mut(name),
            PathStep::Index(at) => value.get_mut(at),
        };
        value = child.map(Value::take).ok_or_else(missing)?;
    }
    if value.is_null() {
        Err(missing())
    } else {
        Ok(value)
    }
}

/// The text of the prompt: the texts of all messages but the model's own.
fn prompt_text(prompt: &Completion) -> String {
    match prompt {
        Completion::Text(text) => text.to_string(),
        Completion::Messages(messages) => {
            let prompts = messages
                .iter()
                .filter(|message| message.role != "assistant");
            prompts
                .map(assay_core::Message::text)
                .collect::<Vec<_>>()
                .join("\n\n")
        }
    }
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::*;
    use crate::BatchItem;

    fn item() -> BatchItem {
        let task =
            Task::from_json(r#"{"type":"math","answer":["1/3","2/6"],"rounding":"gold"}"#).unwrap();
        BatchItem::new(Item::text("so it is 1/3"), task)
    }

    fn rendered(template: &Value) -> Result<String, String> {
        let item = item();
        let evidence = Evidence::new().value("extracted", "1/3");
        let variables = TemplateVariables {
            item: &item.item,
            task: &item.task,
            channel: "math/a",
            evidence: &evidence,
        };
        render(template, &variables).map(|task| task.body.get().to_owned())
    }

    #[test]
    fn a_text_that_is_one_variable_keeps_its_type() {
        let task =
            rendered(&json!({ "type": "math", "answer": "{{ task.answer }}", "n": 3 })).unwrap();
        let task: Value = serde_json::from_str(&task).unwrap();
        assert_eq!(
            task,
            json!({ "type": "math", "answer": ["1/3", "2/6"], "n": 3 })
        );
    }

    #[test]
    fn replaces_variables_in_texts() {
        let text = "Is {{ evidence.extracted }} the same as {{task.answer[1]}}? {{ task.answer }}";
        let task = rendered(&json!({ "type": "rubric", "question": text })).unwrap();
        let task: Value = serde_json::from_str(&task).unwrap();
        assert_eq!(task["question"], r#"Is 1/3 the same as 2/6? ["1/3","2/6"]"#);
    }

    #[test]
    fn rejects_missing_variables() {
        for text in [
            "{{ task.gold }}",
            "{{ task.gold }} and more",
            "{{ prompt }}",
            "Q: {{ prompt }}",
            "{{ task.answer[2] }}",
        ] {
            let error = rendered(&json!({ "type": "math", "answer": text })).unwrap_err();
            assert!(
                error.starts_with("cannot render the judge's task at `/answer`"),
                "{error}"
            );
            assert!(error.ends_with("is missing"), "{error}");
        }
    }

    #[test]
    fn does_not_expand_templates_in_completions() {
        let mut suspicious = item();
        suspicious.item = Item::text("{{ task.answer }}");
        let variables = TemplateVariables {
            item: &suspicious.item,
            task: &suspicious.task,
            channel: "math/a",
            evidence: &Evidence::new(),
        };
        let task = render(
            &json!({ "type": "math", "answer": "{{ completion }}" }),
            &variables,
        )
        .unwrap();
        assert!(task.body.get().contains("{{ task.answer }}"));
    }

    #[test]
    fn rejects_invalid_templates() {
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
    fn limits_the_size_of_templates_and_tasks() {
        let long = BatchItem::new(Item::text(&"x".repeat(1 << 20)), item().task);
        let variables = TemplateVariables {
            item: &long.item,
            task: &long.task,
            channel: "math/a",
            evidence: &Evidence::new(),
        };
        let text = "{{completion}}".repeat(100);
        let error = render(&json!({ "type": "math", "answer": text }), &variables).unwrap_err();
        assert!(error.contains("larger than 16777216 bytes"), "{error}");
        let (_, message) =
            check(&json!({ "type": "math", "answer": "{{task}}".repeat(1_000) })).unwrap_err();
        assert!(message.contains("longer than 4096 bytes"), "{message}");
    }
}
