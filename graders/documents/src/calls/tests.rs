//! Examples of every form, valid and malformed.

use super::*;
use crate::json::{Json, SyntaxError};

fn is_tool(name: &str) -> bool {
    ["weather", "maths.add", "stop"].contains(&name)
}

fn reading(text: &str) -> Reading {
    read(text, false, &is_tool)
}

/// The calls as `form: name {arguments}`, with positional arguments first.
fn calls_of(text: &str) -> Vec<String> {
    let reading = reading(text);
    assert!(
        reading.malformed.is_empty(),
        "{text}: {:?}",
        reading.malformed
    );
    let describe = |call: Call| {
        assert!(!text[call.span.clone()].is_empty(), "{text}: {call:?}");
        let positional: String = call
            .positional
            .iter()
            .map(|value| format!("{value} "))
            .collect();
        format!(
            "{}: {} {positional}{}",
            call.form,
            call.name,
            Json::Object(call.arguments)
        )
    };
    reading.calls.into_iter().map(describe).collect()
}

/// The text from the first error on, and its reason.
fn first_error(text: &str) -> (&str, String) {
    let reading = reading(text);
    let first = reading
        .malformed
        .first()
        .unwrap_or_else(|| panic!("{text}: {reading:?}"));
    assert!(
        first.span.start <= first.broken.at && first.span.end <= text.len(),
        "{first:?}"
    );
    (&text[first.broken.at..], first.broken.reason.clone())
}

#[test]
fn reads_every_form() {
    let paris = r#"{"city":"Paris"}"#;
    let one = r#"weather {"city":"Paris"}"#;
    let call = format!(r#"{{"name": "weather", "arguments": {paris}}}"#);
    let with_parameters = format!(r#"{{"name": "weather", "parameters": {paris}}}"#);
    let stop = r#"{"name": "stop", "arguments": {}}"#;
    for (form, text) in [
        (
            "hermes",
            format!("Let me look.\n<tool_call>\n{call}\n</tool_call>"),
        ),
        (
            "hermes",
            format!(
                "<think><tool_call>{stop}</tool_call></think><tool_call>\
            {with_parameters}</tool_call>"
            ),
        ),
        (
            "qwen3_coder",
            "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n\
            </parameter>\n</function>\n</tool_call>"
                .to_owned(),
        ),
        (
            "qwen3_coder",
            "<function=weather><parameter=city>Paris</parameter>\
            </function>"
                .to_owned(),
        ),
        ("qwen25_coder", format!("<tools>\n{call}\n</tools>")),
        ("qwen25_coder", format!("<tools>[{call}]</tools>")),
        (
            "llama",
            format!("<|python_tag|>{with_parameters}<|eom_id|>"),
        ),
        (
            "llama",
            r#"<|python_tag|>weather.call(city="Paris")"#.to_owned(),
        ),
        ("llama", format!("<function=weather>{paris}</function>")),
        ("mistral", format!("[TOOL_CALLS][{call}]")),
        ("mistral", format!("[TOOL_CALLS]weather[ARGS]{paris}</s>")),
        (
            "mistral",
            format!("[TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS]{paris}"),
        ),
        ("mistral", format!("[TOOL_CALLS]weather{paris}")),
        ("phi", format!("<|tool_call|>[{call}]<|/tool_call|>")),
        ("phi", format!("<|tool_call|>[{call}]")),
        ("phi", format!("functools[{call}]")),
        ("glm", format!("weather\n{paris}")),
        (
            "glm",
            "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n\
            </tool_call>"
                .to_owned(),
        ),
        (
            "minicpm",
            "<|tool_call_start|>\n```python\nweather(city=\"Paris\")\n```\n\
            <|tool_call_end|>"
                .to_owned(),
        ),
        (
            "minicpm",
            "<|tool_call_start|>[weather(city='Paris')]<|tool_call_end|>".to_owned(),
        ),
        ("granite", format!("<tool_call>[{call}]")),
        ("granite", format!("<function_call> {call}")),
        (
            "deepseek",
            format!(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n\
                ```json\n{paris}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
        ),
        (
            "deepseek",
            format!(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>\
            {paris}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
        ),
        (
            "kimi",
            format!(
                "<|tool_calls_section_begin|><|tool_call_begin|>\
                functions.weather:0<|tool_call_argument_begin|>{paris}<|tool_call_end|>\
                <|tool_calls_section_end|>"
            ),
        ),
        (
            "harmony",
            format!(
                "<|channel|>analysis<|message|>Look it \
                     up.<|end|><|start|>assistant<|channel|>commentary to=functions.weather \
                     <|constrain|>json<|message|>{paris}<|call|>"
            ),
        ),
        (
            "harmony",
            format!(
                "<|start|>assistant to=functions.weather<|channel|>commentary \
                             json<|message|>{paris}<|call|>"
            ),
        ),
        (
            "invoke",
            "<function_calls>\n<invoke name=\"weather\">\n<parameter \
                    name=\"city\">Paris</parameter>\n</invoke>\n</function_calls>"
                .to_owned(),
        ),
        (
            "gemma",
            "```tool_code\nprint(weather(city=\"Paris\"))\n```".to_owned(),
        ),
        ("gemma", format!("```tool_call\n{call}\n```")),
        ("pythonic", "[weather(city='Paris')]".to_owned()),
        ("pythonic", "weather(city='Paris')".to_owned()),
        ("json", call),
        ("json", format!("```json\n[{with_parameters}]\n```")),
        (
            "json",
            format!(
                r#"{{"type":"function","function":{{"name":"weather","arguments":"{}"}}}}"#,
                paris.replace('"', "\\\"")
            ),
        ),
    ] {
        assert_eq!(calls_of(&text), [format!("{form}: {one}")], "{text}");
    }
}

#[test]
fn keeps_order_of_several_calls() {
    let a = r#"{"name":"a","arguments":{}}"#;
    let b = r#"{"name":"b","parameters":{"x":[1,2.0]}}"#;
    let both = |form: &str| {
        vec![
            format!("{form}: a {{}}"),
            format!("{form}: b {{\"x\":[1,2.0]}}"),
        ]
    };
    assert_eq!(
        calls_of(&format!(
            "<tool_call>\n{a}\n</tool_call>\n<tool_call>\n{b}\n</tool_call>"
        )),
        both("hermes")
    );
    assert_eq!(
        calls_of(&format!("<tool_call>\n{a}\n{b}\n</tool_call>")),
        both("hermes")
    );
    assert_eq!(calls_of(&format!("<|python_tag|>{a}; {b}")), both("llama"));
    assert_eq!(
        calls_of("<|python_tag|>a.call(); b.call(x=[1, 2.0])"),
        both("llama")
    );
    assert_eq!(
        calls_of("stop\n{}<|assistant|>\nweather\n{}"),
        ["glm: stop {}", "glm: weather {}"]
    );
    assert_eq!(calls_of(&format!("{a};{b}")), both("json"));
    assert_eq!(calls_of(&format!("{a}\n{b}")), both("json"));
    assert_eq!(calls_of(&format!("[{a}, {b}]")), both("json"));
    assert_eq!(calls_of("[a(), b(x=[1, 2.0])]"), both("pythonic"));
    assert_eq!(
        calls_of("[TOOL_CALLS]a[ARGS]{}[TOOL_CALLS]b[ARGS]{\"x\":[1,2.0]}"),
        both("mistral")
    );
    assert_eq!(
        calls_of("[maths.add(1, b=2)]"),
        ["pythonic: maths.add 1 {\"b\":2}"]
    );
}

#[test]
fn accepts_marks_of_the_form_in_arguments() {
    let text = r#"<tool_call>{"name":"write",
        "arguments":{"text":"</tool_call> <tool_call>"}}</tool_call>"#;
    assert_eq!(
        calls_of(text),
        [r#"hermes: write {"text":"</tool_call> <tool_call>"}"#]
    );
    let text = "<function=write>\n<parameter=text>\na </parameter> b\n</parameter>\n</function>";
    assert_eq!(
        calls_of(text),
        [r#"qwen3_coder: write {"text":"a </parameter> b"}"#]
    );
}

#[test]
fn ignores_tokens_that_end_a_turn() {
    for token in [
        "</s>",
        "<|end|>",
        "<|eom_id|>",
        "<|end_of_text|>",
        "<|observation|>",
        "<|im_end|>",
        "<｜end▁of▁sentence｜>",
        " <|eot_id|>\n",
    ] {
        for text in [
            "[stop()]",
            r#"{"name":"stop","arguments":{}}"#,
            "stop\n{}",
            r#"<tool_call>[{"name":"stop","arguments":{}}]"#,
            "<|python_tag|>stop.call()",
            "[TOOL_CALLS]stop[ARGS]{}",
            "<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
        ] {
            assert_eq!(
                calls_of(&format!("{text}{token}")).len(),
                1,
                "{text}{token}"
            );
        }
    }
    let llama =
        r#"<|start_header_id|>assistant<|end_header_id|>{"name":"stop","parameters":{}}<|eot_id|>"#;
    assert_eq!(calls_of(llama), ["json: stop {}"]);
}

#[test]
fn accepts_marks_of_other_forms_in_strings() {
    assert_eq!(
        calls_of(r#"{"name":"stop","arguments":{"s":"</tool_call> [TOOL_CALLS]"}}"#),
        [r#"json: stop {"s":"</tool_call> [TOOL_CALLS]"}"#]
    );
    assert_eq!(
        calls_of("[stop(s='<tool_call>')]"),
        [r#"pythonic: stop {"s":"<tool_call>"}"#]
    );
}

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
            format!("So <TOOLCALL>[{call}]</TOOLCALL> Done."),
            format!("<TOOLCALL>[{call}]</TOOLCALL>"),
            unread("<TOOLCALL>"),
        ),
        (
            "<|START_ACTION|>[]<|END_ACTION|>\n".to_owned(),
            "<|START_ACTION|>[]<|END_ACTION|>".to_owned(),
            unread("<|START_ACTION|>"),
        ),
        (
            "<｜DSML｜calls><｜DSML｜invoke name=\"weather\">x</｜DSML｜invoke>".to_owned(),
            "<｜DSML｜invoke name=\"weather\">x</｜DSML｜invoke>".to_owned(),
            unread("<｜DSML｜invoke name=\"weather\">"),
        ),
        (
            "a <function_calls>".to_owned(),
            "<function_calls>".to_owned(),
            unread("<function_calls>"),
        ),
        (
            "a </function_calls> b".to_owned(),
            "</function_calls>".to_owned(),
            "`</function_calls>` without a start".to_owned(),
        ),
        (
            "<weather><city>Paris</city></weather>".to_owned(),
            "<weather><city>Paris</city></weather>".to_owned(),
            unread("<weather>"),
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
            unread("Action:"),
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
fn returns_prose_outside_calls() {
    let text =
        "<think>x</think>First. <tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call> Then.";
    let prose: Vec<_> = reading(text)
        .prose
        .into_iter()
        .map(|range| text[range].trim())
        .collect();
    assert_eq!(prose, ["First.", "Then."]);
}

#[test]
fn keeps_calls_of_one_form() {
    let mut reading = reading(
        "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call><|tool_call|>\
            [{\"name\":\"b\",\"arguments\":{}}]",
    );
    reading.keep_form(Form::Hermes);
    assert_eq!(reading.calls.len(), 1);
    assert_eq!(
        reading.malformed[0].broken.reason,
        "the call has the form `phi`, not `hermes`"
    );
    assert!(
        Form::ALL
            .iter()
            .all(|form| Form::named(form.as_str()) == Some(*form))
    );
}

#[test]
fn reads_fields_of_messages() {
    let read = |json: &str| read_message(&serde_json::from_str(json).unwrap(), false, &is_tool);
    let reading = read(
        r#"{"role":"assistant","content":null,"tool_calls":[
            {"id":"1","type":"function",
             "function":{"name":"weather","arguments":"{\"city\": \"Paris\"}"}},
            {"id":"2","type":"function","function":{"name":"stop","arguments":""}},
            {"id":"3","type":"function","function":{"name":"a","arguments":"{\"x\":1,\"x\":2}"}},
            {"id":"4","type":"function","function":{"name":"a","arguments":"[1]"}}]}"#,
    );
    assert_eq!(
        reading
            .calls
            .iter()
            .map(|call| call.name.as_str())
            .collect::<Vec<_>>(),
        ["weather", "stop"]
    );
    assert_eq!(
        reading.malformed[0].broken,
        SyntaxError::new(7, "duplicate key `x`")
    );
    assert_eq!(
        reading.malformed[1].broken,
        SyntaxError::new(0, "the call's arguments are an array, not an object")
    );
    let reading = read(
        r#"{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":{"x":1}}},
            {"id":"1","id":"2","function":{"name":"b","arguments":{}}}]}"#,
    );
    assert_eq!((reading.calls.len(), reading.malformed.len()), (1, 1));
    let reading = read(
        r#"{"role":"assistant","content":[
            {"type":"text","text":"So."},{"type":"tool_use","name":"a","input":{"x":1}}]}"#,
    );
    assert_eq!(
        (reading.calls[0].form, reading.prose.len()),
        (Form::Anthropic, 1)
    );
    let reading = read(
        r#"{"role":"assistant",
            "content":"<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>"}"#,
    );
    assert_eq!(reading.calls[0].form, Form::Hermes);
    let reading =
        read(r#"{"role":"assistant","content":"","function_call":{"name":"a","arguments":"{}"}}"#);
    assert_eq!(reading.calls.len(), 1);
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
            "calls in parts of type `tool-call` are not read; use `tool_use`",
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
}
