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
