//! The table of marks with which calls start, and of the marks that end them.

use super::mark::{Mark, ReadAttempt};
use super::scan::Scan;
use super::{Form, elements, enclosed, gemma, named};

const fn mark(
    open: &'static str,
    form: Form,
    read: ReadAttempt,
    ends: &'static [&'static str],
) -> Mark {
    Mark {
        open,
        form,
        read,
        ends,
        inside: &[],
        encloses: false,
        applies: None,
    }
}

/// The marks of harmony, all of which may be part of one header.
const HARMONY: &[&str] = &["<|channel|>commentary", "<|channel|>analysis"];

const fn harmony(open: &'static str) -> Mark {
    Mark {
        inside: HARMONY,
        ..mark(open, Form::Harmony, named::harmony, &["<|call|>"])
    }
}

/// Ends of a turn of Llama.
const LLAMA_ENDS: &[&str] = &["<|eom_id|>", "<|eot_id|>", "<|eom|>", "<|eot|>"];

/// The marks. A mark precedes its prefixes.
pub(super) const MARKS: &[Mark] = &[
    Mark {
        inside: &["<function="],
        ..mark(
            "<tool_call>",
            Form::Hermes,
            enclosed::tool_call,
            &["</tool_call>"],
        )
    },
    mark(
        "<tools>",
        Form::Qwen25Coder,
        enclosed::objects,
        &["</tools>"],
    ),
    Mark {
        encloses: true,
        ..mark(
            "<function_calls>",
            Form::Olmo,
            enclosed::functions,
            &["</function_calls>"],
        )
    },
    mark(
        "<function_call>",
        Form::Granite,
        enclosed::object,
        &["</function_call>"],
    ),
    mark(
        "<function=",
        Form::Qwen3Coder,
        elements::function,
        &["</function>"],
    ),
    mark(
        "<invoke name=\"",
        Form::Invoke,
        elements::invoke,
        &["</invoke>"],
    ),
    mark(
        "<steptml:invoke name=\"",
        Form::Step,
        elements::step,
        &["</steptml:invoke>"],
    ),
    mark(
        "<｜tool_call_begin｜>function<｜tool_sep｜>",
        Form::Step,
        enclosed::step,
        &["<｜tool_call_end｜>"],
    ),
    mark(
        "<｜DSML｜invoke name=\"",
        Form::DeepSeek,
        elements::dsml,
        &["</｜DSML｜invoke>"],
    ),
    mark(
        "<|python_tag|>",
        Form::Llama,
        enclosed::objects_or_python,
        LLAMA_ENDS,
    ),
    mark(
        "<|python_start|>",
        Form::Llama,
        enclosed::objects_or_python,
        &["<|python_end|>"],
    ),
    mark(
        "<|tool_call_start|>",
        Form::MiniCpm,
        enclosed::fenced_python,
        &["<|tool_call_end|>"],
    ),
    mark(
        "<|tool_call_begin|>",
        Form::Kimi,
        named::kimi,
        &["<|tool_call_end|>"],
    ),
    mark(
        "<|tool_call|>",
        Form::Phi,
        enclosed::object,
        &["<|/tool_call|>", "<|tool_call_end|>", "<|end|>"],
    ),
    mark("<|tool_call>", Form::Gemma, gemma::call, &["<tool_call|>"]),
    mark(
        "<start_function_call>",
        Form::Gemma,
        gemma::call,
        &["<end_function_call>"],
    ),
    harmony("<|channel|>commentary"),
    harmony("<|channel|>analysis"),
    harmony("<|start|>assistant to="),
    mark(
        "<｜tool▁call▁begin｜>",
        Form::DeepSeek,
        named::deepseek,
        &["<｜tool▁call▁end｜>"],
    ),
    mark(
        "<TOOLCALL>",
        Form::Nemotron,
        enclosed::objects,
        &["</TOOLCALL>"],
    ),
    Mark {
        encloses: true,
        ..mark(
            "<tool_calls>",
            Form::Jamba,
            enclosed::objects,
            &["</tool_calls>"],
        )
    },
    mark(
        "<longcat_tool_call>",
        Form::LongCat,
        enclosed::longcat,
        &["</longcat_tool_call>"],
    ),
    mark(
        "<|START_ACTION|>",
        Form::Cohere,
        enclosed::cohere,
        &["<|END_ACTION|>"],
    ),
    mark("Action: ```json", Form::Cohere, enclosed::cohere, &["```"]),
    mark(
        "<|action_start|><|plugin|>",
        Form::InternLm,
        enclosed::object,
        &["<|action_end|>"],
    ),
    mark(
        "<|tools_prefix|>",
        Form::Apertus,
        enclosed::apertus,
        &["<|tools_suffix|>"],
    ),
    mark(
        "<|recipient|>",
        Form::Functionary,
        named::recipient,
        &["<|stop|>", "<|from|>"],
    ),
    Mark {
        applies: Some(named::names_tool),
        ..mark(
            ">>>",
            Form::Functionary,
            named::functionary,
            &["<|eot_id|>"],
        )
    },
    mark(
        "✿FUNCTION✿:",
        Form::QwenAgent,
        named::qwen_agent,
        &["✿RESULT✿", "✿RETURN✿"],
    ),
    mark(
        "[TOOL_CALLS]",
        Form::Mistral,
        named::mistral,
        &["[/TOOL_CALLS]", "</s>"],
    ),
    Mark {
        // Elsewhere it is an ordinary word of prose.
        applies: Some(|scan| scan.begins_at(scan.at)),
        ..mark("functools[", Form::Phi, enclosed::functools, &["<|end|>"])
    },
    mark("```tool_code", Form::Gemma, enclosed::fence, &["```"]),
    mark("```tool_call", Form::Gemma, enclosed::fence, &["```"]),
];

/// End marks without a start are malformed attempts: the model tried to write a call.
pub(super) const STRAY_ENDS: &[(&str, Form)] = &[
    ("</tool_call>", Form::Hermes),
    ("</function>", Form::Qwen3Coder),
    ("<|tool_call_end|>", Form::MiniCpm),
    ("<｜tool▁call▁end｜>", Form::DeepSeek),
];

/// The first bytes of marks.
const STARTS: &[u8] = &[b'<', b'[', b'`', b'f', b'&', b'>', b'A', "✿".as_bytes()[0]];

/// Where the next mark may start.
pub(super) fn next_start(text: &str) -> Option<usize> {
    text.bytes().position(|byte| STARTS.contains(&byte))
}

/// The mark at the start of a text that always starts an attempt.
pub(super) fn at_start(text: &str) -> Option<&'static Mark> {
    let mark = MARKS.iter().find(|mark| text.starts_with(mark.open))?;
    mark.applies.is_none().then_some(mark)
}

/// The mark at the cursor, if it starts an attempt.
pub(super) fn at_cursor(scan: &Scan<'_, '_>) -> Option<&'static Mark> {
    let rest = scan.rest();
    let mark = MARKS.iter().find(|mark| rest.starts_with(mark.open))?;
    mark.applies
        .is_none_or(|applies| applies(scan))
        .then_some(mark)
}
