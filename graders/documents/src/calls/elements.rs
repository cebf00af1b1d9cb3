//! Reads calls with arguments that are marked up one by one and mostly have no types: Qwen3-Coder,
//! GLM 4.5, MiniMax, DeepSeek V3.2, Step 3, and elements with the name of a tool.

use std::collections::HashSet;

use super::mark::Mark;
use super::parsed::ParsedCall;
use super::scan::Scan;
use super::{Form, json};
use crate::json::{Json, SyntaxError, is_duplicate};

/// The marks around the parts of a call.
struct Marks {
    /// After the name of the tool.
    name_end: &'static str,
    /// Before and after the name of a parameter.
    open: &'static str,
    key_end: &'static str,
    /// Before the value, if it has a mark of its own.
    value_open: &'static str,
    value_end: &'static str,
    /// After the last parameter.
    close: &'static str,
}

const FUNCTION: Marks = Marks {
    name_end: ">",
    open: "<parameter=",
    key_end: ">",
    value_open: "",
    value_end: "</parameter>",
    close: "</function>",
};

const INVOKE: Marks = Marks {
    name_end: "\">",
    open: "<parameter name=\"",
    key_end: "\">",
    value_open: "",
    value_end: "</parameter>",
    close: "</invoke>",
};

const STEP: Marks = Marks {
    open: "<steptml:parameter name=\"",
    value_end: "</steptml:parameter>",
    close: "</steptml:invoke>",
    ..INVOKE
};

/// The value of the attribute `string` is part of the key.
const DSML: Marks = Marks {
    open: "<｜DSML｜parameter name=\"",
    value_end: "</｜DSML｜parameter>",
    close: "</｜DSML｜invoke>",
    ..INVOKE
};

const GLM: Marks = Marks {
    name_end: "",
    open: "<arg_key>",
    key_end: "</arg_key>",
    value_open: "<arg_value>",
    value_end: "</arg_value>",
    close: "</tool_call>",
};

const LONGCAT: Marks = Marks {
    name_end: "",
    open: "<longcat_arg_key>",
    key_end: "</longcat_arg_key>",
    value_open: "<longcat_arg_value>",
    value_end: "</longcat_arg_value>",
    close: "</longcat_tool_call>",
};

/// Reads the text after `<function=` up to and including `</function>`.
///
/// Also accepts `{…}`, which are typed arguments (Llama 3), in place of parameters.
pub(super) fn function(scan: &mut Scan<'_, '_>, _mark: &Mark) -> Result<(), SyntaxError> {
    scan.form = Form::Qwen3Coder;
    let name = name_until(scan, ">", "`>` is missing after the name of the function")?;
    scan.skip_space();
    if scan.rest().starts_with('{') {
        scan.form = Form::Llama;
        let at = scan.at;
        let arguments = json::arguments(scan.take_json()?, at)?;
        scan.require(FUNCTION.close)?;
        return scan.call(scan.attempt, ParsedCall::named(name, arguments));
    }
    let arguments = parameters(scan, &FUNCTION)?;
    scan.call(scan.attempt, untyped(name, arguments))
}

/// Reads the text after `<invoke name="` up to and including `</invoke>`.
pub(super) fn invoke(scan: &mut Scan<'_, '_>, _mark: &Mark) -> Result<(), SyntaxError> {
    element(scan, &INVOKE)
}

/// As [`invoke`], with the prefix `steptml:`.
pub(super) fn step(scan: &mut Scan<'_, '_>, _mark: &Mark) -> Result<(), SyntaxError> {
    element(scan, &STEP)
}

/// As [`invoke`], with the prefix `｜DSML｜`. The attribute `string` of each parameter distinguishes
/// strings from JSON.
pub(super) fn dsml(scan: &mut Scan<'_, '_>, _mark: &Mark) -> Result<(), SyntaxError> {
    let name = tool_name(scan, &DSML)?;
    let mut arguments = Vec::new();
    for (key, value) in parameters(scan, &DSML)? {
        let (key, is_string) = match key.split_once("\" string=\"") {
            Some((key, "true")) => (key, true),
            Some((key, "false")) => (key, false),
            _ => return Err(scan.error("a parameter has no attribute `string`")),
        };
        let value = match value {
            Json::Text(text) if !is_string => Json::read(&text).map_err(|error| {
                scan.error(format!("invalid JSON in the parameter `{key}`: {error}"))
            })?,
            value => value,
        };
        arguments.push((key.to_owned(), value));
    }
    if let Some(twice) = (1..arguments.len()).find(|at| {
        arguments[..*at]
            .iter()
            .any(|(key, _)| *key == arguments[*at].0)
    }) {
        let key = &arguments[twice].0;
        return Err(scan.error(format!("duplicate parameter `{key}`")));
    }
    scan.call(scan.attempt, ParsedCall::named(name, arguments))
}

/// Reads a name, then `<arg_key>a</arg_key><arg_value>1</arg_value>` and so on, up to and including
/// `</tool_call>` (GLM 4.5). In Hunyuan, `<tool_sep>` ends the name.
pub(super) fn glm(scan: &mut Scan<'_, '_>) -> Result<(), SyntaxError> {
    let name = tool_name(scan, &GLM)?;
    if scan.take("<tool_sep>") {
        scan.form = Form::Hunyuan;
    }
    let arguments = parameters(scan, &GLM)?;
    scan.call(scan.attempt, untyped(name, arguments))
}

/// As [`glm`], with the prefix `longcat_`.
pub(super) fn longcat(scan: &mut Scan<'_, '_>) -> Result<(), SyntaxError> {
    element(scan, &LONGCAT)
}

/// Reads the content of an element with the name of a tool, which consists of an element for each
/// argument or of the JSON of all, and its end.
pub(super) fn of_tool(
    scan: &mut Scan<'_, '_>,
    start: usize,
    tool: &str,
) -> Result<(), SyntaxError> {
    scan.begin(Form::Xml, start);
    let close = format!("</{tool}>");
    scan.skip_space();
    if scan.rest().starts_with('{') {
        let at = scan.at;
        let arguments = json::arguments(scan.take_json()?, at)?;
        scan.require(&close)?;
        return scan.call(start, ParsedCall::named(tool, arguments));
    }
    let (mut arguments, mut seen) = (Vec::new(), HashSet::new());
    while !scan.take(&close) {
        scan.skip_space();
        let at = scan.at;
        let rest = scan.rest();
        let name = rest.strip_prefix('<').and_then(|rest| {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)))?;
            (end > 0 && rest[end..].starts_with('>')).then_some(&rest[..end])
        });
        let Some(name) = name else {
            return Err(scan.error(format!("expected an argument or `{close}`")));
        };
        if is_duplicate(name, &arguments, &mut seen) {
            return Err(SyntaxError::new(at, format!("duplicate argument `{name}`")));
        }
        scan.at += name.len() + 2;
        let end = format!("</{name}>");
        let value = scan.take_until(&end);
        let value = value.ok_or_else(|| SyntaxError::new(at, format!("`{end}` is missing")))?;
        arguments.push((
            name.to_owned(),
            Json::Text(without_line_breaks(value).to_owned()),
        ));
    }
    scan.call(start, untyped(tool, arguments))
}

/// A call whose arguments are texts.
fn untyped(name: impl Into<String>, arguments: Vec<(String, Json)>) -> ParsedCall {
    ParsedCall {
        untyped: true,
        ..ParsedCall::named(name, arguments)
    }
}

/// Reads the name of a tool and its parameters.
fn element(scan: &mut Scan<'_, '_>, marks: &Marks) -> Result<(), SyntaxError> {
    let name = tool_name(scan, marks)?;
    let arguments = parameters(scan, marks)?;
    scan.call(scan.attempt, untyped(name, arguments))
}

/// Reads the name of a tool, which ends at a mark, at a line break or at the next tag.
fn tool_name(scan: &mut Scan<'_, '_>, marks: &Marks) -> Result<String, SyntaxError> {
    if !marks.name_end.is_empty() {
        let missing = format!("`{}` is missing after the name of the tool", marks.name_end);
        return name_until(scan, marks.name_end, &missing);
    }
    let rest = scan.rest().trim_start();
    let name = rest[..rest.find(['<', '\n']).unwrap_or(rest.len())].trim();
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || "{}[]()\"".contains(c)) {
        return Err(scan.error(json::EXPECTED));
    }
    let _name = scan.take(name);
    Ok(name.to_owned())
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

/// Reads parameters up to and including the mark after the last one.
fn parameters(scan: &mut Scan<'_, '_>, marks: &Marks) -> Result<Vec<(String, Json)>, SyntaxError> {
    let mut found: Vec<(String, Json)> = Vec::new();
    let mut seen = HashSet::new();
    loop {
        if scan.take(marks.close) {
            return Ok(found);
        }
        scan.skip_space();
        let start = scan.at;
        if !scan.take(marks.open) {
            let (open, close) = (marks.open, marks.close);
            return Err(scan.error(format!("expected `{open}` or `{close}`")));
        }
        let key = name_until(scan, marks.key_end, "unterminated parameter name")?;
        if is_duplicate(&key, &found, &mut seen) {
            return Err(SyntaxError::new(
                start,
                format!("duplicate parameter `{key}`"),
            ));
        }
        if !marks.value_open.is_empty() && !scan.take(marks.value_open) {
            return Err(scan.error(format!("expected `{}`", marks.value_open)));
        }
        let value = value_text(scan, marks)?;
        found.push((key, Json::Text(value.to_owned())));
    }
}

/// Reads a value. It ends at the first end mark that the next parameter or the end of the call
/// follows, because the value itself may contain such marks.
fn value_text<'a>(scan: &mut Scan<'a, '_>, marks: &Marks) -> Result<&'a str, SyntaxError> {
    let rest = scan.rest();
    let is_last = |(at, mark): &(usize, &str)| {
        let after_mark = rest[at + mark.len()..].trim_start();
        after_mark.starts_with(marks.open) || after_mark.starts_with(marks.close)
    };
    let Some((end, _)) = rest.match_indices(marks.value_end).find(is_last) else {
        return Err(scan.error(format!(
            "the value has no `{}` before the next parameter",
            marks.value_end
        )));
    };
    scan.at += end + marks.value_end.len();
    Ok(without_line_breaks(&rest[..end]))
}

/// A value without one line break on either side, which belongs to the marks.
fn without_line_breaks(value: &str) -> &str {
    let value = value
        .strip_prefix("\r\n")
        .or(value.strip_prefix('\n'))
        .unwrap_or(value);
    value
        .strip_suffix("\r\n")
        .or(value.strip_suffix('\n'))
        .unwrap_or(value)
}
