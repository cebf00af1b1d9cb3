//! Reads calls that start with a mark of [`MARKS`](super::marks::MARKS), and those in elements with
//! the name of a tool. Marks of other forms are malformed attempts; see [`unread`].

use super::mark::Mark;
use super::marks::{self, STRAY_ENDS};
use super::scan::Scan;
use super::{Form, elements, unread};
use crate::json::SyntaxError;

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
            if let Err(error) = attempt(scan, mark) {
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

/// Reads an attempt after its mark. Attempts that the mark encloses are left to [`scan`].
fn attempt(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    if mark.encloses && begins_attempt(scan.rest().trim_start()) {
        return Ok(());
    }
    (mark.read)(scan, mark)
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
