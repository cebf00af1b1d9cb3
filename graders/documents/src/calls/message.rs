//! Reads calls in the fields of a message: `tool_calls` and `function_call` (OpenAI), and
//! `tool_use` parts (Anthropic).

use assay_core::Message;
use serde_json::Value;

use super::parsed::{Call, MAX_CALLS, Malformed, Reading};
use super::scan::ParsedCall;
use super::{Form, json};
use crate::json::{Json, SyntaxError};

/// The calls of a message's fields.
pub(super) fn read(message: &Message) -> Reading {
    let mut reading = Reading::default();
    match message.rest.get("tool_calls") {
        None | Some(Value::Null) => {}
        Some(Value::Array(calls)) => {
            for call in calls {
                record(
                    &mut reading,
                    Form::OpenAi,
                    function(call.get("function").unwrap_or(call)),
                );
            }
        }
        Some(_) => record(
            &mut reading,
            Form::OpenAi,
            Err(SyntaxError::new(0, "`tool_calls` is not an array")),
        ),
    }
    if let Some(call) = message
        .rest
        .get("function_call")
        .filter(|call| !call.is_null())
    {
        record(&mut reading, Form::OpenAi, function(call));
    }
    for part in message.content.as_array().into_iter().flatten() {
        if part["type"] == "tool_use" {
            record(
                &mut reading,
                Form::Anthropic,
                call(&part["name"], part.get("input")),
            );
        }
    }
    reading
}

/// The call of a `function` object.
fn function(function: &Value) -> Result<ParsedCall, SyntaxError> {
    call(&function["name"], function.get("arguments"))
}

/// A call with a name and arguments, which are an object or its JSON as a string.
fn call(name: &Value, arguments: Option<&Value>) -> Result<ParsedCall, SyntaxError> {
    let name = name.as_str().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| SyntaxError::new(0, "the call has no `name`"))?;
    let arguments = match arguments {
        // The byte of an error counts from the start of the arguments.
        Some(Value::String(text)) if !text.trim().is_empty() => match Json::read(text)? {
            Json::Object(members) => members,
            other => {
                return Err(SyntaxError::new(
                    0,
                    format!("the call's arguments are {}, not an object", other.kind()),
                ));
            }
        },
        Some(other) => json::arguments(Json::from(other), 0)?,
        None => Vec::new(),
    };
    Ok(ParsedCall {
        name: name.to_owned(),
        arguments,
        ..ParsedCall::default()
    })
}

/// Adds a call or an error to the reading.
fn record(reading: &mut Reading, form: Form, read: Result<ParsedCall, SyntaxError>) {
    let read = read.and_then(|call| {
        let is_below_limit = reading.calls.len() < MAX_CALLS;
        if is_below_limit {
            Ok(call)
        } else {
            Err(SyntaxError::new(
                0,
                format!("there are more than {MAX_CALLS} calls"),
            ))
        }
    });
    match read {
        Ok(ParsedCall {
            name,
            arguments,
            positional,
            untyped,
        }) => {
            reading.calls.push(Call {
                name,
                arguments,
                positional,
                untyped,
                span: 0..0,
                form,
            });
        }
        Err(error) => reading.malformed.push(Malformed {
            span: 0..0,
            broken: error,
            form,
        }),
    }
}
