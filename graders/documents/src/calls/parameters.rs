//! Reads calls with arguments that are marked up one by one and have no types: Qwen3-Coder, GLM
//! 4.5, MiniMax. Also converts such texts to the types of a schema.

use std::collections::HashSet;

use serde_json::Value;

use super::python;
use super::scan::{ParsedCall, Scan};
use crate::json::{Json, SyntaxError, is_duplicate};

/// Reads the text after `<function=` up to and including `</function>`.
///
/// Also accepts `{…}`, which are typed arguments (Llama 3), in place of parameters. The field
/// `untyped` of the call distinguishes the two.
pub(super) fn function(scan: &mut Scan<'_, '_>) -> Result<ParsedCall, SyntaxError> {
    let name = name_until(scan, ">", "`>` is missing after the name of the function")?;
    scan.skip_space();
    if scan.rest().starts_with('{') {
        let start = scan.at;
        let arguments = super::json::arguments(scan.take_json()?, start)?;
        end(scan, "</function>")?;
        return Ok(ParsedCall {
            name,
            arguments,
            ..ParsedCall::default()
        });
    }
    let arguments = parameters(scan, "<parameter=", ">", "</parameter>", "</function>")?;
    Ok(ParsedCall {
        name,
        arguments,
        untyped: true,
        ..ParsedCall::default()
    })
}

/// Reads the text after `<invoke name="` up to and including `</invoke>`.
pub(super) fn invoke(scan: &mut Scan<'_, '_>) -> Result<ParsedCall, SyntaxError> {
    let name = name_until(scan, "\">", "`\">` is missing after the name of the tool")?;
    let arguments = parameters(
        scan,
        "<parameter name=\"",
        "\">",
        "</parameter>",
        "</invoke>",
    )?;
    Ok(ParsedCall {
        name,
        arguments,
        untyped: true,
        ..ParsedCall::default()
    })
}

/// Reads a name, then `<arg_key>a</arg_key><arg_value>1</arg_value>` and so on, up to and including
/// `</tool_call>` (GLM 4.5).
pub(super) fn keys_and_values(scan: &mut Scan<'_, '_>) -> Result<ParsedCall, SyntaxError> {
    let rest = scan.rest().trim_start();
    let name = rest[..rest.find(['<', '\n']).unwrap_or(rest.len())].trim();
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || "{}[]()\"".contains(c)) {
        return Err(scan.error("expected an object with a name and arguments"));
    }
    let _name = scan.take(name);
    let arguments = parameters(
        scan,
        "<arg_key>",
        "</arg_key>",
        "</arg_value>",
        "</tool_call>",
    )?;
    Ok(ParsedCall {
        name: name.to_owned(),
        arguments,
        untyped: true,
        ..ParsedCall::default()
    })
}

/// Reads a name that ends at `mark` on the same line. `missing` is the error if it does not.
fn name_until(scan: &mut Scan<'_, '_>, mark: &str, missing: &str) -> Result<String, SyntaxError> {
    // Text after the mark is not read: on a long line it would be scanned again for each name.
    let ends_on_line = scan
        .rest()
        .split_once(mark)
        .is_some_and(|(name, _)| !name.contains('\n'));
    if !ends_on_line {
        return Err(scan.error(missing));
    }
    let name = scan.take_until(mark).unwrap_or_default().trim();
    if name.is_empty() {
        return Err(scan.error("the call has no name"));
    }
    Ok(name.to_owned())
}

/// Reads the end mark.
fn end(scan: &mut Scan<'_, '_>, mark: &str) -> Result<(), SyntaxError> {
    if scan.take(mark) {
        Ok(())
    } else {
        Err(scan.error(format!("expected `{mark}`")))
    }
}

/// Reads parameters up to and including `close`. Each is `OPEN key NAME_END value VALUE_END`.
fn parameters(
    scan: &mut Scan<'_, '_>,
    open: &str,
    name_end: &str,
    value_end: &str,
    close: &str,
) -> Result<Vec<(String, Json)>, SyntaxError> {
    let mut found: Vec<(String, Json)> = Vec::new();
    let mut seen = HashSet::new();
    loop {
        if scan.take(close) {
            return Ok(found);
        }
        scan.skip_space();
        let start = scan.at;
        if !scan.take(open) {
            return Err(scan.error(format!("expected `{open}` or `{close}`")));
        }
        let key = name_until(scan, name_end, "unterminated parameter name")?;
        if is_duplicate(&key, &found, &mut seen) {
            return Err(SyntaxError::new(
                start,
                format!("duplicate parameter `{key}`"),
            ));
        }
        if open == "<arg_key>" && !scan.take("<arg_value>") {
            return Err(scan.error("expected `<arg_value>`"));
        }
        let value = value_text(scan, open, value_end, close)?;
        found.push((key, Json::Text(value)));
    }
}

/// Reads a value. It ends at the first end mark that the next parameter or the end of the call
/// follows, because the value itself may contain such marks. One line break on either side belongs
/// to the marks.
fn value_text(
    scan: &mut Scan<'_, '_>,
    open: &str,
    value_end: &str,
    close: &str,
) -> Result<String, SyntaxError> {
    let rest = scan.rest();
    let is_last = |(at, mark): &(usize, &str)| {
        let after_mark = rest[at + mark.len()..].trim_start();
        after_mark.starts_with(open) || after_mark.starts_with(close)
    };
    let Some((end, _)) = rest.match_indices(value_end).find(is_last) else {
        return Err(scan.error(format!(
            "the value has no `{value_end}` before the next parameter"
        )));
    };
    scan.at += end + value_end.len();
    let value = &rest[..end];
    let value = value
        .strip_prefix("\r\n")
        .or(value.strip_prefix('\n'))
        .unwrap_or(value);
    Ok(value
        .strip_suffix("\r\n")
        .or(value.strip_suffix('\n'))
        .unwrap_or(value)
        .to_owned())
}

/// Converts a text without a type to a value by the JSON Schema of its argument. The result is the
/// text itself if the schema permits a string, otherwise a number, a boolean, null, an array or an
/// object if the schema permits it. Without a schema it is the value of the JSON, or the text if it
/// is not JSON.
#[must_use]
pub fn typed(text: &str, schema: Option<&Value>) -> Json {
    let trimmed = text.trim();
    let mut types = Vec::new();
    if let Some(schema) = schema {
        gather_types(schema, &mut types, 0);
    }
    let allows = |name: &str| types.contains(&name);
    let as_text = || Json::Text(text.to_owned());
    if types.is_empty() {
        return Json::read(trimmed).unwrap_or_else(|_| as_text());
    }
    if allows("null") && (trimmed == "null" || trimmed == "None") {
        return Json::Null;
    }
    if allows("string") {
        return as_text();
    }
    match Json::read(trimmed)
        .ok()
        .or_else(|| python::literal(trimmed))
    {
        Some(number @ Json::Number(_)) if allows("number") || allows("integer") => number,
        Some(value @ Json::Bool(_)) if allows("boolean") => value,
        Some(value @ Json::Array(_)) if allows("array") => value,
        Some(value @ Json::Object(_)) if allows("object") => value,
        _ => as_text(),
    }
}

/// Collects the types that a schema permits, including those of its alternatives and of the values
/// that it lists.
fn gather_types<'a>(schema: &'a Value, types: &mut Vec<&'a str>, depth: usize) {
    if depth > 4 {
        return;
    }
    match &schema["type"] {
        Value::String(name) => types.push(name),
        Value::Array(several) => types.extend(several.iter().filter_map(Value::as_str)),
        _ => {}
    }
    for value in schema["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .chain(schema.get("const"))
    {
        types.push(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        });
    }
    for alternatives in ["anyOf", "oneOf", "allOf"] {
        for schema in schema[alternatives].as_array().into_iter().flatten() {
            gather_types(schema, types, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn converts_texts_by_schema() {
        let convert = |text: &str, schema: Value| typed(text, Some(&schema)).to_string();
        assert_eq!(convert("5", json!({"type": "integer"})), "5");
        assert_eq!(convert("5", json!({"type": "string"})), "\"5\"");
        assert_eq!(convert("five", json!({"type": "integer"})), "\"five\"");
        assert_eq!(convert("True", json!({"type": "boolean"})), "true");
        assert_eq!(convert("null", json!({"type": ["string", "null"]})), "null");
        assert_eq!(convert("['a', 1]", json!({"type": "array"})), "[\"a\",1]");
        assert_eq!(
            convert(
                "5",
                json!({"anyOf": [{"type": "null"}, {"type": "number"}]})
            ),
            "5"
        );
        assert_eq!(convert("b", json!({"enum": ["a", "b"]})), "\"b\"");
        assert_eq!(convert(" x\n", json!({"type": "string"})), "\" x\\n\"");
        assert_eq!(typed("[1]", None).to_string(), "[1]");
        assert_eq!(typed("word", None).to_string(), "\"word\"");
    }
}
