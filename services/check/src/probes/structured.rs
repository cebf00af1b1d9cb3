//! `structured`: the expected value is written as a document. Mutants are other documents. Golds in
//! XML, TOML and CSV are not written, so these tasks are only prepared.

use assay_core::{Completion, Task};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::probe::{Probe, Prober, Purpose, plain};
use crate::subject::Subject;

pub(super) const PROBER: Prober = Prober {
    name: "structured",
    gold: &["expected"],
    golds: |subject| {
        let gold = expected(&subject.task).and_then(|value| completion(subject, value.get()));
        gold.map(|document| vec![document]).into_iter().collect()
    },
    wrong_completions,
    rejects_other_answers: true,
    ..Prober::BASE
};

/// The expected value as JSON text, so that its numbers keep all digits.
fn expected(task: &Task) -> Option<Box<RawValue>> {
    let mut fields: std::collections::BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(task.body.get()).ok()?;
    fields
        .remove("expected")
        .filter(|value| value.get() != "null")
}

/// Writes a JSON value as a completion; `None` for formats that are not written.
fn completion(subject: &Subject, json: &str) -> Option<Completion> {
    if let Some(tool) = subject.body.get("tool") {
        return Some(plain(&format!(r#"{{"name":{tool},"arguments":{json}}}"#)));
    }
    match subject
        .body
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or("json")
    {
        // JSON is valid YAML.
        "json" | "yaml" => Some(plain(json)),
        _ => None,
    }
}

fn wrong_completions(subject: &Subject) -> Vec<Probe> {
    let Some(value) = subject
        .body
        .get("expected")
        .filter(|value| !value.is_null())
    else {
        return Vec::new();
    };
    let mutants = [
        ("a document with other values", with_other_leaves(value)),
        ("an empty document", empty_like(value)),
    ];
    let mutants = mutants.into_iter().filter(|(_, mutant)| mutant != value);
    mutants
        .filter_map(|(description, mutant)| {
            Some(Probe::new(
                Purpose::Mutant(description),
                completion(subject, &mutant.to_string())?,
            ))
        })
        .collect()
}

/// A value of the same shape with other values at its leaves.
fn with_other_leaves(value: &Value) -> Value {
    match value {
        Value::Null => Value::from("other"),
        Value::Bool(truth) => Value::from(!truth),
        Value::Number(number) => {
            Value::from(number.as_f64().map_or(1.0, |number| number * -3.0 - 17.0))
        }
        Value::String(text) => Value::from(format!("{text} and other")),
        Value::Array(values) => Value::Array(values.iter().map(with_other_leaves).collect()),
        Value::Object(values) => values
            .iter()
            .map(|(name, value)| (name.clone(), with_other_leaves(value)))
            .collect(),
    }
}

/// An empty array for an array, otherwise an empty object.
fn empty_like(value: &Value) -> Value {
    match value {
        Value::Array(_) => Value::Array(Vec::new()),
        _ => Value::Object(Map::new()),
    }
}
