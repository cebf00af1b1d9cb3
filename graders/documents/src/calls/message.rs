//! Reads calls in the fields of a message: `tool_calls` and `function_call` (OpenAI), and
//! `tool_use` parts (Anthropic). Calls of other interfaces are malformed attempts.

use assay_core::{ContentPart, Message, RawJson};

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
                record(&mut reading, Form::OpenAi, value(call).and_then(function));
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
        match part.kind().as_deref() {
            Some("tool_use") => record(&mut reading, Form::Anthropic, tool_use(part)),
            Some(kind) if names_call(kind) => {
                let reason =
                    format!("calls in parts of type `{kind}` are not read; use `tool_use`");
                reading.malformed.push(unread(reason));
            }
            _ => {}
        }
    }
    reading
}

/// Malformed attempts for the fields of a message that contain calls of other interfaces. Fields
/// that repeat calls in another form do not count if a call `was_read`.
pub(super) fn unread_fields(message: &Message, was_read: bool) -> Vec<Malformed> {
    let names = |name: &str| {
        let known = ["tool_calls", "function_call"].contains(&name);
        let letters = letters(name);
        let repeats = [
            "toolcall",
            "toolcalls",
            "functioncall",
            "functioncalls",
            "tooluse",
        ];
        !known && (letters == "invalidtoolcalls" || !was_read && repeats.contains(&&*letters))
    };
    let is_empty = |value: &RawJson| ["null", "[]", "{}", "\"\"", "false"].contains(&value.get());
    let fields = message.rest.iter();
    let mut found: Vec<String> = fields
        .filter(|(name, value)| names(name) && !is_empty(value))
        .map(|(name, _)| name.clone())
        .collect();
    let extra = message.rest.get("additional_kwargs").map(value);
    if let Some(Ok(Json::Object(members))) = extra
        && !was_read
    {
        let is_call = |(name, value): &&(String, Json)| {
            ["tool_calls", "function_call"].contains(&name.as_str()) && *value != Json::Null
        };
        let calls = members.iter().filter(is_call);
        found.extend(calls.map(|(name, _)| format!("additional_kwargs.{name}")));
    }
    let malformed = |name| {
        unread(format!(
            "calls in the field `{name}` are not read; use `tool_calls`"
        ))
    };
    found.into_iter().map(malformed).collect()
}

/// Whether the type of a part means a call, such as `server_tool_use` and `tool-call`.
fn names_call(kind: &str) -> bool {
    let letters = letters(kind);
    let mut names = ["toolcall", "functioncall", "tooluse"].iter();
    names.any(|name| letters.ends_with(name))
}

/// An attempt in a place that is not read.
fn unread(reason: String) -> Malformed {
    Malformed {
        span: 0..0,
        broken: SyntaxError::new(0, reason),
        form: None,
    }
}

/// The letters of a name, in lower case.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphabetic());
    letters.flat_map(char::to_lowercase).collect()
}

/// The value of a field. Numbers keep their digits.
fn value(raw: &RawJson) -> Result<Json, SyntaxError> {
    Json::read(raw.get())
}

/// The call of a `tool_use` part.
fn tool_use(part: &ContentPart) -> Result<ParsedCall, SyntaxError> {
    let ContentPart::Fields(fields) = part else {
        return Err(SyntaxError::new(0, "the call has no `name`"));
    };
    let member = |(name, field): (&String, &RawJson)| Ok((name.clone(), value(field)?));
    let members = fields.iter().map(member).collect::<Result<Vec<_>, _>>()?;
    call(json::name_and_arguments(
        Json::Object(members),
        0,
        &["input"],
    )?)
}

/// The call of an element of `tool_calls`, or of a `function_call`.
fn function(function: Json) -> Result<ParsedCall, SyntaxError> {
    let keys = &["arguments", "parameters"];
    call(json::name_and_arguments(function, 0, keys)?)
}

/// A call with a name and arguments, which are an object or its JSON as a string.
fn call((name, arguments): (String, Option<Json>)) -> Result<ParsedCall, SyntaxError> {
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
            form: Some(form),
        }),
    }
}
