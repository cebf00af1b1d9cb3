//! Reads calls that start with a mark of [`MARKS`](super::marks::MARKS), and those in elements with
//! the name of a tool. Marks of other forms are malformed attempts; see [`unread`].

use super::marks::{self, Mark, STRAY_ENDS};
use super::scan::{ParsedCall, Scan};
use super::{Form, elements, json, python, unread};
use crate::json::{Json, SyntaxError};

/// Reads all marked attempts of a part.
pub(super) fn scan(scan: &mut Scan<'_, '_>) {
    while !scan.is_full()
        && let Some(next) = marks::next_start(scan.rest())
    {
        scan.at += next;
        let start = scan.at;
        let rest = scan.rest();
        if let Some(mark) = marks::at_cursor(scan) {
            scan.prose_until(start);
            scan.begin(mark.form, start);
            scan.at += mark.open.len();
            if let Err(error) = (mark.read)(scan, mark) {
                skip_to_end_of_attempt(scan, mark);
                scan.malformed(scan.form, start, error);
            }
            scan.start_prose();
        } else if let Some((mark, form)) =
            STRAY_ENDS.iter().find(|(mark, _)| rest.starts_with(mark))
        {
            stray_end(scan, *form, mark.len());
        } else if let Some(mark) = unread::mark(scan.before(4), rest, &|name| scan.is_tool(name)) {
            unread_mark(scan, &mark);
        } else if rest.starts_with(END_OF_MESSAGE) {
            scan.prose_until(start);
            scan.at += END_OF_MESSAGE.len();
            scan.start_prose();
        } else {
            scan.at += rest.chars().next().map_or(0, char::len_utf8);
        }
    }
    scan.finish();
    scan.prose_until(scan.at);
}

/// A token of Llama, which is neither a call nor prose.
const END_OF_MESSAGE: &str = "<|eom_id|>";

/// Adds a malformed attempt for an end mark without a start.
fn stray_end(scan: &mut Scan<'_, '_>, form: impl Into<Option<Form>>, length: usize) {
    let start = scan.at;
    let mark = &scan.rest()[..length];
    scan.prose_until(start);
    scan.at += length;
    let error = SyntaxError::new(start, format!("`{mark}` without a start"));
    scan.malformed(form, start, error);
    scan.start_prose();
}

/// Reads an element with the name of a tool, or skips a mark of a form that is not read. Such a
/// mark is a malformed attempt, unless it only encloses attempts.
fn unread_mark(scan: &mut Scan<'_, '_>, mark: &unread::Mark<'_>) {
    let start = scan.at;
    let after = scan.rest()[mark.length..].trim_start();
    let encloses = match mark.is_end {
        true => scan.follows_attempt(start),
        false => begins_attempt(after),
    };
    if !encloses && mark.is_end {
        return stray_end(scan, None, mark.length);
    }
    scan.prose_until(start);
    let text = &scan.rest()[..mark.length];
    scan.at += mark.length;
    if !encloses {
        let (form, read) = match mark.tool {
            Some(tool) => (Some(Form::Xml), elements::of_tool(scan, start, tool)),
            None => {
                let reason = format!("calls that start with `{text}` are not read");
                (None, Err(SyntaxError::new(start, reason)))
            }
        };
        if let Err(error) = read {
            skip_to_end_of_unread(scan, mark.tool);
            scan.malformed(form, start, error);
        }
    }
    scan.start_prose();
}

/// Whether a text starts with the mark of an attempt.
fn begins_attempt(text: &str) -> bool {
    let is_start = |mark: unread::Mark<'_>| !mark.is_end;
    marks::at_start(text).is_some() || unread::mark("", text, &|_| false).is_some_and(is_start)
}

/// Moves the cursor after the next end mark of a form that is not read or of an element with the
/// name of a tool, before the next start of an attempt, or to the end.
fn skip_to_end_of_unread(scan: &mut Scan<'_, '_>, tool: Option<&str>) {
    while let Some(next) = marks::next_start(scan.rest()) {
        scan.at += next;
        let rest = scan.rest();
        let end_of_element = tool.and_then(|tool| {
            let end = rest.strip_prefix("</")?.strip_prefix(tool)?;
            end.starts_with('>').then_some(tool.len() + 3)
        });
        match unread::mark("", rest, &|_| false) {
            Some(mark) if mark.is_end => {
                scan.at += mark.length;
                return;
            }
            _ if end_of_element.is_some() => {
                scan.at += end_of_element.unwrap_or_default();
                return;
            }
            _ if begins_attempt(rest) => return,
            _ => scan.at += rest.chars().next().map_or(0, char::len_utf8),
        }
    }
    scan.finish();
}

/// Moves the cursor after the end mark of a malformed attempt, before the next mark, or to the end.
fn skip_to_end_of_attempt(scan: &mut Scan<'_, '_>, mark: &Mark) {
    while let Some(next) = marks::next_start(scan.rest()) {
        scan.at += next;
        let rest = scan.rest();
        if let Some(end) = mark.ends.iter().find(|end| rest.starts_with(**end)) {
            scan.at += end.len();
            return;
        }
        if marks::at_cursor(scan).is_some_and(|next| !mark.inside.contains(&next.open)) {
            return;
        }
        scan.at += rest.chars().next().map_or(0, char::len_utf8);
    }
    scan.finish();
}

/// Reads the usual end mark.
pub(super) fn end(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    mark.ends.first().map_or(Ok(()), |end| scan.require(end))
}

/// Reads an end mark, which may be missing at the end of the text and before another attempt.
pub(super) fn optional_end(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    let another_follows = scan.rest().trim_start().starts_with(mark.open);
    if another_follows || mark.ends.iter().any(|end| scan.take(end)) || scan.is_at_end() {
        return Ok(());
    }
    Err(scan.error("unexpected text after the call"))
}

/// One or several objects or arrays of them.
pub(super) fn objects(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    json::values(scan, &json::KEYS)?;
    end(scan, mark)
}

/// An object or an array of objects. The end may be missing.
pub(super) fn object(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    json::value(scan, &json::KEYS)?;
    optional_end(scan, mark)
}

/// `<tool_call>`, which several families share. The first character decides between them.
pub(super) fn tool_call(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    scan.skip_space();
    match scan.rest().as_bytes().first() {
        Some(b'{') => objects(scan, mark),
        Some(b'[') => {
            scan.form = Form::Granite;
            object(scan, mark)
        }
        Some(b'<') if scan.take("<function=") => {
            elements::function(scan, mark)?;
            while scan.take("<function=") {
                elements::function(scan, mark)?;
            }
            scan.form = Form::Qwen3Coder;
            end(scan, mark)
        }
        Some(b'<') | None => Err(scan.error(json::EXPECTED)),
        Some(_) => {
            scan.form = Form::Glm;
            elements::glm(scan)
        }
    }
}

/// An object, or keys and values.
pub(super) fn longcat(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    scan.skip_space();
    if scan.rest().starts_with(['{', '[']) {
        return objects(scan, mark);
    }
    elements::longcat(scan)
}

/// Objects, or a tag around attempts in other forms.
pub(super) fn list(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    if begins_attempt(scan.rest().trim_start()) {
        return Ok(());
    }
    objects(scan, mark)
}

/// A mark of Step 3 around a call, which follows.
pub(super) fn step(scan: &mut Scan<'_, '_>, _mark: &Mark) -> Result<(), SyntaxError> {
    const INSIDE: &str = "<steptml:invoke name=\"";
    match scan.rest().trim_start().starts_with(INSIDE) {
        true => Ok(()),
        false => Err(scan.error(format!("expected `{INSIDE}`"))),
    }
}

/// Calls in Python, or a tag around attempts in other forms.
pub(super) fn functions(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    if begins_attempt(scan.rest().trim_start()) {
        return Ok(());
    }
    let is_python = python::called_name(scan.rest().trim_start()).is_some();
    if !is_python {
        let text = mark.open;
        let reason = format!("`{text}` is not followed by calls such as `f(a=1)`");
        return Err(SyntaxError::new(scan.attempt, reason));
    }
    python_calls(scan, scan.attempt)?;
    end(scan, mark)
}

/// An array of objects with `tool_name`.
pub(super) fn cohere(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    const KEYS: json::Keys = json::Keys::new(&["tool_name", "name"], &["parameters", "arguments"]);
    json::value(scan, &KEYS)?;
    optional_end(scan, mark)
}

/// An array of objects, whose only member has the name of the tool.
pub(super) fn apertus(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    scan.skip_space();
    let start = scan.at;
    let Json::Array(elements) = scan.take_json()? else {
        return Err(SyntaxError::new(start, "expected an array of calls"));
    };
    for element in elements {
        match element {
            Json::Object(mut members) if members.len() == 1 => {
                let (name, arguments) = members.swap_remove(0);
                let arguments = json::arguments(arguments, start)?;
                scan.call(start, ParsedCall::named(name, arguments))?;
            }
            other => scan.call(start, json::call(other, start, &json::KEYS)?)?,
        }
    }
    optional_end(scan, mark)
}

/// Objects, or calls in Python.
pub(super) fn objects_or_python(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    scan.skip_space();
    if scan.rest().starts_with('{') || json::is_array(scan.rest()) {
        json::values(scan, &json::KEYS)?;
    } else {
        python_calls(scan, scan.attempt)?;
    }
    optional_end(scan, mark)
}

/// `functools[…]`
pub(super) fn functools(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    scan.at = scan.attempt + "functools".len();
    object(scan, mark)
}

/// Calls in Python, possibly in a fence.
pub(super) fn fenced_python(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    let fenced = scan.take("```python") || scan.take("```");
    python_calls(scan, scan.at)?;
    if fenced {
        scan.require("```")?;
    }
    end(scan, mark)
}

/// A fenced block with objects or with calls in Python.
pub(super) fn fence(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    let _plural = scan.rest().starts_with('s').then(|| scan.at += 1);
    scan.skip_space();
    if scan.rest().starts_with('{') || json::is_array(scan.rest()) {
        json::values(scan, &json::KEYS)?;
    } else {
        // Some models were trained to write `print(f(a=1))` for `f(a=1)`.
        let printed = scan.take("print(");
        python_calls(scan, scan.at)?;
        if printed {
            scan.require(")")?;
        }
    }
    end(scan, mark)
}

/// Calls in Python, each added with its own byte range; the first starts at `start`. Llama writes a
/// call of `f` as `f.call(…)`.
fn python_calls(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), SyntaxError> {
    let from = scan.at;
    let mut reader = python::Reader::new(scan.rest());
    let calls = reader.calls().map_err(|error| error.offset_by(from))?;
    for (at, (span, mut call)) in calls.into_iter().enumerate() {
        if let Some(tool) = call
            .name
            .strip_suffix(".call")
            .filter(|_| scan.form == Form::Llama)
        {
            call.name = tool.to_owned();
        }
        scan.at = from + span.end;
        scan.call(if at == 0 { start } else { from + span.start }, call)?;
    }
    scan.at = from + reader.at();
    Ok(())
}
