//! Reads calls in the fields of a message: `tool_calls` and `function_call` (OpenAI), and
//! `tool_use` parts (Anthropic).

use assay_core::{Message, RawJson};

use super::parsed::{Call, MAX_CALLS, Malformed, Reading};
use super::scan::ParsedCall;
use super::{Form, json};
use crate::json::{Json, SyntaxError};

/// The calls of a message's fields.
pub(super) fn read(message: &Message) -> Reading {
    let mut reading = Reading::default();
    let calls = message.rest.get("tool_calls").map(RawJson::get);
    match calls.map(serde_json::from_str::<Option<Vec<RawJson>>>) {
        None | Some(Ok(None)) => {}
        Some(Ok(Some(calls))) => {
            for call in &calls {
                let read = value(call).and_then(|mut call| {
                    let function_of_call = take(&mut call, "function").unwrap_or(call);
                    function(function_of_call)
                });
                record(&mut reading, Form::OpenAi, read);
            }
        }
        Some(Err(_)) => record(
            &mut reading,
            Form::OpenAi,
            Err(SyntaxError::new(0, "`tool_calls` is not an array")),
        ),
    }
    match message.rest.get("function_call").map(value) {
        None | Some(Ok(Json::Null)) => {}
        Some(read) => record(&mut reading, Form::OpenAi, read.and_then(function)),
    }
    for part in message.content.parts() {
        if part.kind().as_deref() == Some("tool_use") {
            let field = |name| part.field(name).map(value).transpose();
            let read = field("name")
                .and_then(|name| Ok((name, field("input")?)))
                .and_then(|(name, input)| call(name, input));
            record(&mut reading, Form::Anthropic, read);
        }
    }
    reading
}

/// The value of a field. Numbers keep their digits.
fn value(raw: &RawJson) -> Result<Json, SyntaxError> {
    Json::read(raw.get())
}

/// Removes a member of an object.
fn take(object: &mut Json, key: &str) -> Option<Json> {
    let Json::Object(members) = object else {
        return None;
    };
    let at = members.iter().position(|(name, _)| name == key)?;
    Some(members.swap_remove(at).1)
}

/// The call of a `function` object.
fn function(mut function: Json) -> Result<ParsedCall, SyntaxError> {
    let name = take(&mut function, "name");
    call(name, take(&mut function, "arguments"))
}

/// A call with a name and arguments, which are an object or its JSON as a string.
fn call(name: Option<Json>, arguments: Option<Json>) -> Result<ParsedCall, SyntaxError> {
    let name = match name {
        Some(Json::Text(name)) if !name.is_empty() => name,
        _ => return Err(SyntaxError::new(0, "the call has no `name`")),
    };
    let arguments = match arguments {
        // The byte of an error counts from the start of the arguments.
        Some(Json::Text(text)) if !text.trim().is_empty() => match Json::read(&text)? {
            Json::Object(members) => members,
            other => {
                return Err(SyntaxError::new(
                    0,
                    format!("the call's arguments are {}, not an object", other.kind()),
                ));
            }
        },
        Some(other) => json::arguments(other, 0)?,
        None => Vec::new(),
    };
    Ok(ParsedCall {
        name,
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
