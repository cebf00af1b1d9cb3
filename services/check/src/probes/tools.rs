//! `tools`: the expected calls, written in a form that the task reads; wrong is another tool, or
//! other arguments.

use assay_core::Completion;
use serde_json::{Map, Value, json};

use super::{Kind, Probe, Purpose, text};
use crate::subject::Subject;

pub(super) const KIND: Kind = Kind {
    name: "tools",
    gold: &["expected", "turns"],
    golds: |subject| {
        // What may be left out has to be given where the tool requires it, and must not be where
        // the tool does not know it.
        let ways = [Given::Required, Given::All].into_iter();
        let ways: Vec<_> = ways
            .filter_map(|given| written(subject, &turns(subject, given)?))
            .collect();
        if ways.is_empty() {
            Vec::new()
        } else {
            vec![ways]
        }
    },
    solution: text,
    wants_something: |subject| {
        turns(subject, Given::All).is_none_or(|turns| turns.iter().any(|turn| !turn.is_empty()))
    },
    wrong,
};

/// One call.
#[derive(Debug, Clone)]
struct Call {
    name: String,
    arguments: Map<String, Value>,
}

/// Which arguments of an expected call are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    /// Those that may not be left out.
    Required,
    /// All.
    All,
}

/// The calls expected of each turn; `None` where there are none to write: a task that is graded by
/// its final answer as well.
fn turns(subject: &Subject, given: Given) -> Option<Vec<Vec<Call>>> {
    if subject.body.contains_key("final") {
        return None;
    }
    let is_bfcl = subject.body.get("mode").and_then(Value::as_str) == Some("bfcl");
    let calls = |calls: &Value| {
        calls
            .as_array()?
            .iter()
            .map(|call| read(call, is_bfcl, given))
            .collect::<Option<Vec<_>>>()
    };
    match (subject.body.get("expected"), subject.body.get("turns")) {
        (Some(expected), _) => Some(vec![calls(expected)?]),
        (None, Some(turns)) => turns.as_array()?.iter().map(calls).collect(),
        (None, None) => None,
    }
}

/// An expected call: of several accepted values the first.
fn read(call: &Value, is_bfcl: bool, given: Given) -> Option<Call> {
    let object = call.as_object()?;
    let Some(name) = object
        .get("name")
        .and_then(Value::as_str)
        .filter(|_| !is_bfcl || object.len() > 1)
    else {
        let (name, accepted) = object.iter().next()?;
        // An empty text among the accepted values says that the argument may be left out.
        let first = |values: &Value| {
            let values = values.as_array()?;
            let left_out = given == Given::Required && values.iter().any(|value| value == "");
            values
                .iter()
                .find(|value| *value != "" && !left_out)
                .cloned()
        };
        let arguments = accepted
            .as_object()?
            .iter()
            .filter_map(|(name, values)| Some((name.clone(), first(values)?)));
        let arguments = arguments.map(|(name, value)| (name, plain(value)));
        return Some(Call {
            name: name.clone(),
            arguments: arguments.collect(),
        });
    };
    let written = object.get("arguments").or_else(|| object.get("parameters"));
    let mut arguments = written
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
    if given == Given::Required {
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

/// A value of BFCL's, in which objects have lists of accepted values at their leaves.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let first = |value: Value| match value {
                Value::Array(mut values) if !values.is_empty() => values.swap_remove(0),
                other => other,
            };
            let fields = fields
                .into_iter()
                .map(|(name, value)| (name, plain(first(value))));
            Value::Object(fields.filter(|(_, value)| value != "").collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(plain).collect()),
        other => other,
    }
}

/// Calls as a completion in the task's form; `None` in a form that is not written here.
fn written(subject: &Subject, turns: &[Vec<Call>]) -> Option<Completion> {
    let form = subject.body.get("form").and_then(Value::as_str);
    let is_toolrl = subject.body.get("mode").and_then(Value::as_str) == Some("toolrl");
    if is_toolrl {
        // Its format is part of its score, and the dataset's own solutions have it.
        return None;
    }
    if let ([calls], None | Some("hermes")) = (turns, form) {
        let call = |call: &Call| {
            format!(
                "<tool_call>\n{}\n</tool_call>",
                json!({ "name": call.name, "arguments": call.arguments })
            )
        };
        return Some(text(&calls.iter().map(call).collect::<Vec<_>>().join("\n")));
    }
    if let ([calls], Some("json")) = (turns, form) {
        let calls: Vec<_> = calls
            .iter()
            .map(|call| json!({ "name": call.name, "arguments": call.arguments }))
            .collect();
        return Some(text(&Value::Array(calls).to_string()));
    }
    matches!(form, None | Some("openai"))
        .then(|| messages(turns))
        .flatten()
}

/// Turns as messages of the OpenAI shape.
fn messages(turns: &[Vec<Call>]) -> Option<Completion> {
    let mut messages = Vec::new();
    for (turn, calls) in turns.iter().enumerate() {
        messages.push(json!({ "role": "user", "content": format!("turn {turn}") }));
        if !calls.is_empty() {
            let calls = calls.iter().enumerate().map(|(at, call)| {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                json!({ "id": format!("{turn}-{at}"), "type": "function", "function": { "name": call.name, "arguments": arguments } })
            });
            messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>() }));
        }
        messages.push(json!({ "role": "assistant", "content": "Done." }));
    }
    serde_json::from_value(Value::Array(messages)).ok()
}

fn wrong(subject: &Subject) -> Vec<Probe> {
    let Some(turns) = turns(subject, Given::All) else {
        return Vec::new();
    };
    let change = |with: fn(&mut Call)| {
        let mut turns = turns.clone();
        turns.iter_mut().flatten().for_each(with);
        turns
    };
    let renamed = change(|call| call.name.push_str("_other"));
    let mut mutants = vec![("calls of other tools", renamed)];
    if turns
        .iter()
        .flatten()
        .any(|call| !call.arguments.is_empty())
    {
        let argued = change(|call| {
            for value in call.arguments.values_mut() {
                *value = json!({ "other": [format!("{value} and other")] });
            }
        });
        mutants.push(("calls with other arguments", argued));
    }
    let mutants = mutants.into_iter();
    mutants
        .filter_map(|(what, turns)| {
            Some(Probe::new(Purpose::Mutant(what), written(subject, &turns)?))
        })
        .collect()
}
