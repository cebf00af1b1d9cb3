//! Reads calls that consist of the name of a tool and the JSON of its arguments, with marks between
//! them.

use super::mark::{Mark, end, optional_end};
use super::parsed::ParsedCall;
use super::scan::Scan;
use super::{Form, json};
use crate::json::SyntaxError;

/// Adds a call of `name` with the JSON of its arguments at the cursor.
pub(super) fn call(scan: &mut Scan<'_, '_>, name: &str) -> Result<(), SyntaxError> {
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(SyntaxError::new(scan.attempt, "the call has no name"));
    }
    scan.skip_space();
    let at = scan.at;
    let arguments = json::arguments(scan.take_json()?, at)?;
    scan.call(scan.attempt, ParsedCall::named(name, arguments))
}

/// The name that ends at `mark`.
fn until<'a>(scan: &mut Scan<'a, '_>, mark: &str) -> Result<&'a str, SyntaxError> {
    let missing = scan.error(format!("`{mark}` is missing"));
    scan.take_until(mark).map(str::trim).ok_or(missing)
}

/// An array of objects, or `f[ARGS]{…}`. Older texts have an id between the two, newer ones omit
/// `[ARGS]`.
pub(super) fn mistral(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    scan.skip_space();
    let rest = scan.rest();
    if rest.starts_with(['[', '{']) {
        json::value(scan, &json::KEYS)?;
        return optional_end(scan, mark);
    }
    let name = rest[..rest.find(['[', '{']).unwrap_or(rest.len())].trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(scan.error("expected an array of calls, or a name with `[ARGS]`"));
    }
    let _name = scan.take(name);
    if scan.take("[CALL_ID]") {
        let rest = scan.rest();
        scan.at += rest.find('[').unwrap_or(rest.len());
    }
    let _mark = scan.take("[ARGS]");
    call(scan, name)?;
    optional_end(scan, mark)
}

/// `functions.f:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`
pub(super) fn kimi(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    let id = until(scan, "<|tool_call_argument_begin|>")?;
    let name = id.strip_prefix("functions.").unwrap_or(id);
    let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
    call(scan, name)?;
    end(scan, mark)
}

/// Marks of which one ends a header of harmony.
const HEADER_ENDS: &[&str] = &["<|message|>", "<|call|>", "<|end|>", "<|return|>"];

/// `… to=functions.f … <|message|>{…}<|call|>`. The recipient may precede the channel. A commentary
/// without a recipient is prose.
pub(super) fn harmony(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    let rest = scan.rest();
    let length = rest
        .match_indices("<|")
        .map(|(at, _)| at)
        .find(|at| HEADER_ENDS.iter().any(|end| rest[*at..].starts_with(end)));
    let header = length.map(|length| &rest[..length]);
    let (header, true) = (
        header.unwrap_or_default(),
        length.is_some_and(|length| rest[length..].starts_with("<|message|>")),
    ) else {
        return Err(scan.error("`<|message|>` is missing"));
    };
    let before = scan.before_byte(scan.attempt, MAX_HEADER).trim_start();
    let recipient = match (mark.open.ends_with("to="), header.split_once("to=")) {
        (true, _) => header,
        (false, Some((_, recipient))) => recipient,
        // Texts that continue a prompt that ends with `<|start|>assistant`.
        (false, None) => match before.strip_prefix("to=") {
            Some(recipient) => recipient,
            None => {
                scan.at += header.len() + HEADER_ENDS[0].len();
                return Ok(());
            }
        },
    };
    scan.at += header.len() + HEADER_ENDS[0].len();
    let name = recipient.split([' ', '<']).next().unwrap_or_default();
    call(scan, name.strip_prefix("functions.").unwrap_or(name))?;
    optional_end(scan, mark)
}

/// Longest name of a tool and longest header before a channel, in bytes.
const MAX_HEADER: usize = 256;

/// `function<｜tool▁sep｜>f` and fenced JSON, or `f<｜tool▁sep｜>{…}`.
pub(super) fn deepseek(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    let head = until(scan, "<｜tool▁sep｜>")?;
    if head == "function" {
        let missing = scan.error("the fenced JSON after the name is missing");
        let name = scan.take_until("```json").ok_or(missing)?.trim();
        call(scan, name)?;
        scan.require("```")?;
    } else {
        call(scan, head)?;
    }
    end(scan, mark)
}

/// `>>>f` and JSON on the next line.
pub(super) fn functionary(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    let line = first_line(scan.rest());
    scan.at += line.len();
    call(scan, line.trim())?;
    optional_end(scan, mark)
}

/// Whether the name of a tool follows `>>>`. Otherwise, as after `>>>all`, it is prose.
pub(super) fn names_tool(scan: &Scan<'_, '_>) -> bool {
    let name = scan.rest().strip_prefix(">>>").map(first_line);
    name.is_some_and(|name| scan.is_tool(name.trim()))
}

/// The first line of a text, or its start.
fn first_line(text: &str) -> &str {
    let start = &text[..text.floor_char_boundary(MAX_HEADER)];
    start.split('\n').next().unwrap_or_default()
}

/// `<|recipient|>f<|content|>{…}`. The recipient `all` is the user.
pub(super) fn recipient(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    let name = until(scan, "<|content|>")?;
    if name == "all" {
        return Ok(());
    }
    call(scan, name)?;
    optional_end(scan, mark)
}

/// `✿FUNCTION✿: f` and `✿ARGS✿: {…}`.
pub(super) fn qwen_agent(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    let name = until(scan, "✿ARGS✿:")?;
    call(scan, name)?;
    optional_end(scan, mark)
}

/// Calls that consist of a line with the name of a tool, followed by JSON. Several calls are
/// separated by `<|assistant|>` (GLM 4) or `>>>` (Functionary).
pub(super) fn lines(scan: &mut Scan<'_, '_>) {
    loop {
        let start = scan.at;
        scan.begin(Form::Glm, start);
        if let Err(error) = line(scan) {
            scan.finish();
            return scan.malformed(Form::Glm, start, error);
        }
        if !(scan.take("<|assistant|>") || scan.take(">>>")) {
            return;
        }
        scan.skip_space();
    }
}

/// One call of [`lines`].
fn line(scan: &mut Scan<'_, '_>) -> Result<(), SyntaxError> {
    let missing = SyntaxError::new(scan.at, "expected a line with the name of a tool");
    let name = scan.take_until("\n").ok_or(missing)?.trim();
    call(scan, name)?;
    let rest = scan.rest().trim_start();
    if rest.is_empty()
        || ["<|assistant|>", ">>>"]
            .iter()
            .any(|next| rest.starts_with(next))
    {
        return Ok(());
    }
    scan.skip_space();
    Err(scan.error("unexpected text after the call"))
}
