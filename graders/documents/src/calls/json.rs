//! Reads calls in JSON: an object with a name and arguments, and arrays and sequences of such
//! objects.

use assay_base::truncated;

use super::Form;
use super::scan::{ParsedCall, Scan};
use crate::json::{Json, SyntaxError};

/// Members of an object that are not arguments under another key.
const DETAILS: &[&str] = &[
    "cache_control",
    "call_id",
    "caller",
    "description",
    "extra_content",
    "id",
    "index",
    "name",
    "namespace",
    "provider_specific_fields",
    "signature",
    "status",
    "strict",
    "thought_signature",
    "tool_call_id",
    "type",
];

/// Converts an object to a call. `at` is the byte offset of the object.
pub(super) fn call(value: Json, at: usize) -> Result<ParsedCall, SyntaxError> {
    let (name, value) = name_and_arguments(value, at, &["arguments", "parameters"])?;
    let value = value.ok_or_else(|| SyntaxError::new(at, "the call has no `arguments`"))?;
    Ok(ParsedCall {
        name,
        arguments: arguments(value, at)?,
        ..ParsedCall::default()
    })
}

/// The name of a call and its arguments, which are under one of the `keys`. A call without them
/// must not have other members, which may be misnamed arguments.
pub(super) fn name_and_arguments(
    value: Json,
    at: usize,
    keys: &[&str],
) -> Result<(String, Option<Json>), SyntaxError> {
    let error = |reason: String| Err(SyntaxError::new(at, reason));
    let Json::Object(mut members) = value else {
        let kind = value.kind();
        return error(format!(
            "a call is an object with a name and arguments, not {kind}"
        ));
    };
    // `{"type": "function", "function": {…}}`
    if let Some(inner) = members
        .iter()
        .position(|(key, value)| key == "function" && matches!(value, Json::Object(_)))
        && let (_, Json::Object(inner)) = members.swap_remove(inner)
    {
        members.retain(|(key, _)| !inner.iter().any(|(name, _)| name == key));
        members.splice(0..0, inner);
    }
    let (mut name, mut arguments, mut others) = (None, None, Vec::new());
    for (key, value) in members {
        match (key.as_str(), value) {
            ("name", Json::Text(text)) if !text.is_empty() => name = Some(text),
            ("name", _) => {
                return error("the `name` of the call is not a non-empty string".to_owned());
            }
            (key, _) if keys.contains(&key) && arguments.is_some() => {
                return error(format!("the call has both `{}`", keys.join("` and `")));
            }
            (key, value) if keys.contains(&key) => arguments = Some(value),
            (_, Json::Null) => {}
            (key, _) if DETAILS.contains(&key) => {}
            _ => others.push(truncated(&key, 40).to_owned()),
        }
    }
    let found = |missing: &str| match others.is_empty() {
        true => format!("the call has no `{missing}`"),
        false => format!(
            "the call has no `{missing}`; found `{}`",
            others.join("`, `")
        ),
    };
    match name {
        None => error(found("name")),
        Some(_) if arguments.is_none() && !others.is_empty() => error(found(keys[0])),
        Some(name) => Ok((name, arguments)),
    }
}

/// Arguments are an object or its JSON as a string. An empty string or null means no arguments.
pub(super) fn arguments(value: Json, at: usize) -> Result<Vec<(String, Json)>, SyntaxError> {
    match value {
        Json::Object(members) => Ok(members),
        Json::Null => Ok(Vec::new()),
        Json::Text(text) if text.trim().is_empty() => Ok(Vec::new()),
        Json::Text(text) => match Json::read(&text) {
            Ok(Json::Object(members)) => Ok(members),
            Ok(other) => Err(SyntaxError::new(
                at,
                format!("the call's arguments are {}, not an object", other.kind()),
            )),
            Err(error) => Err(SyntaxError::new(
                at,
                format!("invalid JSON in the arguments: {error}"),
            )),
        },
        other => Err(SyntaxError::new(
            at,
            format!("the call's arguments are {}, not an object", other.kind()),
        )),
    }
}

/// Reads one value, an object or an array of objects, and adds its calls. Returns whether it was an
/// array.
pub(super) fn value(scan: &mut Scan<'_, '_>, form: Form) -> Result<bool, SyntaxError> {
    scan.skip_space();
    let start = scan.at;
    match scan.take_json()? {
        Json::Array(elements) => {
            for element in elements {
                scan.call(form, start, call(element, start)?)?;
            }
            Ok(true)
        }
        object => {
            scan.call(form, start, call(object, start)?)?;
            Ok(false)
        }
    }
}

/// Reads values with or without `;` or `,` between them, up to something else. Returns whether the
/// last value was an array.
pub(super) fn values(scan: &mut Scan<'_, '_>, form: Form) -> Result<bool, SyntaxError> {
    loop {
        let was_array = value(scan, form)?;
        let separated = scan.take(";") || scan.take(",");
        let more = scan.rest().trim_start().starts_with(['{', '[']);
        if !(more || separated && !scan.is_at_end()) {
            return Ok(was_array);
        }
    }
}

/// Whether a text is an attempt to write calls in JSON, valid or not.
pub(super) fn is_attempt(text: &str) -> bool {
    let has_keys = text.contains("\"name\"")
        && (text.contains("\"arguments\"") || text.contains("\"parameters\""));
    has_keys
        && text
            .trim_start()
            .trim_start_matches('[')
            .trim_start()
            .starts_with('{')
}
