//! Reads calls without marks. They must be the whole visible text.

use assay_extraction::fences::{blocks, fences};

use super::scan::{ParsedCall, Scan};
use super::{Form, json, python};
use crate::json::SyntaxError;

/// Reads a part that may consist of calls.
pub(super) fn scan(scan: &mut Scan<'_, '_>, is_tool: &dyn Fn(&str) -> bool) {
    unwrap_fence(scan);
    scan.skip_space();
    let text = scan.rest().trim_end();
    let called = python::called_name(text.trim_start_matches('[').trim_start());
    if text.starts_with(['{', '[']) && json::is_attempt(text) {
        in_json(scan);
    } else if let Some(name) = called
        && (text.starts_with('[') || is_tool(name))
    {
        in_python(scan, is_tool);
    } else if let Some((name, arguments)) = text.split_once('\n')
        && is_tool(name.trim())
        && arguments.trim_start().starts_with('{')
    {
        named_lines(scan);
    }
}

/// If the text is one fenced block, narrows the cursor to its content. Blocks that belong to
/// another form, such as `tool_code`, are left to [`marked`](super::marked).
fn unwrap_fence(scan: &mut Scan<'_, '_>) {
    let text = scan.rest();
    let fences = fences(text);
    if let [opening, closing] = fences.as_slice()
        && text[..opening.line.start].trim().is_empty()
        && text[closing.line.end..].trim().is_empty()
        && let [block] = blocks(text, &fences).as_slice()
        && ["", "json", "python"].contains(&block.info)
    {
        scan.narrow(block.inside.clone());
    }
}

/// Calls as JSON.
fn in_json(scan: &mut Scan<'_, '_>) {
    let start = scan.at;
    let read = json::values(scan, Form::Json).and_then(|_| {
        if scan.is_at_end() {
            Ok(())
        } else {
            Err(scan.error("unexpected text after the calls"))
        }
    });
    if let Err(error) = read {
        scan.finish();
        scan.malformed(Form::Json, start, error);
    }
}

/// Calls as Python, such as `[f(a=1)]`.
fn in_python(scan: &mut Scan<'_, '_>, is_tool: &dyn Fn(&str) -> bool) {
    let start = scan.at;
    let text = scan.rest();
    let mut reader = python::Reader::new(text);
    let read = reader.calls().and_then(|calls| {
        let trailing = SyntaxError::new(reader.at(), "unexpected text after the calls");
        if text[reader.at()..].trim().is_empty() {
            Ok(calls)
        } else {
            Err(trailing)
        }
    });
    match read {
        Ok(calls) => {
            for (span, call) in calls {
                scan.at = start + span.end;
                if let Err(error) = scan.call(Form::Pythonic, start + span.start, call) {
                    scan.finish();
                    return scan.malformed(Form::Pythonic, start, error);
                }
            }
        }
        // Prose and links may also start with brackets and a name, so the name of a tool is
        // required.
        Err(error) => {
            let is_call =
                python::called_name(text.trim_start_matches('[').trim_start()).is_some_and(is_tool);
            if is_call {
                scan.finish();
                scan.malformed(Form::Pythonic, start, error.offset_by(start));
            }
        }
    }
}

/// Calls that consist of a line with the name of a tool, followed by JSON (GLM 4). Several calls
/// are separated by `<|assistant|>`.
fn named_lines(scan: &mut Scan<'_, '_>) {
    loop {
        let start = scan.at;
        let read = named_line(scan, start);
        match read {
            Err(error) => {
                scan.finish();
                return scan.malformed(Form::Glm, start, error);
            }
            Ok(()) if scan.take("<|assistant|>") => scan.skip_space(),
            Ok(()) => return,
        }
    }
}

/// One call of [`named_lines`].
fn named_line(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), SyntaxError> {
    let name = scan
        .take_until("\n")
        .ok_or_else(|| SyntaxError::new(start, "expected a line with the name of a tool"))?
        .trim();
    scan.skip_space();
    let at = scan.at;
    let arguments = json::arguments(scan.take_json()?, at)?;
    let another_follows = scan.rest().trim_start().starts_with("<|assistant|>");
    if !another_follows && !scan.is_at_end() {
        return Err(scan.error("unexpected text after the call"));
    }
    scan.call(
        Form::Glm,
        start,
        ParsedCall {
            name: name.to_owned(),
            arguments,
            ..ParsedCall::default()
        },
    )
}
