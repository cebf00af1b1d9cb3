//! What looks like a call: malformed attempts, forms that are not read, and prose.

use super::*;

#[test]
fn reports_position_of_malformed_attempts() {
    for (text, rest, reason) in [
        (
            r#"<tool_call>{"name": get}</tool_call>"#,
            "get}</tool_call>",
            "expected a value",
        ),
        (
            r#"<tool_call>{"name":"a","arguments":{}}"#,
            "",
            "`</tool_call>` is missing",
        ),
        (
            r#"<tool_call>{"name":"a","arguments":{}} now</tool_call>"#,
            "now</tool_call>",
            "expected `</tool_call>`",
        ),
        (
            r#"<tool_call>{"name":"a","arguments":{"x":1,"x":2}}</tool_call>"#,
            r#""x":2}}</tool_call>"#,
            "duplicate key `x`",
        ),
        (
            r#"<tool_call>{"name":"a"}</tool_call>"#,
            r#"{"name":"a"}</tool_call>"#,
            "the call has no `arguments`",
        ),
        (
            r#"<tool_call>{"name":"a","arguments":[1]}</tool_call>"#,
            r#"{"name":"a","arguments":[1]}</tool_call>"#,
            "the call's arguments are an array, not an object",
        ),
        (
            r#"<tool_call>{"name":"a","arguments":"{x}"}</tool_call>"#,
            r#"{"name":"a","arguments":"{x}"}</tool_call>"#,
            "invalid JSON in the arguments: expected a key in double quotes at byte 1",
        ),
        (
            "<tool_call></tool_call>",
            "</tool_call>",
            "expected an object with a name and arguments",
        ),
        (
            "Done. </tool_call>",
            "</tool_call>",
            "`</tool_call>` without a start",
        ),
        (
            "<function=f><parameter=a>1</function>",
            "1</function>",
            "the value has no `</parameter>` before the next parameter",
        ),
        (
            "<function=f><parameter=a>1</parameter><parameter=a>2</parameter></function>",
            "<parameter=a>2</parameter></function>",
            "duplicate parameter `a`",
        ),
        ("<tools>{}</tools>", "{}</tools>", "the call has no `name`"),
        (
            "<|python_tag|>import os",
            "import os",
            "expected a call such as `f(a=1)`",
        ),
        (
            "[TOOL_CALLS] none",
            "",
            "expected a value, but the text ends",
        ),
        ("<|tool_call|>[{\"name\":\"a\"", "", "expected `,` or `}`"),
        (
            "<tool_call>weather\n<arg_key>city</arg_key></tool_call>",
            "</tool_call>",
            "expected `<arg_value>`",
        ),
        (
            "<|tool_call_start|>[a(x=y)]<|tool_call_end|>",
            "y)]<|tool_call_end|>",
            "expected a literal; names and expressions are not evaluated",
        ),
        (
            "<function_call>{\"name\":\"a\",\"arguments\":{}} and",
            "and",
            "unexpected text after the call",
        ),
        (
            "<｜tool▁call▁begin｜>a{}",
            "a{}",
            "`<｜tool▁sep｜>` is missing",
        ),
        (
            "<|tool_call_begin|>a{}",
            "a{}",
            "`<|tool_call_argument_begin|>` is missing",
        ),
        (
            "<invoke name=\"a\"><parameter name=\"x\">1</invoke>",
            "1</invoke>",
            "the value has no `</parameter>` before the next parameter",
        ),
        ("```tool_code\nweather(\n```", "```", "expected a value"),
        ("[weather(city='Paris'), stop(]", "]", "expected a value"),
        (
            r#"{"name":"a","arguments":{"x":1}"#,
            "",
            "expected `,` or `}`",
        ),
        (
            r#"[{"name":"a","arguments":{}}] and"#,
            "and",
            "unexpected text after the calls",
        ),
        ("weather\n{\"city\": Paris}", "Paris}", "expected a value"),
    ] {
        assert_eq!(first_error(text), (rest, reason.to_owned()), "{text}");
    }
}

#[test]
fn attempts_in_forms_that_are_not_read_are_malformed() {
    let call = r#"{"name":"weather","arguments":{"city":"Paris"}}"#;
    let unread = |mark: &str| format!("calls that start with `{mark}` are not read");
    let surrounded = || "unexpected text around the call".to_owned();
    for (text, attempt, reason) in [
        (
            format!("So <TOOL_REQUEST>[{call}]</TOOL_REQUEST> Done."),
            format!("<TOOL_REQUEST>[{call}]</TOOL_REQUEST>"),
            unread("<TOOL_REQUEST>"),
        ),
        (
            "<|ACTION_START|>[]<|ACTION_END|>\n".to_owned(),
            "<|ACTION_START|>[]<|ACTION_END|>".to_owned(),
            unread("<|ACTION_START|>"),
        ),
        (
            "<｜XYZ｜calls><｜XYZ｜invoke name=\"weather\">x</｜XYZ｜invoke>".to_owned(),
            "<｜XYZ｜invoke name=\"weather\">x</｜XYZ｜invoke>".to_owned(),
            unread("<｜XYZ｜invoke name=\"weather\">"),
        ),
        (
            "a <function_calls>".to_owned(),
            "<function_calls>".to_owned(),
            "`<function_calls>` is not followed by calls such as `f(a=1)`".to_owned(),
        ),
        (
            "a </function_calls> b".to_owned(),
            "</function_calls>".to_owned(),
            "`</function_calls>` without a start".to_owned(),
        ),
        (
            "<weather city=\"Paris\"></weather>".to_owned(),
            "<weather city=\"Paris\"></weather>".to_owned(),
            unread("<weather city=\"Paris\">"),
        ),
        (
            "<weather><city>Paris</weather>".to_owned(),
            "<weather><city>Paris</weather>".to_owned(),
            "`</city>` is missing".to_owned(),
        ),
        (format!("I call {call}."), call.to_owned(), surrounded()),
        (
            "I call [weather(city='Paris')] now.".to_owned(),
            "[weather(city='Paris')]".to_owned(),
            surrounded(),
        ),
        (
            "Now\nweather\n{\"city\":\"Paris\"}\n".to_owned(),
            "weather\n{\"city\":\"Paris\"}".to_owned(),
            surrounded(),
        ),
        (
            "Thought: so\nAction: weather\nAction Input: Paris\nOK".to_owned(),
            "Action: weather\nAction Input: Paris".to_owned(),
            "the input of the action is not an object".to_owned(),
        ),
        (
            r#"{"tool":"weather","tool_input":{}}"#.to_owned(),
            r#"{"tool":"weather","tool_input":{}}"#.to_owned(),
            "the call has no `name`; found `tool`, `tool_input`".to_owned(),
        ),
    ] {
        let reading = reading(&text);
        let [malformed] = reading.malformed.as_slice() else {
            panic!("{text}: {reading:?}");
        };
        assert!(reading.calls.is_empty(), "{text}: {reading:?}");
        assert_eq!(&text[malformed.span.clone()], attempt, "{text}");
        assert_eq!(malformed.broken.reason, reason, "{text}");
    }
}

#[test]
fn marks_around_calls_are_ignored() {
    let call = r#"{"name":"weather","arguments":{}}"#;
    for text in [
        format!("<x:tool_call><tool_call>{call}</tool_call></x:tool_call>"),
        "<tool_calls>\n<invoke name=\"weather\">\n</invoke>\n</tool_calls>\n".to_owned(),
    ] {
        assert_eq!(calls_of(&text).len(), 1, "{text}");
    }
    let before = format!("{call} and <tool_call>{call}</tool_call>");
    let reading = reading(&before);
    assert_eq!((reading.calls.len(), reading.malformed.len()), (1, 1));
}

#[test]
fn treats_lookalikes_as_prose() {
    for text in [
        "The answer is 4.",
        r#"{"city": "Paris"}"#,
        "[see](https://example.com)",
        "[1, 2]",
        "I would call weather(city='Paris') if I could.",
        "unknown(city='Paris')",
        "unknown\n{\"city\":\"Paris\"}",
        "[weatherman (retired)]",
        "let calls: Vec<ToolCall> = vec![];",
        "<InvokeCommandAction Command=\"x\"/>",
        "The value is {\"name\": \"Paris\", \"weather\": {\"high\": 3}}.",
        "Action: none",
        "<think><tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call></think> No tool is \
         needed.",
        "",
    ] {
        assert!(reading(text).is_empty(), "{text}: {:?}", reading(text));
    }
}

#[test]
fn arguments_under_another_key_are_not_lost() {
    let read = |json: &str| {
        let reading = read_message(&serde_json::from_str(json).unwrap(), false, &is_tool);
        let calls = reading.calls.into_iter();
        let calls: Vec<_> = calls
            .map(|call| Json::Object(call.arguments).to_string())
            .collect();
        let reasons = reading.malformed.into_iter();
        (
            calls,
            reasons
                .map(|malformed| malformed.broken.reason)
                .collect::<Vec<_>>(),
        )
    };
    for call in [
        r#"{"function":{"name":"a","parameters":{"x":1}}}"#,
        r#"{"function":{"name":"a"},"arguments":"{\"x\":1}"}"#,
        r#"{"id":"1","type":"function","name":"a","arguments":{"x":1},"extra":{}}"#,
    ] {
        let message = format!(r#"{{"role":"assistant","tool_calls":[{call}]}}"#);
        assert_eq!(
            read(&message),
            (vec![r#"{"x":1}"#.to_owned()], vec![]),
            "{call}"
        );
    }
    let none = r#"{"role":"assistant","tool_calls":[
        {"id":"1","type":"function","function":{"name":"a","arguments":null,"strict":true}}]}"#;
    assert_eq!(read(none), (vec!["{}".to_owned()], vec![]));
    for (message, reason) in [
        (
            r#"{"role":"assistant","tool_calls":[{"name":"a","args":{"x":1}}]}"#,
            "the call has no `arguments`; found `args`",
        ),
        (
            r#"{"role":"assistant","tool_calls":[{"function":{"name":"a","args":{"x":1}}}]}"#,
            "the call has no `arguments`; found `args`",
        ),
        (
            r#"{"role":"assistant","tool_calls":[{"function":{"name":"a"}}]}"#,
            "the call has no `arguments`",
        ),
        (
            r#"{"role":"assistant","tool_calls":[{"name":"a","arguments":{},"kwargs":{"x":1}}]}"#,
            "the call's arguments are empty, but `kwargs` has members",
        ),
        (
            r#"{"role":"assistant","function_call":{"name":"a","argumets":"{}"}}"#,
            "the call has no `arguments`; found `argumets`",
        ),
        (
            r#"{"role":"assistant","content":[
                {"type":"tool_use","id":"1","name":"a","arguments":{"x":1}}]}"#,
            "the call has no `input`; found `arguments`",
        ),
        (
            r#"{"role":"assistant","toolCalls":[{"name":"a"}]}"#,
            "calls in the field `toolCalls` are not read; use `tool_calls`",
        ),
        (
            r#"{"role":"assistant","additional_kwargs":{"function_call":{"name":"a"}}}"#,
            "calls in the field `additional_kwargs.function_call` are not read; use `tool_calls`",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"tool-call","toolName":"a"}]}"#,
            "the call has no `input`",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"web_search_call","id":"1"}]}"#,
            "calls in parts of type `web_search_call` are not read; use `tool_use`",
        ),
    ] {
        assert_eq!(
            read(message),
            (vec![], vec![reason.to_owned()]),
            "{message}"
        );
    }
    let repeated = r#"{"role":"assistant","tool_calls":[{"name":"a","arguments":{}}],
        "additional_kwargs":{"tool_calls":[{"name":"a"}]},"invalid_tool_calls":[]}"#;
    assert_eq!(read(repeated), (vec!["{}".to_owned()], vec![]));
    assert_eq!(
        first_error(r#"<tool_call>{"name":"a","args":{"x":1}}</tool_call>"#).1,
        "the call has no `arguments`; found `args`"
    );
}
