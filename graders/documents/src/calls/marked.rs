//! Calls that a mark opens. The table has every mark; the function beside it reads what stands
//! behind.

use super::scan::{Bare, Scan};
use super::{Form, json, parameters, python};
use crate::json::Broken;

/// Reads one attempt, the cursor behind its mark; notes its calls.
type Read = fn(&mut Scan<'_, '_>, usize) -> Result<(), (Form, Broken)>;

/// Marks, longer ones before those they begin with.
const MARKS: &[(&str, Read)] = &[
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
    ("<|start|>assistant to=", harmony),
    ("<｜tool▁call▁begin｜>", deepseek),
    ("[TOOL_CALLS]", mistral),
    ("functools[", functools),
    ("```tool_code", fenced),
    ("```tool_call", fenced),
];

/// Marks around attempts that say nothing themselves.
const AROUND: &[&str] = &[
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<function_calls>",
    "</function_calls>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<|eom_id|>",
];

/// Closing marks without an opening one are attempts too: the model meant to call.
const STRAY: &[(&str, Form)] = &[
    ("</tool_call>", Form::Hermes),
    ("</function>", Form::Qwen3Coder),
    ("<|tool_call_end|>", Form::MiniCpm),
    ("<｜tool▁call▁end｜>", Form::DeepSeek),
];

/// Reads every marked attempt of a part.
pub(super) fn scan(scan: &mut Scan<'_, '_>) {
    while !scan.is_full()
        && let Some(next) = scan.rest().find(['<', '[', '`', 'f'])
    {
        scan.at += next;
        let start = scan.at;
        let rest = scan.rest();
        if let Some((mark, read)) = MARKS.iter().find(|(mark, _)| rest.starts_with(mark)) {
            scan.prose_until(start);
            scan.at += mark.len();
            if let Err((form, broken)) = read(scan, start) {
                skip_to_end_of_attempt(scan, mark);
                scan.malformed(form, start, broken);
            }
            scan.prose_from_here();
        } else if let Some((mark, form)) = STRAY.iter().find(|(mark, _)| rest.starts_with(mark)) {
            scan.prose_until(start);
            scan.at += mark.len();
            scan.malformed(
                *form,
                start,
                Broken::new(start, format!("`{mark}` closes nothing")),
            );
            scan.prose_from_here();
        } else if let Some(mark) = AROUND.iter().find(|mark| rest.starts_with(**mark)) {
            scan.prose_until(start);
            scan.at += mark.len();
            scan.prose_from_here();
        } else {
            scan.at += rest.chars().next().map_or(0, char::len_utf8);
        }
    }
    scan.finish();
    scan.prose_until(scan.at);
}

/// Behind the end mark that belongs to a broken attempt, or before the next mark, or at the end.
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
        "<|channel|>commentary" | "<|start|>assistant to=" => &["<|call|>"],
        "```tool_code" | "```tool_call" => &["```"],
        _ => &[],
    };
    let rest = scan.rest();
    let mut at = 0;
    while let Some(next) = rest[at..].find(['<', '[', '`', 'f']) {
        at += next;
        let here = &rest[at..];
        if let Some(end) = ends.iter().find(|end| here.starts_with(**end)) {
            scan.at += at + end.len();
            return;
        }
        // A function inside `<tool_call>` belongs to the attempt.
        let opens =
            |next: &str| here.starts_with(next) && !(mark == "<tool_call>" && next == "<function=");
        if MARKS.iter().any(|(next, _)| opens(next)) {
            scan.at += at;
            return;
        }
        at += here.chars().next().map_or(0, char::len_utf8);
    }
    scan.finish();
}

/// What a form's reader gives, with the form.
fn of<T>(form: Form, read: Result<T, Broken>) -> Result<T, (Form, Broken)> {
    read.map_err(|broken| (form, broken))
}

/// The end mark, which must stand there.
fn end(scan: &mut Scan<'_, '_>, form: Form, mark: &str) -> Result<(), (Form, Broken)> {
    if scan.take(mark) {
        return Ok(());
    }
    let reason = if scan.is_at_end() {
        format!("`{mark}` is missing")
    } else {
        format!("expected `{mark}`")
    };
    Err((form, scan.broken(reason)))
}

/// The end mark, which may be missing where the text ends.
fn end_or_nothing(
    scan: &mut Scan<'_, '_>,
    form: Form,
    marks: &[&str],
) -> Result<(), (Form, Broken)> {
    if marks.iter().any(|mark| scan.take(mark)) || scan.is_at_end() {
        return Ok(());
    }
    Err((form, scan.broken("something stands behind the call")))
}

/// `<tool_call>`, which five families share.
fn tool_call(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, Broken)> {
    scan.skip_space();
    match scan.rest().as_bytes().first() {
        Some(b'{') => {
            of(Form::Hermes, json::values(scan, Form::Hermes))?;
            end(scan, Form::Hermes, "</tool_call>")
        }
        Some(b'[') => {
            of(Form::Granite, json::value(scan, Form::Granite))?;
            end_or_nothing(scan, Form::Granite, &["</tool_call>"])
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
            scan.broken("expected an object with a name and arguments"),
        )),
        Some(_) => {
            let call = of(Form::Glm, parameters::keys_and_values(scan))?;
            of(Form::Glm, scan.call(Form::Glm, start, call))
        }
    }
}

fn tools(scan: &mut Scan<'_, '_>, _start: usize) -> Result<(), (Form, Broken)> {
    of(Form::Qwen25Coder, json::values(scan, Form::Qwen25Coder))?;
    end(scan, Form::Qwen25Coder, "</tools>")
}

fn granite(scan: &mut Scan<'_, '_>, _start: usize) -> Result<(), (Form, Broken)> {
    of(Form::Granite, json::value(scan, Form::Granite))?;
    let another = scan.rest().trim_start().starts_with("<function_call>");
    if another {
        Ok(())
    } else {
        end_or_nothing(scan, Form::Granite, &["</function_call>"])
    }
}

fn function(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, Broken)> {
    let read = parameters::function(scan);
    let form = if read.as_ref().is_ok_and(|call| !call.untyped) {
        Form::Llama
    } else {
        Form::Qwen3Coder
    };
    let call = of(form, read)?;
    of(form, scan.call(form, start, call))
}

fn invoke(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, Broken)> {
    let call = of(Form::Invoke, parameters::invoke(scan))?;
    of(Form::Invoke, scan.call(Form::Invoke, start, call))
}

/// JSON with `parameters`, or `name.call(…)`.
fn python_tag(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, Broken)> {
    scan.skip_space();
    if scan.rest().starts_with(['{', '[']) {
        of(Form::Llama, json::values(scan, Form::Llama))?;
        return end_or_nothing(scan, Form::Llama, &["<|eom_id|>", "<|eot_id|>"]);
    }
    python_calls(scan, Form::Llama, start)?;
    end_or_nothing(scan, Form::Llama, &["<|eom_id|>", "<|eot_id|>"])
}

/// An array of objects, or `f[ARGS]{…}`, in older texts with an id between, in newer ones without a
/// mark.
fn mistral(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, Broken)> {
    let form = Form::Mistral;
    scan.skip_space();
    if scan.rest().starts_with(['[', '{']) {
        of(form, json::value(scan, form))?;
        return end_or_nothing(scan, form, &["[/TOOL_CALLS]", "</s>"]);
    }
    let rest = scan.rest();
    let name = rest[..rest.find(['[', '{']).unwrap_or(rest.len())].trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err((
            form,
            scan.broken("expected an array of calls, or a name with `[ARGS]`"),
        ));
    }
    let _passed = scan.take(name);
    if scan.take("[CALL_ID]") {
        let rest = scan.rest();
        scan.at += rest.find('[').unwrap_or(rest.len());
    }
    let _marked = scan.take("[ARGS]");
    let at = scan.at;
    let arguments = of(
        form,
        scan.take_json()
            .and_then(|value| json::arguments(value, at)),
    )?;
    let call = Bare {
        name: name.to_owned(),
        arguments,
        ..Bare::default()
    };
    of(form, scan.call(form, start, call))?;
    let another = scan.rest().trim_start().starts_with("[TOOL_CALLS]");
    if another {
        Ok(())
    } else {
        end_or_nothing(scan, form, &["[/TOOL_CALLS]", "</s>"])
    }
}

fn phi(scan: &mut Scan<'_, '_>, _start: usize) -> Result<(), (Form, Broken)> {
    of(Form::Phi, json::value(scan, Form::Phi))?;
    end_or_nothing(
        scan,
        Form::Phi,
        &["<|/tool_call|>", "<|tool_call_end|>", "<|end|>"],
    )
}

/// Where a part begins with it; a word in prose is none.
fn functools(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, Broken)> {
    if !scan.begins_at(start) {
        return Ok(());
    }
    scan.at = start + "functools".len();
    of(Form::Phi, json::value(scan, Form::Phi))?;
    end_or_nothing(scan, Form::Phi, &["<|end|>"])
}

fn minicpm(scan: &mut Scan<'_, '_>, _start: usize) -> Result<(), (Form, Broken)> {
    let form = Form::MiniCpm;
    let fenced = scan.take("```python") || scan.take("```");
    python_calls(scan, form, scan.at)?;
    if fenced {
        end(scan, form, "```")?;
    }
    end(scan, form, "<|tool_call_end|>")
}

/// Calls in Python, noted with their own places, the first from `start` on. `f.call(…)` is how
/// Llama calls `f`.
fn python_calls(scan: &mut Scan<'_, '_>, form: Form, start: usize) -> Result<(), (Form, Broken)> {
    let from = scan.at;
    let mut reader = python::Reader::new(scan.rest());
    let calls = of(form, reader.calls().map_err(|broken| broken.within(from)))?;
    for (at, (span, mut call)) in calls.into_iter().enumerate() {
        if let Some(tool) = call
            .name
            .strip_suffix(".call")
            .filter(|_| form == Form::Llama)
        {
            call.name = tool.to_owned();
        }
        scan.at = from + span.end;
        of(
            form,
            scan.call(form, if at == 0 { start } else { from + span.start }, call),
        )?;
    }
    scan.at = from + reader.at();
    Ok(())
}

/// `functions.f:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`
fn kimi(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, Broken)> {
    let form = Form::Kimi;
    let missing = (
        form,
        scan.broken("`<|tool_call_argument_begin|>` is missing"),
    );
    let id = scan
        .take_until("<|tool_call_argument_begin|>")
        .ok_or(missing)?
        .trim();
    let name = id.strip_prefix("functions.").unwrap_or(id);
    let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
    argued(scan, form, start, name)?;
    end(scan, form, "<|tool_call_end|>")
}

/// A name that is known, and JSON behind it.
fn argued(
    scan: &mut Scan<'_, '_>,
    form: Form,
    start: usize,
    name: &str,
) -> Result<(), (Form, Broken)> {
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err((form, Broken::new(start, "the call has no name")));
    }
    scan.skip_space();
    let at = scan.at;
    let arguments = of(
        form,
        scan.take_json()
            .and_then(|value| json::arguments(value, at)),
    )?;
    of(
        form,
        scan.call(
            form,
            start,
            Bare {
                name: name.to_owned(),
                arguments,
                ..Bare::default()
            },
        ),
    )
}

/// `… to=functions.f … <|message|>{…}<|call|>`; a commentary to nobody is prose.
fn harmony(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, Broken)> {
    let form = Form::Harmony;
    scan.at = start;
    let missing = (form, scan.broken("`<|message|>` is missing"));
    let header = scan.take_until("<|message|>").ok_or(missing)?;
    let Some((_, to)) = header.split_once("to=") else {
        return Ok(());
    };
    let to = to.split([' ', '<']).next().unwrap_or_default();
    argued(
        scan,
        form,
        start,
        to.strip_prefix("functions.").unwrap_or(to),
    )?;
    end_or_nothing(scan, form, &["<|call|>"])
}

/// `function<｜tool▁sep｜>f` and fenced JSON, or `f<｜tool▁sep｜>{…}`.
fn deepseek(scan: &mut Scan<'_, '_>, start: usize) -> Result<(), (Form, Broken)> {
    let form = Form::DeepSeek;
    let missing = (form, scan.broken("`<｜tool▁sep｜>` is missing"));
    let head = scan.take_until("<｜tool▁sep｜>").ok_or(missing)?.trim();
    if head == "function" {
        let missing = (
            form,
            scan.broken("the fenced JSON behind the name is missing"),
        );
        let name = scan.take_until("```json").ok_or(missing)?.trim().to_owned();
        argued(scan, form, start, &name)?;
        end(scan, form, "```")?;
    } else {
        argued(scan, form, start, head)?;
    }
    end(scan, form, "<｜tool▁call▁end｜>")
}

fn fenced(scan: &mut Scan<'_, '_>, _start: usize) -> Result<(), (Form, Broken)> {
    let form = Form::Gemma;
    let _plural = scan.rest().starts_with('s').then(|| scan.at += 1);
    scan.skip_space();
    if scan.rest().starts_with('{') || json::is_attempt(scan.rest()) {
        of(form, json::values(scan, form))?;
    } else {
        // `print(f(a=1))` is how some were taught to write `f(a=1)`.
        let printed = scan.take("print(");
        python_calls(scan, form, scan.at)?;
        if printed {
            end(scan, form, ")")?;
        }
    }
    end(scan, form, "```")
}
