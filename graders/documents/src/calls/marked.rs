//! Reads calls that start with a mark. A table lists all marks, with the function that reads the
//! text after each. Marks of other forms are malformed attempts; see [`unread`].

use super::scan::{ParsedCall, Scan};
use super::{Form, json, parameters, python, unread};
use crate::json::SyntaxError;

/// Reads one attempt and adds its calls. The cursor is after the mark; the argument is the byte
/// offset of the mark.
type ReadAttempt = fn(&mut Scan<'_, '_>, usize) -> Result<(), (Form, SyntaxError)>;

/// The marks. A mark precedes its prefixes.
const MARKS: &[(&str, ReadAttempt)] = &[
    ("<tool_call>", tool_call),
    ("<tools>", tools),
    ("<function_call>", granite),
    ("<function=", function),
    ("<invoke name=\"", invoke),
    ("<|python_tag|>", python_tag),
    ("<|tool_call_start|>", minicpm),
    ("<|tool_call_begin|>", kimi),
    ("<|tool_call|>", phi),
    ("<|channel|>commentary", harmony),
    ("<|channel|>analysis", harmony),
    ("<|start|>assistant to=", harmony),
    ("<｜tool▁call▁begin｜>", deepseek),
    ("[TOOL_CALLS]", mistral),
    ("functools[", functools),
    ("```tool_code", fenced),
    ("```tool_call", fenced),
];

/// End marks without a start are malformed attempts: the model tried to write a call.
const STRAY_ENDS: &[(&str, Form)] = &[
    ("</tool_call>", Form::Hermes),
    ("</function>", Form::Qwen3Coder),
    ("<|tool_call_end|>", Form::MiniCpm),
    ("<｜tool▁call▁end｜>", Form::DeepSeek),
];

/// Characters with which a mark starts.
const STARTS: &[char] = &['<', '[', '`', 'f', '&'];

/// Reads all marked attempts of a part.
pub(super) fn scan(scan: &mut Scan<'_, '_>, is_tool: &dyn Fn(&str) -> bool) {
    while !scan.is_full()
        && let Some(next) = scan.rest().find(STARTS)
    {
        scan.at += next;
        let start = scan.at;
        let rest = scan.rest();
        if let Some((mark, read)) = MARKS.iter().find(|(mark, _)| rest.starts_with(mark)) {
            scan.prose_until(start);
            scan.at += mark.len();
            if let Err((form, error)) = read(scan, start) {
                skip_to_end_of_attempt(scan, mark);
                scan.malformed(form, start, error);
            }
            scan.start_prose();
        } else if let Some((mark, form)) =
            STRAY_ENDS.iter().find(|(mark, _)| rest.starts_with(mark))
        {
            stray_end(scan, *form, mark.len());
        } else if let Some(mark) = unread::mark(scan.before(4), rest, is_tool) {
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

/// Skips a mark of a form that is not read. It is a malformed attempt, unless it only encloses
/// attempts.
fn unread_mark(scan: &mut Scan<'_, '_>, mark: &unread::Mark) {
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
        skip_to_end_of_unread(scan);
        let error = SyntaxError::new(
            start,
            format!("calls that start with `{text}` are not read"),
        );
        scan.malformed(None, start, error);
    }
    scan.start_prose();
}

/// Whether a text starts with the mark of an attempt.
fn begins_attempt(text: &str) -> bool {
    let is_start = |mark: unread::Mark| !mark.is_end;
    MARKS.iter().any(|(mark, _)| text.starts_with(mark))
        || unread::mark("", text, &|_| false).is_some_and(is_start)
}

/// Moves the cursor after the next end mark of a form that is not read, before the next start of an
/// attempt, or to the end.
fn skip_to_end_of_unread(scan: &mut Scan<'_, '_>) {
    while let Some(next) = scan.rest().find(STARTS) {
        scan.at += next;
        let rest = scan.rest();
        match unread::mark("", rest, &|_| false) {
            Some(mark) if mark.is_end => {
                scan.at += mark.length;
                return;
            }
            _ if begins_attempt(rest) => return,
            _ => scan.at += rest.chars().next().map_or(0, char::len_utf8),
        }
    }
    scan.finish();
}

/// Moves the cursor after the end mark of a malformed attempt, before the next mark, or to the end.
fn skip_to_end_of_attempt(scan: &mut Scan<'_, '_>, mark: &str) {
    let ends: &[&str] = match mark {
        "<tool_call>" => &["</tool_call>"],
        "<tools>" => &["</tools>"],
        "<function_call>" => &["</function_call>"],
        "<function=" => &["</function>"],
        "<invoke name=\"" => &["</invoke>"],
        "<|tool_call|>" => &["<|/tool_call|>", "<|tool_call_end|>"],
        "<|tool_call_start|>" | "<|tool_call_begin|>" => &["<|tool_call_end|>"],
        "<｜tool▁call▁begin｜>" => &["<｜tool▁call▁end｜>"],
        "<|channel|>commentary" | "<|channel|>analysis" | "<|start|>assistant to=" => &["<|call|>"],
        "```tool_code" | "```tool_call" => &["```"],
        _ => &[],
    };
    let rest = scan.rest();
    let mut at = 0;
    while let Some(next) = rest[at..].find(STARTS) {
        at += next;
        let tail = &rest[at..];
        if let Some(end) = ends.iter().find(|end| tail.starts_with(**end)) {
            scan.at += at + end.len();
            return;
        }
        // A function inside `<tool_call>` belongs to the attempt.
        let opens =
            |next: &str| tail.starts_with(next) && !(mark == "<tool_call>" && next == "<function=");
        if MARKS.iter().any(|(next, _)| opens(next)) {
            scan.at += at;
            return;
        }
        at += tail.chars().next().map_or(0, char::len_utf8);
    }
    scan.finish();
}

/// Adds the form to the error, if there is one.
fn with_form<T>(form: Form, read: Result<T, SyntaxError>) -> Result<T, (Form, SyntaxError)> {
    read.map_err(|error| (form, error))
}

/// Reads the end mark, which is required.
fn end(scan: &mut Scan<'_, '_>, form: Form, mark: &str) -> Result<(), (Form, SyntaxError)> {
    if scan.take(mark) {
        return Ok(());
    }
    let reason = if scan.is_at_end() {
        format!("`{mark}` is missing")
    } else {
        format!("expected `{mark}`")
    };
    Err((form, scan.error(reason)))
}

/// Reads the end mark, which may be missing at the end of the text.
fn optional_end(
    scan: &mut Scan<'_, '_>,
    form: Form,
    marks: &[&str],
) -> Result<(), (Form, SyntaxError)> {
    if marks.iter().any(|mark| scan.take(mark)) || scan.is_at_end() {
        return Ok(());
    }
    Err((form, scan.error("unexpected text after the call")))
}

/// `<tool_call>`, which five families of models share. The first character decides between them.
fn tool_call(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, SyntaxError)> {
    scan.skip_space();
    match scan.rest().as_bytes().first() {
        Some(b'{') => {
            with_form(Form::Hermes, json::values(scan, Form::Hermes))?;
            end(scan, Form::Hermes, "</tool_call>")
        }
        Some(b'[') => {
            with_form(Form::Granite, json::value(scan, Form::Granite))?;
            optional_end(scan, Form::Granite, &["</tool_call>"])
        }
        Some(b'<') if scan.take("<function=") => {
            function(scan, start)?;
            while scan.take("<function=") {
                function(scan, start)?;
            }
            end(scan, Form::Qwen3Coder, "</tool_call>")
        }
        Some(b'<') | None => Err((
            Form::Hermes,
            scan.error("expected an object with a name and arguments"),
        )),
        Some(_) => {
            let call = with_form(Form::Glm, parameters::keys_and_values(scan))?;
            with_form(Form::Glm, scan.call(Form::Glm, start, call))
        }
    }
}

fn tools(scan: &mut Scan<'_, '_>, _start: usize) -> Result<(), (Form, SyntaxError)> {
    with_form(Form::Qwen25Coder, json::values(scan, Form::Qwen25Coder))?;
    end(scan, Form::Qwen25Coder, "</tools>")
}

fn granite(scan: &mut Scan<'_, '_>, _start: usize) -> Result<(), (Form, SyntaxError)> {
    with_form(Form::Granite, json::value(scan, Form::Granite))?;
    let another_follows = scan.rest().trim_start().starts_with("<function_call>");
    if another_follows {
        Ok(())
    } else {
        optional_end(scan, Form::Granite, &["</function_call>"])
    }
}

fn function(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, SyntaxError)> {
    let read = parameters::function(scan);
    let form = if read.as_ref().is_ok_and(|call| !call.untyped) {
        Form::Llama
    } else {
        Form::Qwen3Coder
    };
    let call = with_form(form, read)?;
    with_form(form, scan.call(form, start, call))
}

fn invoke(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, SyntaxError)> {
    let call = with_form(Form::Invoke, parameters::invoke(scan))?;
    with_form(Form::Invoke, scan.call(Form::Invoke, start, call))
}

/// JSON with `parameters`, or `name.call(…)`.
fn python_tag(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, SyntaxError)> {
    scan.skip_space();
    if scan.rest().starts_with(['{', '[']) {
        with_form(Form::Llama, json::values(scan, Form::Llama))?;
        return optional_end(scan, Form::Llama, &["<|eom_id|>", "<|eot_id|>"]);
    }
    python_calls(scan, Form::Llama, start)?;
    optional_end(scan, Form::Llama, &["<|eom_id|>", "<|eot_id|>"])
}

/// An array of objects, or `f[ARGS]{…}`. Older texts have an id between the two, newer ones omit
/// `[ARGS]`.
fn mistral(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, SyntaxError)> {
    let form = Form::Mistral;
    scan.skip_space();
    if scan.rest().starts_with(['[', '{']) {
        with_form(form, json::value(scan, form))?;
        return optional_end(scan, form, &["[/TOOL_CALLS]", "</s>"]);
    }
    let rest = scan.rest();
    let name = rest[..rest.find(['[', '{']).unwrap_or(rest.len())].trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err((
            form,
            scan.error("expected an array of calls, or a name with `[ARGS]`"),
        ));
    }
    let _name = scan.take(name);
    if scan.take("[CALL_ID]") {
        let rest = scan.rest();
        scan.at += rest.find('[').unwrap_or(rest.len());
    }
    let _mark = scan.take("[ARGS]");
    let at = scan.at;
    let arguments = with_form(
        form,
        scan.take_json()
            .and_then(|value| json::arguments(value, at)),
    )?;
    let call = ParsedCall {
        name: name.to_owned(),
        arguments,
        ..ParsedCall::default()
    };
    with_form(form, scan.call(form, start, call))?;
    let another_follows = scan.rest().trim_start().starts_with("[TOOL_CALLS]");
    if another_follows {
        Ok(())
    } else {
        optional_end(scan, form, &["[/TOOL_CALLS]", "</s>"])
    }
}

fn phi(scan: &mut Scan<'_, '_>, _start: usize) -> Result<(), (Form, SyntaxError)> {
    with_form(Form::Phi, json::value(scan, Form::Phi))?;
    optional_end(
        scan,
        Form::Phi,
        &["<|/tool_call|>", "<|tool_call_end|>", "<|end|>"],
    )
}

/// `functools[…]`, only at the start of a part. Elsewhere it is an ordinary word of prose.
fn functools(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, SyntaxError)> {
    if !scan.begins_at(start) {
        return Ok(());
    }
    scan.at = start + "functools".len();
    with_form(Form::Phi, json::value(scan, Form::Phi))?;
    optional_end(scan, Form::Phi, &["<|end|>"])
}

/// Calls in Python, possibly in a fence.
fn minicpm(scan: &mut Scan<'_, '_>, _start: usize) -> Result<(), (Form, SyntaxError)> {
    let form = Form::MiniCpm;
    let fenced = scan.take("```python") || scan.take("```");
    python_calls(scan, form, scan.at)?;
    if fenced {
        end(scan, form, "```")?;
    }
    end(scan, form, "<|tool_call_end|>")
}

/// Calls in Python, each added with its own byte range; the first starts at `start`. Llama writes a
/// call of `f` as `f.call(…)`.
fn python_calls(
    scan: &mut Scan<'_, '_>,
    form: Form,
    start: usize,
) -> Result<(), (Form, SyntaxError)> {
    let from = scan.at;
    let mut reader = python::Reader::new(scan.rest());
    let calls = with_form(form, reader.calls().map_err(|error| error.offset_by(from)))?;
    for (at, (span, mut call)) in calls.into_iter().enumerate() {
        if let Some(tool) = call
            .name
            .strip_suffix(".call")
            .filter(|_| form == Form::Llama)
        {
            call.name = tool.to_owned();
        }
        scan.at = from + span.end;
        with_form(
            form,
            scan.call(form, if at == 0 { start } else { from + span.start }, call),
        )?;
    }
    scan.at = from + reader.at();
    Ok(())
}

/// `functions.f:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`
fn kimi(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, SyntaxError)> {
    let form = Form::Kimi;
    let missing = (
        form,
        scan.error("`<|tool_call_argument_begin|>` is missing"),
    );
    let id = scan
        .take_until("<|tool_call_argument_begin|>")
        .ok_or(missing)?
        .trim();
    let name = id.strip_prefix("functions.").unwrap_or(id);
    let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
    named_call(scan, form, start, name)?;
    end(scan, form, "<|tool_call_end|>")
}

/// A call of `name` with the JSON of its arguments at the cursor.
fn named_call(
    scan: &mut Scan<'_, '_>,
    form: Form,
    start: usize,
    name: &str,
) -> Result<(), (Form, SyntaxError)> {
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err((form, SyntaxError::new(start, "the call has no name")));
    }
    scan.skip_space();
    let at = scan.at;
    let arguments = with_form(
        form,
        scan.take_json()
            .and_then(|value| json::arguments(value, at)),
    )?;
    with_form(
        form,
        scan.call(
            form,
            start,
            ParsedCall {
                name: name.to_owned(),
                arguments,
                ..ParsedCall::default()
            },
        ),
    )
}

/// `… to=functions.f … <|message|>{…}<|call|>`. A commentary without a recipient is prose.
fn harmony(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, SyntaxError)> {
    let form = Form::Harmony;
    scan.at = start;
    let missing = (form, scan.error("`<|message|>` is missing"));
    let header = scan.take_until("<|message|>").ok_or(missing)?;
    let Some((_, recipient)) = header.split_once("to=") else {
        return Ok(());
    };
    let recipient = recipient.split([' ', '<']).next().unwrap_or_default();
    named_call(
        scan,
        form,
        start,
        recipient.strip_prefix("functions.").unwrap_or(recipient),
    )?;
    optional_end(scan, form, &["<|call|>"])
}

/// `function<｜tool▁sep｜>f` and fenced JSON, or `f<｜tool▁sep｜>{…}`.
fn deepseek(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, SyntaxError)> {
    let form = Form::DeepSeek;
    let missing = (form, scan.error("`<｜tool▁sep｜>` is missing"));
    let head = scan.take_until("<｜tool▁sep｜>").ok_or(missing)?.trim();
    if head == "function" {
        let missing = (
            form,
            scan.error("the fenced JSON after the name is missing"),
        );
        let name = scan.take_until("```json").ok_or(missing)?.trim().to_owned();
        named_call(scan, form, start, &name)?;
        end(scan, form, "```")?;
    } else {
        named_call(scan, form, start, head)?;
    }
    end(scan, form, "<｜tool▁call▁end｜>")
}

fn fenced(scan: &mut Scan<'_, '_>, _start: usize) -> Result<(), (Form, SyntaxError)> {
    let form = Form::Gemma;
    let _plural = scan.rest().starts_with('s').then(|| scan.at += 1);
    scan.skip_space();
    if scan.rest().starts_with('{') || json::is_attempt(scan.rest()) {
        with_form(form, json::values(scan, form))?;
    } else {
        // Some models were trained to write `print(f(a=1))` for `f(a=1)`.
        let printed = scan.take("print(");
        python_calls(scan, form, scan.at)?;
        if printed {
            end(scan, form, ")")?;
        }
    }
    end(scan, form, "```")
}
