//! Reads calls without marks. They must be the whole visible text.

use assay_extraction::fences::{blocks, fences};

use super::scan::Scan;
use super::{Form, json, named, python};
use crate::json::SyntaxError;

/// Reads a part that may consist of calls.
pub(super) fn scan(scan: &mut Scan<'_, '_>) {
    unwrap_fence(scan);
    scan.skip_space();
    let text = scan.rest().trim_end();
    let called = python::called_name(text.trim_start_matches('[').trim_start());
    if text.starts_with(['{', '[']) && json::is_attempt(text) {
        in_json(scan);
    } else if let Some(name) = called
        && (text.starts_with('[') || scan.is_tool(name))
    {
        in_python(scan);
    } else if let Some((name, arguments)) = text.split_once('\n')
        && scan.is_tool(name.trim())
        && arguments.trim_start().starts_with('{')
    {
        named::lines(scan);
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
    scan.begin(Form::Json, start);
    let read = json::values(scan, &json::KEYS).and_then(|()| {
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
fn in_python(scan: &mut Scan<'_, '_>) {
    let start = scan.at;
    scan.begin(Form::Pythonic, start);
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
                if let Err(error) = scan.call(start + span.start, call) {
                    scan.finish();
                    return scan.malformed(Form::Pythonic, start, error);
                }
            }
        }
        // Prose and links may also start with brackets and a name, so the name of a tool is
        // required.
        Err(error) => {
            let name = python::called_name(text.trim_start_matches('[').trim_start());
            let is_call = name.is_some_and(|name| scan.is_tool(name));
            if is_call {
                scan.finish();
                scan.malformed(Form::Pythonic, start, error.offset_by(start));
            }
        }
    }
}
