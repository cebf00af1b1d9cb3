//! `tools`: the expected calls are written in the form of the task. Mutants call other tools or
//! have other arguments.

use assay_core::Completion;
use serde_json::{Map, Value, json};

use super::probe::{Probe, Prober, Purpose, plain};
use crate::subject::Subject;

pub(super) const PROBER: Prober = Prober {
    name: "tools",
    gold: &["expected", "turns"],
    golds: |subject| {
        // An argument that is optional in the task may be required by the schema of the tool, or
        // unknown to it. One of both forms must pass.
        let sets = [ArgumentSet::Required, ArgumentSet::All].into_iter();
        let forms: Vec<_> = sets
            .filter_map(|set| completion(subject, &turns(subject, set)?))
            .collect();
        if forms.is_empty() {
            Vec::new()
        } else {
            vec![forms]
        }
    },
    requires_answer: |subject| {
        turns(subject, ArgumentSet::All)
            .is_none_or(|turns| turns.iter().any(|turn| !turn.is_empty()))
    },
    wrong_completions,
    rejects_other_answers: true,
    ..Prober::BASE
};

/// A tool call.
#[derive(Debug, Clone)]
struct Call {
    name: String,
    arguments: Map<String, Value>,
}

/// The arguments of an expected call to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentSet {
    /// Only required arguments.
    Required,
    /// All arguments.
    All,
}

/// The expected calls of each turn; `None` if the calls alone cannot pass, because the final answer
/// is graded too.
fn turns(subject: &Subject, set: ArgumentSet) -> Option<Vec<Vec<Call>>> {
    if subject.body.contains_key("final") {
        return None;
    }
    let is_bfcl = subject.body.get("mode").and_then(Value::as_str) == Some("bfcl");
    let calls = |calls: &Value| {
        calls
            .as_array()?
            .iter()
            .map(|call| read(call, is_bfcl, set))
            .collect::<Option<Vec<_>>>()
    };
    match (subject.body.get("expected"), subject.body.get("turns")) {
        (Some(expected), _) => Some(vec![calls(expected)?]),
        (None, Some(turns)) => turns.as_array()?.iter().map(calls).collect(),
        (None, None) => None,
    }
}

/// Reads an expected call. The first of several accepted values is used.
fn read(call: &Value, is_bfcl: bool, set: ArgumentSet) -> Option<Call> {
    let object = call.as_object()?;
    let Some(name) = object
        .get("name")
        .and_then(Value::as_str)
        .filter(|_| !is_bfcl || object.len() > 1)
    else {
        let (name, accepted) = object.iter().next()?;
        // An empty string among the accepted values means that the argument is optional.
        let first = |values: &Value| {
            let values = values.as_array()?;
            let is_left_out =
                set == ArgumentSet::Required && values.iter().any(|value| value == "");
            values
                .iter()
                .find(|value| *value != "" && !is_left_out)
                .cloned()
        };
        let arguments = accepted
            .as_object()?
            .iter()
            .filter_map(|(name, values)| Some((name.clone(), first(values)?)));
        let arguments = arguments.map(|(name, value)| (name, first_accepted(value)));
        return Some(Call {
            name: name.clone(),
            arguments: arguments.collect(),
        });
    };
    let arguments = object.get("arguments").or_else(|| object.get("parameters"));
    let mut arguments = arguments
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for (name, values) in object
        .get("any_of")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        arguments.insert(name.clone(), values.as_array()?.first()?.clone());
    }
    if set == ArgumentSet::Required {
        for name in object
            .get("optional")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            arguments.remove(name);
        }
    }
    Some(Call {
        name: name.to_owned(),
        arguments,
    })
}

/// Converts a BFCL value, whose objects have lists of accepted values as fields, to the value with
/// the first accepted values.
fn first_accepted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let first = |value: Value| match value {
                Value::Array(mut values) if !values.is_empty() => values.swap_remove(0),
                other => other,
            };
            let fields = fields
                .into_iter()
                .map(|(name, value)| (name, first_accepted(first(value))));
            Value::Object(fields.filter(|(_, value)| value != "").collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(first_accepted).collect()),
        other => other,
    }
}

/// Writes calls as a completion in the form of the task; `None` for forms that are not written.
fn completion(subject: &Subject, turns: &[Vec<Call>]) -> Option<Completion> {
    let form = subject.body.get("form").and_then(Value::as_str);
    let is_toolrl = subject.body.get("mode").and_then(Value::as_str) == Some("toolrl");
    if is_toolrl {
        // The format counts in the score; use the solutions of the dataset instead.
        return None;
    }
    if let ([calls], None | Some("hermes")) = (turns, form) {
        let call = |call: &Call| {
            format!(
                "<tool_call>\n{}\n</tool_call>",
                json!({ "name": call.name, "arguments": call.arguments })
            )
        };
        return Some(plain(
            &calls.iter().map(call).collect::<Vec<_>>().join("\n"),
        ));
    }
    if let ([calls], Some("json")) = (turns, form) {
        let calls: Vec<_> = calls
            .iter()
            .map(|call| json!({ "name": call.name, "arguments": call.arguments }))
            .collect();
        return Some(plain(&Value::Array(calls).to_string()));
    }
    matches!(form, None | Some("openai"))
        .then(|| messages(turns))
        .flatten()
}

/// Writes turns as messages in the OpenAI format.
fn messages(turns: &[Vec<Call>]) -> Option<Completion> {
    let mut messages = Vec::new();
    for (turn, calls) in turns.iter().enumerate() {
        messages.push(json!({ "role": "user", "content": format!("turn {turn}") }));
        if !calls.is_empty() {
            let calls = calls.iter().enumerate().map(|(at, call)| {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                json!({
                    "id": format!("{turn}-{at}"), "type": "function",
                    "function": { "name": call.name, "arguments": arguments },
                })
            });
            let calls: Vec<_> = calls.collect();
            messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
        }
        messages.push(json!({ "role": "assistant", "content": "Done." }));
    }
    serde_json::from_value(Value::Array(messages)).ok()
}

fn wrong_completions(subject: &Subject) -> Vec<Probe> {
    let Some(turns) = turns(subject, ArgumentSet::All) else {
        return Vec::new();
    };
    let with_calls = |change: fn(&mut Call)| {
        let mut turns = turns.clone();
        turns.iter_mut().flatten().for_each(change);
        turns
    };
    let renamed = with_calls(|call| call.name.push_str("_other"));
    let mut mutants = vec![("calls of other tools", renamed)];
    if turns
        .iter()
        .flatten()
        .any(|call| !call.arguments.is_empty())
    {
        let with_other_arguments = with_calls(|call| {
            for value in call.arguments.values_mut() {
                *value = json!({ "other": [format!("{value} and other")] });
            }
        });
        mutants.push(("calls with other arguments", with_other_arguments));
    }
    let mutants = mutants.into_iter();
    mutants
        .filter_map(|(description, turns)| {
            Some(Probe::new(
                Purpose::Mutant(description),
                completion(subject, &turns)?,
            ))
        })
        .collect()
}
