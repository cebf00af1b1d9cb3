//! Reads calls in JSON: an object with a name and arguments, and arrays and sequences of such
//! objects.

use assay_base::truncated;

use super::parsed::ParsedCall;
use super::scan::Scan;
use crate::json::{Json, SyntaxError};

/// The members of an object that is a call.
pub(super) struct Keys {
    pub(super) name: &'static [&'static str],
    pub(super) arguments: &'static [&'static str],
    /// Whether a call without arguments omits them.
    pub(super) may_omit: bool,
}

impl Keys {
    pub(super) const fn new(
        name: &'static [&'static str],
        arguments: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            arguments,
            may_omit: false,
        }
    }
}

/// Members of most forms.
pub(super) const KEYS: Keys = Keys::new(&["name"], &["arguments", "parameters"]);

/// Error for a text that is not an object.
pub(super) const EXPECTED: &str = "expected an object with a name and arguments";

/// Members that are neither the name nor arguments under another key.
const DETAILS: &[&str] = &[
    "cache_control",
    "call_id",
    "caller",
    "description",
    "extra_content",
    "id",
    "index",
    "jsonrpc",
    "method",
    "name",
    "namespace",
    "provider_specific_fields",
    "server_label",
    "server_name",
    "signature",
    "state",
    "status",
    "strict",
    "thought_signature",
    "toolCallId",
    "toolUseId",
    "tool_call_id",
    "type",
];

/// Converts an object to a call. `at` is the byte offset of the object.
pub(super) fn call(value: Json, at: usize, keys: &Keys) -> Result<ParsedCall, SyntaxError> {
    let (name, value) = name_and_arguments(value, at, keys)?;
    Ok(ParsedCall {
        name,
        arguments: arguments(value, at)?,
        ..ParsedCall::default()
    })
}

/// The name of a call and its arguments, which are under one of the `keys`. No other member may
/// contain what may be misnamed arguments.
pub(super) fn name_and_arguments(
    value: Json,
    at: usize,
    keys: &Keys,
) -> Result<(String, Json), SyntaxError> {
    let error = |reason: String| Err(SyntaxError::new(at, reason));
    let Json::Object(mut members) = value else {
        let kind = value.kind();
        return error(format!(
            "a call is an object with a name and arguments, not {kind}"
        ));
    };
    unwrap(&mut members);
    let (mut name, mut arguments, mut others) = (None, None, Vec::new());
    for (key, value) in members {
        match (key.as_str(), value) {
            (key, Json::Text(text)) if keys.name.contains(&key) && !text.is_empty() => {
                name = Some(text);
            }
            (key, _) if keys.name.contains(&key) => {
                return error(format!("the `{key}` of the call is not a non-empty string"));
            }
            (key, _) if keys.arguments.contains(&key) && arguments.is_some() => {
                return error(format!(
                    "the call has both `{}`",
                    keys.arguments.join("` and `")
                ));
            }
            (key, value) if keys.arguments.contains(&key) => arguments = Some(value),
            (_, Json::Null) => {}
            (key, _) if DETAILS.contains(&key) => {}
            (_, value) => others.push((key, value)),
        }
    }
    let found = |missing: &str| match others.is_empty() {
        true => format!("the call has no `{missing}`"),
        false => {
            let names = others.iter().map(|(key, _)| truncated(key, 40));
            format!(
                "the call has no `{missing}`; found `{}`",
                names.collect::<Vec<_>>().join("`, `")
            )
        }
    };
    let Some(name) = name else {
        return error(found(keys.name[0]));
    };
    match arguments {
        None if keys.may_omit && others.is_empty() => Ok((name, Json::Null)),
        None => error(found(keys.arguments[0])),
        Some(arguments) => match others.iter().find(|(_, value)| holds_members(value)) {
            Some((key, _)) if is_empty(&arguments) => error(format!(
                "the call's arguments are empty, but `{}` has members",
                truncated(key, 40)
            )),
            _ => Ok((name, arguments)),
        },
    }
}

/// Replaces an inner object by its members: `{"type": "function", "function": {…}}`, and the
/// `params` of a request of the Model Context Protocol.
fn unwrap(members: &mut Vec<(String, Json)>) {
    let is_request = members
        .iter()
        .any(|(key, value)| key == "method" && value.text() == Some("tools/call"));
    let wrapper = if is_request { "params" } else { "function" };
    if let Some(inner) = members
        .iter()
        .position(|(key, value)| key == wrapper && matches!(value, Json::Object(_)))
        && let (_, Json::Object(inner)) = members.swap_remove(inner)
    {
        members.retain(|(key, _)| !inner.iter().any(|(name, _)| name == key));
        members.splice(0..0, inner);
    }
}

/// Whether a value is an object with members, or a string that looks like one.
fn holds_members(value: &Json) -> bool {
    match value {
        Json::Object(members) => !members.is_empty(),
        Json::Text(text) => text.trim_start().starts_with('{'),
        _ => false,
    }
}

fn is_empty(arguments: &Json) -> bool {
    match arguments {
        Json::Null => true,
        Json::Object(members) => members.is_empty(),
        Json::Text(text) => matches!(text.trim(), "" | "{}" | "null"),
        _ => false,
    }
}

/// Arguments are an object or its JSON as a string. An empty string or null means no arguments.
pub(super) fn arguments(value: Json, at: usize) -> Result<Vec<(String, Json)>, SyntaxError> {
    match value {
        Json::Null => Ok(Vec::new()),
        Json::Text(text) if text.trim().is_empty() => Ok(Vec::new()),
        Json::Text(text) => {
            let invalid = |error| format!("invalid JSON in the arguments: {error}");
            members(
                Json::read(&text).map_err(|error| SyntaxError::new(at, invalid(error)))?,
                at,
            )
        }
        other => members(other, at),
    }
}

/// The members of an object.
pub(super) fn members(value: Json, at: usize) -> Result<Vec<(String, Json)>, SyntaxError> {
    match value {
        Json::Object(members) => Ok(members),
        other => {
            let kind = other.kind();
            let reason = format!("the call's arguments are {kind}, not an object");
            Err(SyntaxError::new(at, reason))
        }
    }
}

/// Reads one value, an object or an array of objects, and adds its calls.
pub(super) fn value(scan: &mut Scan<'_, '_>, keys: &Keys) -> Result<(), SyntaxError> {
    scan.skip_space();
    let start = scan.at;
    match scan.take_json()? {
        Json::Array(elements) => elements
            .into_iter()
            .try_for_each(|element| scan.call(start, call(element, start, keys)?)),
        object => scan.call(start, call(object, start, keys)?),
    }
}

/// Reads values with or without `;` or `,` between them, up to something else.
pub(super) fn values(scan: &mut Scan<'_, '_>, keys: &Keys) -> Result<(), SyntaxError> {
    loop {
        value(scan, keys)?;
        let separated = scan.take(";") || scan.take(",");
        let more = scan.rest().trim_start().starts_with(['{', '[']);
        if !(more || separated && !scan.is_at_end()) {
            return Ok(());
        }
    }
}

/// Whether a text starts with an array of objects, or with an empty one.
pub(super) fn is_array(text: &str) -> bool {
    let inside = text.trim_start().strip_prefix('[').map(str::trim_start);
    inside.is_some_and(|inside| inside.starts_with(['{', ']']))
}

/// Whether a text is an attempt to write calls in JSON, valid or not.
pub(super) fn is_attempt(text: &str) -> bool {
    let has_keys = text.contains("\"name\"")
        && KEYS
            .arguments
            .iter()
            .any(|key| text.contains(&format!("\"{key}\"")));
    has_keys
        && text
            .trim_start()
            .trim_start_matches('[')
            .trim_start()
            .starts_with('{')
}
