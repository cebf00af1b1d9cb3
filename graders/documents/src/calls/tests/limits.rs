//! Many calls, names and marks.

use super::*;

#[test]
fn limits_calls_and_attempts() {
    let call = r#"<tool_call>{"name":"a","arguments":{}}</tool_call>"#;
    let flood = reading(&call.repeat(5_000));
    assert_eq!(flood.calls.len(), MAX_CALLS);
    assert!(!flood.malformed.is_empty());
    for mark in [
        "<tool_call>",
        "</tool_call>",
        "<function=f>",
        "[TOOL_CALLS]",
        "<|tool_call|>[{\"a\":\"",
        "<|channel|>commentary to=",
        "<function=f><parameter=a>",
        "<TOOLCALL>",
        "</TOOLCALL>",
        "<weather>{",
        "{\"name\":\"weather\"",
        "{\"tool\":\"weather\",\"x\":{}}",
        "[weather(",
        "weather\n{",
        "Action: weather\nAction Input: ",
    ] {
        let flood = reading(&mark.repeat(60_000));
        assert!(flood.malformed.len() <= MAX_CALLS, "{mark}");
    }
}

#[test]
fn a_list_of_too_many_calls_is_one_malformed_attempt() {
    let text = format!("[{}]", vec!["stop()"; MAX_CALLS + 1].join(", "));
    let reading = reading(&text);
    assert!(reading.calls.is_empty());
    assert_eq!(
        reading.malformed,
        [Malformed {
            span: 0..text.len(),
            broken: SyntaxError::new(
                text.len() - "stop()]".len(),
                "there are more than 1000 calls"
            ),
            form: Some(Form::Pythonic),
        }]
    );
}

#[test]
fn rejects_duplicate_names_among_many() {
    let many = |separator: &str, one: &dyn Fn(usize) -> String| {
        (0..40).map(one).collect::<Vec<_>>().join(separator)
    };
    let python = many(", ", &|at| format!("a{at}=1"));
    assert_eq!(reading(&format!("[weather({python})]")).calls.len(), 1);
    assert!(
        first_error(&format!("[weather({python}, a30=2)]"))
            .1
            .contains("duplicate")
    );
    let dictionary = many(", ", &|at| format!("'a{at}': 1"));
    assert!(
        first_error(&format!("[weather(a={{{dictionary}, 'a30': 2}})]"))
            .1
            .contains("duplicate")
    );
    let parameters = many("", &|at| format!("<parameter=a{at}>1</parameter>"));
    let twice = format!("<function=weather>{parameters}<parameter=a30>2</parameter></function>");
    assert!(first_error(&twice).1.contains("duplicate"));
}

/// Quadratic time would be minutes for these inputs.
#[test]
fn reads_many_names_and_marks_in_linear_time() {
    let names = |one: &dyn Fn(usize) -> String| (0..60_000).map(one).collect::<String>();
    for text in [
        format!("[weather({})]", names(&|at| format!("a{at}=1,"))),
        format!("[weather(a={{{}}})]", names(&|at| format!("'a{at}':1,"))),
        format!(
            "<function=weather>{}</function>",
            names(&|at| format!("<parameter=a{at}>1</parameter>"))
        ),
    ] {
        assert_eq!(reading(&text).calls.len(), 1, "{text:.60}");
    }
    let blanks = format!("{}x {}", " ".repeat(500_000), "functools[".repeat(50_000));
    assert!(reading(&blanks).is_empty());
    for unclosed in ["{", "{{'a':", "{'a':", "{'a': [", "{'a': {'b': 1}, 'c': "] {
        assert!(reading(&unclosed.repeat(1_000_000 / unclosed.len())).is_empty());
    }
}

/// Pieces that are repeated up to some length, and what precedes them.
const REPEATED: &[(&str, &str)] = &[
    (
        "",
        "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>\n",
    ),
    ("", "<tool_call>"),
    ("<tool_call>", "{\"name\":\"a\",\"arguments\":{}}\n"),
    ("<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":[", "1,"),
    ("<tool_call>weather", "<arg_key>a</arg_key><arg_value>"),
    ("<tool_call>weather<tool_sep>", "<arg_key>a</arg_key>"),
    ("", "<tool_call>weather<tool_sep>"),
    ("<tool_call><function=f>", "<parameter=a>"),
    ("<function=f><parameter=a>", "</parameter>"),
    ("<function=f><parameter=a>", "</parameter> x\n"),
    ("<weather>", "<a>1</a>"),
    ("<weather>", "<a>"),
    ("", "<weather><a>"),
    ("", "<weather a=\""),
    ("", "<invoke name=\""),
    ("<invoke name=\"a\">", "<parameter name=\"x\">1"),
    ("", "<｜DSML｜invoke name=\"a\">"),
    (
        "<｜DSML｜invoke name=\"a\">",
        "<｜DSML｜parameter name=\"x\" string=\"true\">1",
    ),
    ("", "[TOOL_CALLS]"),
    ("[TOOL_CALLS]", "a[ARGS]"),
    ("", "<|tool_call_begin|>a:0"),
    ("", "<|channel|>commentary to=functions.a "),
    ("", "<|channel|>commentary x"),
    (
        "",
        "<|channel|>analysis<|message|>x<|end|><|start|>assistant",
    ),
    ("", "<|start|>assistant to="),
    ("<|tool_call>call:a{b:", "["),
    ("<|tool_call>call:a{b:[", "1,"),
    ("<|tool_call>call:a{", "b:<escape>"),
    ("", "<start_function_call>call:a{"),
    ("", ">>>weather\n"),
    (">>>", ">"),
    ("", "✿FUNCTION✿: a"),
    ("", "<|recipient|>a"),
    ("", "<function_calls>weather("),
    ("<function_calls>", "weather(a=1)\n"),
    ("", "<tool_calls>"),
    ("", "<|tools_prefix|>["),
    ("", "```tool_code\nweather("),
    ("", "Action: ```json\n["),
    ("", "Action: weather Action Input: {"),
    ("", "Action:"),
    ("", "action: weather - "),
    ("", "<TOOL_REQUEST>"),
    ("", "</TOOL_REQUEST>"),
    ("", "<a_tool_call_b "),
    ("", "[weather("),
    ("[weather(a='", "x"),
    ("[weather(a=", "'x' "),
    ("[weather(", "1,"),
    ("[weather(a=", "("),
    ("", "weather(a=1)\n"),
    ("", "x = weather(a=1)\n"),
    ("", "weather\n{\"a\":1}\n"),
    ("", "{\"name\":\"weather\",\"arguments\":{}} "),
    ("", "{'name':'weather',"),
    ("", "{'a': [{'b': 1}, "),
    ("", "<think>"),
    ("", "<think></think>"),
    (
        "<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"",
        "</think>",
    ),
    (
        "",
        "<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"</think>\"}}</tool_call>",
    ),
    ("", " "),
    ("x", " \n"),
    ("", "```\n"),
];

/// Nanoseconds of the processor that this thread has used, which do not depend on the load.
fn processor_time() -> u64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    statistics.split(' ').next().unwrap().parse().unwrap()
}

/// Quadratic time would be 64 times as much for a text that is 8 times as long.
#[test]
fn reads_every_form_in_linear_time() {
    for (start, piece) in REPEATED {
        let measure = |length: usize| {
            let text = format!("{start}{}", piece.repeat(length / piece.len()));
            let before = processor_time();
            std::hint::black_box(reading(&text));
            processor_time() - before
        };
        let ratio = || {
            let short = measure(1 << 19).max(1_000_000);
            measure(1 << 22) as f64 / short as f64
        };
        // A second measurement rules out a disturbance.
        let ratio = Some(ratio())
            .filter(|ratio| *ratio < 24.0)
            .unwrap_or_else(ratio);
        assert!(ratio < 24.0, "{start}{piece}: {ratio:.1} times as long");
    }
}

#[test]
fn a_broken_call_of_harmony_counts_once() {
    for text in [
        "<|channel|>commentary to=functions.weather <|constrain|>json",
        "<|channel|>commentary to=functions.weather <|constrain|>json{\"city\":1}<|call|>",
        "<|channel|>commentary to=functions.weather<|message|>{broken<|call|>",
        "<|start|>assistant to=functions.weather<|channel|>commentary json{<|call|>",
    ] {
        assert_eq!(reading(text).malformed.len(), 1, "{text}");
    }
}
