//! Calls written as JSON: an object with a name and arguments, arrays and sequences of such.

use super::scan::{Bare, Scan};
use super::{Broken, Form};
use crate::json::Json;

/// The call an object is. `at` is where the object stands.
pub(super) fn call(value: Json, at: usize) -> Result<Bare, Broken> {
    let Json::Object(mut members) = value else {
        return Err(Broken::new(
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
            ("name", _) => return Err(Broken::new(at, "the call's `name` is no text")),
            ("arguments" | "parameters", _) if arguments.is_some() => {
                return Err(Broken::new(
                    at,
                    "the call has both `arguments` and `parameters`",
                ));
            }
            ("arguments" | "parameters", value) => arguments = Some(self::arguments(value, at)?),
            _ => {}
        }
    }
    let name = name.ok_or_else(|| Broken::new(at, "the call has no `name`"))?;
    let arguments = arguments.ok_or_else(|| Broken::new(at, "the call has no `arguments`"))?;
    Ok(Bare {
        name,
        arguments,
        ..Bare::default()
    })
}

/// Arguments: an object, or its JSON as a string; an empty string or null for none.
pub(super) fn arguments(value: Json, at: usize) -> Result<Vec<(String, Json)>, Broken> {
    match value {
        Json::Object(members) => Ok(members),
        Json::Null => Ok(Vec::new()),
        Json::Text(text) if text.trim().is_empty() => Ok(Vec::new()),
        Json::Text(text) => match Json::read(&text) {
            Ok(Json::Object(members)) => Ok(members),
            Ok(other) => Err(Broken::new(
                at,
                format!("the call's arguments are {}, not an object", other.kind()),
            )),
            Err(broken) => Err(Broken::new(
                at,
                format!("in the text of the arguments {broken}"),
            )),
        },
        other => Err(Broken::new(
            at,
            format!("the call's arguments are {}, not an object", other.kind()),
        )),
    }
}

/// Goes past one value, an object or an array of them, and notes its calls. Says whether it was an
/// array.
pub(super) fn value(scan: &mut Scan<'_, '_>, form: Form) -> Result<bool, Broken> {
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

/// Goes past values up to what is none, with or without `;` or `,` between them. Says whether the
/// last was an array.
pub(super) fn values(scan: &mut Scan<'_, '_>, form: Form) -> Result<bool, Broken> {
    loop {
        let was_array = value(scan, form)?;
        let separated = scan.take(";") || scan.take(",");
        let more = scan.rest().trim_start().starts_with(['{', '[']);
        if !(more || separated && !scan.is_at_end()) {
            return Ok(was_array);
        }
    }
}

/// Whether a text looks like calls in JSON, sound or broken.
pub(super) fn is_attempt(text: &str) -> bool {
    let names = text.contains("\"name\"")
        && (text.contains("\"arguments\"") || text.contains("\"parameters\""));
    names
        && text
            .trim_start()
            .trim_start_matches('[')
            .trim_start()
            .starts_with('{')
}
