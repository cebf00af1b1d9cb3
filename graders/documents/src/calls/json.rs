//! Reads calls in JSON: an object with a name and arguments, and arrays and sequences of such
//! objects.

use super::Form;
use super::scan::{ParsedCall, Scan};
use crate::json::{Json, SyntaxError};

/// Converts an object to a call. `at` is the byte offset of the object.
pub(super) fn call(value: Json, at: usize) -> Result<ParsedCall, SyntaxError> {
    let Json::Object(mut members) = value else {
        return Err(SyntaxError::new(
            at,
            format!(
                "a call is an object with a name and arguments, not {}",
                value.kind()
            ),
        ));
    };
    // `{"type": "function", "function": {…}}`
    if let Some(inner) = members
        .iter()
        .position(|(key, value)| key == "function" && matches!(value, Json::Object(_)))
    {
        return call(members.swap_remove(inner).1, at);
    }
    let (mut name, mut arguments) = (None, None);
    for (key, value) in members {
        match (key.as_str(), value) {
            ("name", Json::Text(text)) if !text.is_empty() => name = Some(text),
            ("name", _) => {
                return Err(SyntaxError::new(
                    at,
                    "the `name` of the call is not a non-empty string",
                ));
            }
            ("arguments" | "parameters", _) if arguments.is_some() => {
                return Err(SyntaxError::new(
                    at,
                    "the call has both `arguments` and `parameters`",
                ));
            }
            ("arguments" | "parameters", value) => arguments = Some(self::arguments(value, at)?),
            _ => {}
        }
    }
    let name = name.ok_or_else(|| SyntaxError::new(at, "the call has no `name`"))?;
    let arguments = arguments.ok_or_else(|| SyntaxError::new(at, "the call has no `arguments`"))?;
    Ok(ParsedCall {
        name,
        arguments,
        ..ParsedCall::default()
    })
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
