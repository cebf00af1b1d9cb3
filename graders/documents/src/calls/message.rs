//! Reads calls in the fields and the parts of a message. Calls in other places are malformed
//! attempts.

use assay_core::{ContentPart, Message, RawJson};

use super::json::Keys;
use super::parsed::{Call, MAX_CALLS, Malformed, ParsedCall, Reading};
use super::{Form, json};
use crate::json::{Json, SyntaxError};

/// The parts that are calls, by type. A part of Gemini and Bedrock has no type; its only member is
/// the call.
const PARTS: &[(&str, Form, Keys)] = &[
    ("tool_use", Form::Anthropic, INPUT),
    ("server_tool_use", Form::Anthropic, INPUT),
    ("mcp_tool_use", Form::Anthropic, INPUT),
    ("function_call", Form::Responses, ARGUMENTS),
    ("mcp_call", Form::Responses, ARGUMENTS),
    ("tool_call", Form::LangChain, ARGS),
    ("server_tool_call", Form::LangChain, ARGS),
    ("tool-call", Form::AiSdk, AI_SDK),
    ("functionCall", Form::Gemini, GEMINI),
    ("toolUse", Form::Bedrock, INPUT),
];

const INPUT: Keys = Keys::new(&["name"], &["input"]);
const ARGUMENTS: Keys = Keys::new(&["name"], &["arguments"]);
const ARGS: Keys = Keys::new(&["name"], &["args"]);
const AI_SDK: Keys = Keys::new(&["toolName"], &["input", "args"]);
/// Gemini omits `args` for a call without arguments.
const GEMINI: Keys = Keys {
    may_omit: true,
    ..ARGS
};

/// The calls of a message's fields and parts.
pub(super) fn read(message: &Message) -> Reading {
    let mut reading = Reading::default();
    let calls = message.rest.get("tool_calls").map(RawJson::get);
    match calls.map(serde_json::from_str::<Option<Vec<RawJson>>>) {
        None | Some(Ok(None)) => {}
        Some(Ok(Some(calls))) => {
            for call in &calls {
                let (form, read) = function(call);
                record(&mut reading, form, read);
            }
        }
        Some(Err(_)) => record(
            &mut reading,
            Form::OpenAi,
            Err(SyntaxError::new(0, "`tool_calls` is not an array")),
        ),
    }
    if let Some(call) = message.rest.get("function_call")
        && call.get() != "null"
    {
        let (form, read) = function(call);
        record(&mut reading, form, read);
    }
    for part in message.content.parts() {
        let Some(kind) = part.kind().or_else(|| untyped_kind(part)) else {
            continue;
        };
        match PARTS.iter().find(|(name, ..)| *name == kind) {
            Some((_, form, keys)) => record(&mut reading, *form, self::part(part, &kind, keys)),
            None if names_call(&kind) => {
                let reason =
                    format!("calls in parts of type `{kind}` are not read; use `tool_use`");
                reading.malformed.push(unread(reason));
            }
            None => {}
        }
    }
    reading
}

/// The only member of a part that has no type.
fn untyped_kind(part: &ContentPart) -> Option<String> {
    let ContentPart::Fields(fields) = part else {
        return None;
    };
    fields.keys().next().filter(|_| fields.len() == 1).cloned()
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
            "tooluses",
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
            let is_empty = *value == Json::Null || *value == Json::Array(Vec::new());
            ["tool_calls", "function_call"].contains(&name.as_str()) && !is_empty
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

/// Whether the type of a part means a call, such as `web_search_call` and `tool_call_chunk`.
fn names_call(kind: &str) -> bool {
    let letters = letters(kind);
    let is_result = ["result", "output", "response"]
        .iter()
        .any(|end| letters.ends_with(end));
    let names = ["toolcall", "functioncall", "tooluse"];
    !is_result && (letters.ends_with("call") || names.iter().any(|name| letters.contains(name)))
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

/// The call of a part.
fn part(part: &ContentPart, kind: &str, keys: &Keys) -> Result<ParsedCall, SyntaxError> {
    let ContentPart::Fields(fields) = part else {
        return Err(SyntaxError::new(0, "the call has no `name`"));
    };
    let object = match fields.get(kind) {
        Some(inner) if fields.len() == 1 => value(inner)?,
        _ => {
            let member = |(name, field): (&String, &RawJson)| Ok((name.clone(), value(field)?));
            Json::Object(fields.iter().map(member).collect::<Result<_, _>>()?)
        }
    };
    call(object, keys)
}

/// The call of an element of `tool_calls`, or of a `function_call`. LangChain writes an object with
/// `args`, and an `id` or its type.
fn function(raw: &RawJson) -> (Form, Result<ParsedCall, SyntaxError>) {
    let object = match value(raw) {
        Ok(object) => object,
        Err(error) => return (Form::OpenAi, Err(error)),
    };
    let is_marked =
        object.get("id").is_some() || object.get("type").and_then(Json::text) == Some("tool_call");
    let is_langchain = is_marked
        && object.get("function").is_none()
        && object.get("arguments").is_none()
        && matches!(object.get("args"), Some(Json::Object(_)));
    if is_langchain {
        (Form::LangChain, call(object, &ARGS))
    } else {
        (Form::OpenAi, call(object, &json::KEYS))
    }
}

/// A call with a name and arguments, which are an object or its JSON as a string.
fn call(object: Json, keys: &Keys) -> Result<ParsedCall, SyntaxError> {
    let id = ID_KEYS.iter().find_map(|key| object.get(key)?.text());
    let id = id.map(str::to_owned);
    let (name, arguments) = json::name_and_arguments(object, 0, keys)?;
    let arguments = match arguments {
        // The byte of an error counts from the start of the arguments.
        Json::Text(text) if !text.trim().is_empty() => json::members(Json::read(&text)?, 0)?,
        other => json::arguments(other, 0)?,
    };
    Ok(ParsedCall {
        id,
        ..ParsedCall::named(name, arguments)
    })
}

/// Members with the id of a call. An item of OpenAI's Responses has an `id` of its own.
const ID_KEYS: &[&str] = &["call_id", "id", "tool_call_id", "toolCallId", "toolUseId"];

/// Adds a call or an error to the reading.
fn record(reading: &mut Reading, form: Form, read: Result<ParsedCall, SyntaxError>) {
    let read = read.and_then(|call| {
        if reading.calls.len() < MAX_CALLS {
            return Ok(call);
        }
        let reason = format!("there are more than {MAX_CALLS} calls");
        Err(SyntaxError::new(0, reason))
    });
    match read {
        Ok(call) => reading.calls.push(Call::new(call, 0..0, form)),
        Err(error) => reading.malformed.push(Malformed {
            span: 0..0,
            broken: error,
            form: Some(form),
        }),
    }
}
