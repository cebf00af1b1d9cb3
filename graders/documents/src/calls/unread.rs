//! Recognises attempts in forms that are not read, so that they do not count as prose. They are
//! malformed, since reading them would be a guess.
//!
//! Marks are recognised by what they have in common: a tag or token whose name refers to calls,
//! such as `<TOOLCALL>`, `<|START_ACTION|>` and `<｜DSML｜invoke name="f">`, or that names a tool.
//! Without marks, only text that names a tool of the task is an attempt. The exception is `Action:`
//! with an object as its input (ReAct), which is read.

use std::collections::HashSet;

use super::parsed::ParsedCall;
use super::scan::Scan;
use super::{Form, json, python};
use crate::json::{Json, Reader, SyntaxError};

/// A mark of a form that is not read.
pub(super) struct Mark<'a> {
    pub(super) length: usize,
    /// Whether the mark ends an attempt.
    pub(super) is_end: bool,
    /// The tool, if the mark is the start of an element with its name.
    pub(super) tool: Option<&'a str>,
}

/// Longest name and longest attributes of a mark, in bytes.
const MAX_NAME: usize = 64;
const MAX_ATTRIBUTES: usize = 256;

/// Letters in the names of marks.
const NAMES: &[&str] = &[
    "toolcall",
    "functioncall",
    "tooluse",
    "toolrequest",
    "toolsprefix",
    "toolssuffix",
    "pythontag",
    "pythonstart",
    "pythonend",
    "actionstart",
    "actionend",
    "startaction",
    "endaction",
    "usemcptool",
    "executetool",
];

/// Elements that are calls if an attribute names a tool, or if JSON follows.
const ELEMENTS: &[&str] = &["tool", "function", "action", "call"];

/// The mark at the start of a text, and what precedes it: `Vec<ToolCall>` is a type.
pub(super) fn mark<'a>(
    before: &str,
    text: &'a str,
    is_tool: &dyn Fn(&str) -> bool,
) -> Option<Mark<'a>> {
    let (open, close) = [("<", ">"), ("&lt;", "&gt;"), ("[", "]")]
        .into_iter()
        .find(|(open, _)| text.starts_with(open))?;
    let inside = &text[open.len()..];
    let is_of_name = |c: char| c.is_alphanumeric() || "_-:./|｜▁".contains(c);
    let end = inside.find(|c| !is_of_name(c))?;
    let (name, rest) = inside.split_at(end);
    if name.is_empty() || name.len() > MAX_NAME {
        return None;
    }
    let attributes = match rest.starts_with(close) {
        true => "",
        false => {
            let window = &rest[..rest.floor_char_boundary(MAX_ATTRIBUTES)];
            let attributes = &window[..window.find(close)?];
            let is_separated = attributes.starts_with([' ', '=']);
            (is_separated && !attributes.contains(['<', '\n'])).then_some(attributes)?
        }
    };
    let length = open.len() + name.len() + attributes.len() + close.len();
    let after = text[length..].trim_start();
    let letters: String = name.chars().filter(|c| c.is_alphabetic()).collect();
    let lower = letters.to_lowercase();
    let is_bracket = open == "[";
    // Words in brackets are links and citations. Tokens are in capitals.
    if is_bracket && (lower == letters || !attributes.is_empty()) {
        return None;
    }
    let is_type = before.ends_with(char::is_alphanumeric)
        && letters == name
        && letters.contains(char::is_uppercase)
        && letters.contains(char::is_lowercase);
    if is_type {
        return None;
    }
    let speaks_of_calls =
        NAMES.iter().any(|part| lower.contains(part)) || lower.ends_with("invoke");
    let names_tool = || {
        let values = attributes.split(['=', ' ', '"', '\'']);
        let is_attribute = ELEMENTS.contains(&lower.as_str()) && values.map(str::trim).any(is_tool);
        let has_json = ELEMENTS.contains(&lower.as_str()) && after.starts_with(['{', '[']);
        // `<f a="1">`, `<f/>`, or `<f>` before its arguments.
        let has_arguments = name.ends_with('/')
            || attributes.contains('=')
            || attributes.ends_with('/')
            || after.starts_with(['<', '{']);
        is_attribute || has_json || has_arguments && is_tool(name.trim_end_matches('/'))
    };
    let ends_with_bar = name.ends_with(['|', '｜']) && !name.starts_with(['|', '｜']);
    let is_end = name.trim_start_matches(['|', '｜']).starts_with('/')
        || ends_with_bar
        || lower.starts_with("end")
        || ["end", "suffix"].iter().any(|end| lower.ends_with(end));
    let is_attempt = speaks_of_calls || !is_bracket && !is_end && names_tool();
    let is_element = open == "<" && attributes.is_empty() && !speaks_of_calls;
    is_attempt.then(|| Mark {
        length,
        is_end,
        tool: Some(name).filter(|name| is_element && is_tool(name)),
    })
}

/// Error of a call without marks in prose.
const SURROUNDED: &str = "unexpected text around the call";

/// Members that name the tool of a call.
const NAME_KEYS: &[&str] = &[
    "name",
    "tool",
    "tool_name",
    "toolName",
    "function",
    "function_name",
    "action",
    "recipient_name",
];

/// Adds the attempts without marks in a range of prose.
pub(super) fn scan(scan: &mut Scan<'_, '_>) {
    let is_tool = scan.tools();
    let mut unreadable = HashSet::new();
    while !scan.is_full()
        && let Some(next) = scan.rest().find(['{', '[', '(', 'A', 'a'])
    {
        scan.at += next;
        let start = scan.at;
        let malformed = |(from, error)| (from, Err(error));
        let found = match scan.rest().as_bytes()[0] {
            b'{' => object(scan, is_tool, &mut unreadable).map(malformed),
            b'[' => bracketed(scan, is_tool).map(malformed),
            b'(' => statement(scan, is_tool).map(malformed),
            _ => action(scan, is_tool),
        };
        if let Some((from, found)) = found {
            scan.prose_until(from);
            scan.begin(Form::React, from);
            let form = found.is_ok().then_some(Form::React);
            if let Err(error) = found.and_then(|call| scan.call(from, call)) {
                scan.malformed(form, from, error);
            }
            scan.start_prose();
        } else if scan.at == start {
            scan.at += 1;
        }
    }
    scan.finish();
    scan.prose_until(scan.at);
}

/// JSON that names a tool, or that follows a line with the name of a tool. The cursor is moved
/// after the JSON or its error.
///
/// `unreadable`: where objects start that Python cannot read, known from an object around them. It
/// would take quadratic time to read each again.
fn object(
    scan: &mut Scan<'_, '_>,
    is_tool: &dyn Fn(&str) -> bool,
    unreadable: &mut HashSet<usize>,
) -> Option<(usize, SyntaxError)> {
    let start = scan.at;
    let line = named_line(scan, is_tool);
    let rest = scan.rest();
    let mut reader = Reader::new(rest);
    let read = reader.next_value();
    // Models also write objects as Python does, with single quotes.
    let literal = match &read {
        Err(_) if rest.starts_with('{') && !unreadable.remove(&start) => {
            python_object(rest, start, unreadable)
        }
        _ => None,
    };
    scan.at += match (&read, &literal) {
        (Ok(_), _) => reader.at(),
        (Err(_), Some((_, length))) => *length,
        (Err(error), None) => rest.ceil_char_boundary(error.at.max(1)),
    };
    let literal = literal.map(|(value, _)| value);
    if let Some(line) = line {
        return Some((start - line, SyntaxError::new(start, SURROUNDED)));
    }
    let is_alone = || is_alone(scan, start);
    match read {
        Ok(value) if is_call(&value, is_tool, 3) || is_alone() && is_short(&value, is_tool) => {
            let error = match json::call(value, start, &json::KEYS) {
                Ok(_) => SyntaxError::new(start, SURROUNDED),
                Err(error) => error,
            };
            Some((start, error))
        }
        Err(error)
            if literal.as_ref().map_or_else(
                || starts_call(rest, is_tool),
                |value| is_call(value, is_tool, 3) || is_alone() && is_short(value, is_tool),
            ) =>
        {
            Some((start, error.offset_by(start)))
        }
        _ => None,
    }
}

/// The object in Python at `start`, and its length. What it cannot read is added to `unreadable`.
fn python_object(
    text: &str,
    start: usize,
    unreadable: &mut HashSet<usize>,
) -> Option<(Json, usize)> {
    let mut reader = python::Reader::new(text);
    match reader.value(0) {
        Ok(value) => Some((value, reader.at())),
        Err(_) => {
            unreadable.extend(reader.into_unclosed().into_iter().map(|at| start + at));
            None
        }
    }
}

/// Whether the part consists of the JSON between `start` and the cursor, possibly in a list or in a
/// fenced block.
fn is_alone(scan: &Scan<'_, '_>, start: usize) -> bool {
    let before = scan.before_byte(start, MAX_ATTRIBUTES);
    let before = before.trim().trim_end_matches('[').trim_end();
    let is_fence = |line: &str| line.starts_with("```") && !line.contains(char::is_whitespace);
    let after = scan.rest().trim_start();
    (before.is_empty() || is_fence(before))
        && (after.is_empty() || after.starts_with([']', ',', '`']))
}

/// Whether an object is a call without a key for its arguments: `{"name": "f", "a": 1}` or
/// `{"f": {"a": 1}}`. Reports of results look the same, so it counts only where nothing else is
/// said.
fn is_short(value: &Json, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let Json::Object(members) = value else {
        return false;
    };
    let is_name = |(key, value): &(String, Json)| {
        NAME_KEYS.contains(&key.as_str()) && value.text().is_some_and(is_tool)
    };
    let describes = |(key, _): &(String, Json)| key == "description";
    members.len() > 1 && members.iter().any(is_name) && !members.iter().any(describes)
        || members
            .iter()
            .any(|(key, value)| is_tool(key) && matches!(value, Json::Object(_)))
}

/// Whether an object has a member that names a tool and one with arguments, itself or, up to a
/// depth, in its members.
fn is_call(value: &Json, is_tool: &dyn Fn(&str) -> bool, depth: usize) -> bool {
    let Json::Object(members) = value else {
        return match value {
            Json::Array(elements) => {
                depth > 0
                    && elements
                        .iter()
                        .any(|value| is_call(value, is_tool, depth - 1))
            }
            _ => false,
        };
    };
    let is_name = |(key, value): &(String, Json)| {
        NAME_KEYS.contains(&key.as_str()) && value.text().is_some_and(is_tool)
    };
    let is_arguments = |(_, value): &(String, Json)| match value {
        Json::Object(_) => true,
        Json::Text(text) => text.trim_start().starts_with('{'),
        _ => false,
    };
    members.iter().any(is_name) && members.iter().any(is_arguments)
        || depth > 0
            && members
                .iter()
                .any(|(_, value)| is_call(value, is_tool, depth - 1))
}

/// Whether malformed JSON starts with a member that names a tool.
fn starts_call(text: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let string = |text: &str| -> Option<(String, usize)> {
        let text_of = text.trim_start();
        let quote = text_of.chars().next().filter(|c| ['"', '\''].contains(c))?;
        let rest = &text_of[1..];
        let (string, _) = rest.split_once(quote)?;
        let length = text.len() - rest.len() + string.len() + 1;
        Some((string.to_owned(), length))
    };
    let Some((key, length)) = string(&text[1..]) else {
        return false;
    };
    let value = text[1 + length..].trim_start().strip_prefix(':');
    NAME_KEYS.contains(&key.as_str())
        && value
            .and_then(string)
            .is_some_and(|(name, _)| is_tool(&name))
}

/// The distance of the cursor from the start of the line before, if that line is the name of a
/// tool.
fn named_line(scan: &Scan<'_, '_>, is_tool: &dyn Fn(&str) -> bool) -> Option<usize> {
    let before = scan.before(MAX_ATTRIBUTES);
    let above = before.trim_end();
    let name = above.rsplit('\n').next()?;
    let is_above = before[above.len()..].contains('\n');
    let is_name = is_tool(name.trim().trim_start_matches('>').trim_start());
    (is_above && is_name).then_some(before.len() - above.len() + name.len())
}

/// Calls in Python in brackets, such as `[f(a=1)]`.
fn bracketed(
    scan: &mut Scan<'_, '_>,
    is_tool: &dyn Fn(&str) -> bool,
) -> Option<(usize, SyntaxError)> {
    let start = scan.at;
    let rest = scan.rest();
    let inside = rest[1..].trim_start();
    let end = inside.find(|c: char| !(c.is_alphanumeric() || "_-.:/".contains(c)))?;
    if !(inside[end..].starts_with('(') && is_tool(&inside[..end])) {
        return None;
    }
    let mut reader = python::Reader::new(rest);
    let error = match reader.calls() {
        Ok(_) => SyntaxError::new(start, SURROUNDED),
        Err(error) => error.offset_by(start),
    };
    scan.at = start + rest.ceil_char_boundary(reader.at().max(1));
    Some((start, error))
}

/// A line of Python that passes the result of a call on: `print(f(a=1))` or `x = await f(a=1)`.
fn statement(
    scan: &mut Scan<'_, '_>,
    is_tool: &dyn Fn(&str) -> bool,
) -> Option<(usize, SyntaxError)> {
    let before = scan.before(MAX_ATTRIBUTES);
    let line = before.rsplit('\n').next()?;
    let begins_line = line.len() < before.len() || scan.begins_at(scan.at - line.len());
    let is_of_name = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    let outer = line.trim_end_matches(is_of_name);
    if !begins_line || !is_tool(&line[outer.len()..]) || !is_start_of_statement(outer) {
        return None;
    }
    let rest = scan.rest();
    let (code, _) = rest.split_once('\n').unwrap_or((rest, ""));
    let code = code.trim_end().trim_end_matches(';');
    let start = scan.at - line.trim_start().len();
    if !code.ends_with(')') || !scan.is_prose(start) {
        return None;
    }
    scan.at += code.len();
    let message = "calls within statements of a program are not read";
    Some((start, SyntaxError::new(start, message)))
}

/// Whether a call may follow this start of a statement, which is more than the call.
fn is_start_of_statement(text: &str) -> bool {
    let is_name = |text: &str| {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(is_of_name)
    };
    let mut rest = text.trim();
    let is_longer = !rest.is_empty();
    if let Some((target, value)) = rest.split_once('=')
        && is_name(target.trim())
    {
        rest = value.trim_start();
    }
    while let Some((function, inside)) = rest.split_once('(')
        && is_name(function.trim().trim_start_matches("await ").trim_start())
    {
        rest = inside.trim_start();
    }
    is_longer && (rest.is_empty() || rest == "await")
}

/// `Action: f` at the start of a line, and then `Action Input: …` (ReAct), in any case and with
/// emphasis. The input must be an object.
fn action(
    scan: &mut Scan<'_, '_>,
    is_tool: &dyn Fn(&str) -> bool,
) -> Option<(usize, Result<ParsedCall, SyntaxError>)> {
    let (start, rest) = (scan.at, scan.rest());
    let emphasis = ['*', '_', '`', '"', '\''];
    let name = after_label(rest, &["action"])?;
    let name = name
        .trim_start_matches([' ', '\t'])
        .trim_start_matches(emphasis);
    let window = &name[..name.floor_char_boundary(MAX_NAME)];
    let end = window.find(|c: char| c.is_whitespace() || "*`\"'".contains(c))?;
    let (name, after) = name.split_at(end);
    if !is_tool(name) {
        return None;
    }
    let is_filling = |c: char| c.is_whitespace() || emphasis.contains(&c) || "-#>".contains(c);
    let input = after.trim_start_matches(is_filling);
    let arguments = after_label(input, &["action input", "action_input"])?.trim_start();
    let before = scan.before(MAX_NAME);
    let line = before.rsplit('\n').next().unwrap_or_default();
    if !line
        .chars()
        .all(|c| is_filling(c) || c.is_ascii_digit() || c == '.')
    {
        return None;
    }
    if !arguments.starts_with('{') {
        scan.at += rest.len() - input.len() + input.find('\n').unwrap_or(input.len());
        let message = "the input of the action is not an object";
        return Some((start, Err(SyntaxError::new(start, message))));
    }
    scan.at += rest.len() - arguments.len();
    let at = scan.at;
    let read = scan
        .take_json()
        .and_then(|value| json::arguments(value, at));
    if let Err(error) = &read {
        let rest = scan.rest();
        scan.at += rest.ceil_char_boundary(error.at.saturating_sub(at).max(1));
        scan.at += scan.rest().find('\n').unwrap_or(scan.rest().len());
    }
    Some((
        start,
        read.map(|arguments| ParsedCall::named(name, arguments)),
    ))
}

/// What follows one of these labels, a colon and emphasis, in any case.
fn after_label<'a>(text: &'a str, labels: &[&str]) -> Option<&'a str> {
    let is_label = |label: &&&str| {
        let start = text.get(..label.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(label))
    };
    let label = labels.iter().find(is_label)?;
    let emphasis = ['*', '_', '`'];
    let after = text[label.len()..].trim_start_matches(emphasis);
    Some(after.strip_prefix(':')?.trim_start_matches(emphasis))
}
