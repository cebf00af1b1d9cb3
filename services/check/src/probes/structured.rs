//! `structured`: the expected value as a document; wrong is another one. XML, TOML and CSV are not
//! written, so golds of these formats are prepared and not graded.

use assay_core::{Completion, Task};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Kind, Probe, Purpose, text};
use crate::subject::Subject;

pub(super) const KIND: Kind = Kind {
    name: "structured",
    gold: &["expected"],
    golds: |subject| {
        let written = expected(&subject.task).and_then(|value| written(subject, value.get()));
        written.map(|document| vec![document]).into_iter().collect()
    },
    solution: text,
    wants_something: |_| true,
    wrong,
};

/// The expected value as it was written, so that its numbers keep their digits.
fn expected(task: &Task) -> Option<Box<RawValue>> {
    let mut fields: std::collections::BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(task.body.get()).ok()?;
    fields
        .remove("expected")
        .filter(|value| value.get() != "null")
}

/// A value as a completion, where its format can hold JSON.
fn written(subject: &Subject, json: &str) -> Option<Completion> {
    if let Some(tool) = subject.body.get("tool") {
        return Some(text(&format!(r#"{{"name":{tool},"arguments":{json}}}"#)));
    }
    match subject
        .body
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or("json")
    {
        // JSON is YAML.
        "json" | "yaml" => Some(text(json)),
        _ => None,
    }
}

fn wrong(subject: &Subject) -> Vec<Probe> {
    let Some(value) = subject
        .body
        .get("expected")
        .filter(|value| !value.is_null())
    else {
        return Vec::new();
    };
    let mutants = [
        ("the expected value with other leaves", other(value)),
        ("an empty document", hollow(value)),
    ];
    let mutants = mutants.into_iter().filter(|(_, mutant)| mutant != value);
    mutants
        .filter_map(|(what, mutant)| {
            Some(Probe::new(
                Purpose::Mutant(what),
                written(subject, &mutant.to_string())?,
            ))
        })
        .collect()
}

/// The same shape with other values at its leaves.
fn other(value: &Value) -> Value {
    match value {
        Value::Null => Value::from("other"),
        Value::Bool(truth) => Value::from(!truth),
        Value::Number(number) => {
            Value::from(number.as_f64().map_or(1.0, |number| number * -3.0 - 17.0))
        }
        Value::String(text) => Value::from(format!("{text} and other")),
        Value::Array(values) => Value::Array(values.iter().map(other).collect()),
        Value::Object(values) => values
            .iter()
            .map(|(name, value)| (name.clone(), other(value)))
            .collect(),
    }
}

/// The kind of the value, with nothing in it.
fn hollow(value: &Value) -> Value {
    match value {
        Value::Array(_) => Value::Array(Vec::new()),
        _ => Value::Object(Map::new()),
    }
}
