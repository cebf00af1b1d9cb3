//! Examples of every form.

mod attempts;
mod limits;
mod round_trip;

use serde_json::json;

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
            "step",
            "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"weather\">\
             <steptml:parameter name=\"city\">Paris</steptml:parameter></steptml:invoke>\
             <｜tool_call_end｜>"
                .to_owned(),
        ),
        (
            "hunyuan",
            "<tool_calls>\n<tool_call>weather<tool_sep>\n<arg_key>city</arg_key>\n\
             <arg_value>Paris</arg_value>\n</tool_call>\n</tool_calls>"
                .to_owned(),
        ),
        (
            "longcat",
            "<longcat_tool_call>weather\n<longcat_arg_key>city</longcat_arg_key>\n\
             <longcat_arg_value>Paris</longcat_arg_value>\n</longcat_tool_call>"
                .to_owned(),
        ),
        (
            "harmony",
            format!(" to=functions.weather<|channel|>commentary json<|message|>{paris}<|call|>"),
        ),
        ("xml", format!("<weather>{paris}</weather>")),
        (
            "react",
            format!("Thought: so\n**Action:** `weather`\n**Action Input:** {paris}\nNow."),
        ),
        (
            "llama",
            format!("<|python_start|>{call}<|python_end|><|eom|>"),
        ),
        (
            "json",
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"weather","arguments":{paris}}}}}"#
            ),
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
fn accepts_marks_of_reasoning_in_strings() {
    for text in [
        r#"<tool_call>{"name":"stop","arguments":{"s":"</think><|im_end|>"}}</tool_call><|im_end|>"#,
        r#"<think>x</think><|python_tag|>stop.call(s="</think><|im_end|>")"#,
    ] {
        let reading = reading(text);
        let [call] = reading.calls.as_slice() else {
            panic!("{text}: {reading:?}");
        };
        let value = Json::Text("</think><|im_end|>".to_owned());
        assert_eq!(call.arguments, [("s".to_owned(), value)], "{text}");
    }
    let draft = "<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call></think>No call.";
    assert!(reading(draft).is_empty());
}

#[test]
fn families_include_the_forms_of_their_models() {
    for (family, text, count) in [
        (Form::Llama, r#"{"name":"stop","parameters":{}}"#, 1),
        (Form::Llama, "[stop()]", 1),
        (
            Form::Granite,
            r#"<|tool_call|>[{"name":"stop","arguments":{}}]"#,
            1,
        ),
        (
            Form::Granite,
            r#"<tool_call>{"name":"stop","arguments":{}}</tool_call>"#,
            1,
        ),
        (Form::Hermes, "[stop()]", 0),
    ] {
        let mut reading = reading(text);
        reading.keep_form(family);
        assert_eq!(reading.calls.len(), count, "{family}: {text}");
    }
}

#[test]
fn reads_parts_of_messages() {
    for (form, part) in [
        (
            "anthropic",
            json!({"type": "server_tool_use", "id": "1", "name": "a", "input": {"x": 1}}),
        ),
        (
            "responses",
            json!({"type": "function_call", "call_id": "1", "name": "a", "arguments": "{\"x\":1}"}),
        ),
        (
            "responses",
            json!({"type": "mcp_call", "id": "1", "name": "a", "server_label": "s", "arguments": "{\"x\":1}"}),
        ),
        (
            "ai_sdk",
            json!({"type": "tool-call", "toolCallId": "1", "toolName": "a", "input": {"x": 1}}),
        ),
        (
            "langchain",
            json!({"type": "tool_call", "id": "1", "name": "a", "args": {"x": 1}}),
        ),
        (
            "gemini",
            json!({"functionCall": {"id": "1", "name": "a", "args": {"x": 1}}}),
        ),
        (
            "bedrock",
            json!({"toolUse": {"toolUseId": "1", "name": "a", "input": {"x": 1}}}),
        ),
    ] {
        let message = json!({"role": "assistant", "content": [part]});
        let reading = read_message(&serde_json::from_value(message).unwrap(), false, &is_tool);
        let [call] = reading.calls.as_slice() else {
            panic!("{form}: {reading:?}");
        };
        assert_eq!(call.form.as_str(), form);
        assert_eq!(call.id.as_deref(), Some("1"), "{form}");
        assert_eq!(
            Json::Object(call.arguments.clone()).to_string(),
            r#"{"x":1}"#
        );
    }
    let langchain = r#"{"role":"assistant","tool_calls":[
        {"id":"1","type":"tool_call","name":"a","args":{"x":1}}]}"#;
    let reading = read_message(&serde_json::from_str(langchain).unwrap(), false, &is_tool);
    assert_eq!(reading.calls[0].form, Form::LangChain);
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
