//! Reads calls that are JSON or Python between a mark and its end, and marks that several forms
//! share.

use super::mark::{Mark, end, optional_end};
use super::parsed::ParsedCall;
use super::scan::Scan;
use super::{Form, elements, json, python};
use crate::json::{Json, SyntaxError};

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

/// A mark of Step 3 around a call, which follows.
pub(super) fn step(scan: &mut Scan<'_, '_>, _mark: &Mark) -> Result<(), SyntaxError> {
    const INSIDE: &str = "<steptml:invoke name=\"";
    match scan.rest().trim_start().starts_with(INSIDE) {
        true => Ok(()),
        false => Err(scan.error(format!("expected `{INSIDE}`"))),
    }
}

/// Calls in Python.
pub(super) fn functions(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
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
