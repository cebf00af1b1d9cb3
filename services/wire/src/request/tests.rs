use super::*;
use crate::warning::MAX_WARNINGS;

const LIMITS: DecodeLimits = DecodeLimits {
    items: 3,
    shared_bytes: 1_024,
};

fn problem(body: &str) -> (ErrorCode, Option<String>, String) {
    let problem = decode(body.as_bytes(), &LIMITS, &mut OwnForm).unwrap_err();
    (problem.code, problem.pointer, problem.message.into_owned())
}

fn item(extra: &str) -> String {
    format!(r#"{{"completion":"1","task":{{"type":"math","answer":"1"}}{extra}}}"#)
}

fn batch(items: &[String]) -> String {
    format!(r#"{{"items":[{}]}}"#, items.join(","))
}

#[test]
fn preserves_item_order_and_fields() {
    let body = batch(&[
        item(r#","id":"b","meta":{"tokens":7,"seed":3}"#),
        item(r#","id":"a","group":"g""#),
    ]);
    let decoded = decode(body.as_bytes(), &LIMITS, &mut OwnForm).unwrap();
    let ids: Vec<_> = decoded
        .items
        .iter()
        .map(|item| item.request.id.as_deref().unwrap())
        .collect();
    assert_eq!(ids, ["b", "a"]);
    assert_eq!(decoded.items[0].request.meta.tokens, Some(7));
    assert_eq!(decoded.items[0].request.meta.rest["seed"].get(), "3");
    assert!(decoded.warnings.is_empty());
}

#[test]
fn reports_unknown_fields_as_warnings_with_pointers() {
    let body = format!(
        r#"{{"items":[{}],"sed":1}}"#,
        item(r#","foo":[1],"meta":{"anything":1}"#)
    );
    let warnings = decode(body.as_bytes(), &LIMITS, &mut OwnForm)
        .unwrap()
        .warnings;
    let pointers: Vec<_> = warnings
        .iter()
        .map(|warning| warning.pointer.as_str())
        .collect();
    assert_eq!(pointers, ["/sed", "/items/0/foo"]);
}

#[test]
fn rejects_nan_and_infinity_with_pointers() {
    let body = r#"{"step": NaN, "items": []}"#;
    let (code, pointer, message) = problem(body);
    assert_eq!(
        (code, pointer.as_deref()),
        (ErrorCode::MalformedJson, Some("/step"))
    );
    assert!(
        message.starts_with("JSON does not support NaN"),
        "{message}"
    );
    let (_, pointer, _) = problem(&batch(&[item(""), item(r#","meta":{"kl":-Infinity}"#)]));
    assert_eq!(pointer.as_deref(), Some("/items/1/meta/kl"));
}

#[test]
fn errors_point_to_the_field() {
    assert_eq!(problem("{"), problem("{"));
    assert_eq!(problem("{").0, ErrorCode::MalformedJson);
    assert_eq!(problem(r#"{"items":[]}"#).0, ErrorCode::EmptyBatch);
    assert_eq!(problem(r"{}").1.as_deref(), Some("/items"));
    let (code, pointer, message) = problem(r#"{"items":[{"task":{"type":"math"}}]}"#);
    assert_eq!(
        (code, pointer.as_deref()),
        (ErrorCode::InvalidField, Some("/items/0"))
    );
    assert_eq!(message, "missing field `completion`");
    let (_, pointer, message) =
        problem(&batch(&[item(""), r#"{"completion":5,"task":{}}"#.into()]));
    assert_eq!(pointer.as_deref(), Some("/items/1/completion"));
    assert!(
        message.contains("a string or an array of messages"),
        "{message}"
    );
    let (code, pointer, _) = problem(r#"{"items":[{"completion":"","task":{"answer":"1"}}]}"#);
    assert_eq!(
        (code, pointer.as_deref()),
        (ErrorCode::InvalidTask, Some("/items/0/task/type"))
    );
}

#[test]
fn rejects_duplicate_ids() {
    let (code, pointer, _) = problem(&batch(&[
        item(r#","id":"x""#),
        item(""),
        item(r#","id":"x""#),
    ]));
    assert_eq!(
        (code, pointer.as_deref()),
        (ErrorCode::DuplicateId, Some("/items/2/id"))
    );
}

#[test]
fn rejects_too_many_items_without_parsing_them() {
    let body = r#"{"items":[1,2,3,4]}"#;
    assert_eq!(problem(body).0, ErrorCode::TooManyItems);
}

#[test]
fn limits_the_number_of_unknown_field_warnings() {
    let fields: String = (0..100).map(|n| format!(r#","x{n}":0"#)).collect();
    let warnings = decode(batch(&[item(&fields)]).as_bytes(), &LIMITS, &mut OwnForm)
        .unwrap()
        .warnings;
    assert_eq!(warnings.len(), MAX_WARNINGS + 1);
    let last = warnings.last().unwrap();
    assert_eq!(
        last.message,
        "80 further `unknown_field` warnings are not listed"
    );
}

#[test]
fn validates_checks_as_tasks() {
    let (code, pointer, _) = problem(&batch(&[item(r#","checks":{"a/b":{"no":"type"}}"#)]));
    assert_eq!(
        (code, pointer.as_deref()),
        (ErrorCode::InvalidTask, Some("/items/0/checks/a~1b/type"))
    );
}

#[test]
fn rejects_arrays_in_place_of_objects() {
    assert_eq!(problem(r#"["r",1,null,[],[]]"#).0, ErrorCode::InvalidField);
    let (_, pointer, message) = problem(r#"{"items":[["a","g"]]}"#);
    assert_eq!(
        (pointer.as_deref(), message.as_str()),
        (Some("/items/0"), "an item must be an object, not an array")
    );
}

#[test]
fn errors_in_top_level_fields_have_pointers() {
    assert_eq!(
        problem(r#"{"step":"1","items":[]}"#).1.as_deref(),
        Some("/step")
    );
    assert_eq!(problem(r#"{"items":null}"#).1.as_deref(), Some("/items"));
}

#[test]
fn rejects_duplicate_check_names_and_long_ids() {
    let duplicate = item(r#","checks":{"a":{"type":"math"},"a":{"type":"math"}}"#);
    assert_eq!(problem(&batch(&[duplicate])).2, "duplicate field `a`");
    let long = item(&format!(r#","id":"{}""#, "x".repeat(2_000)));
    assert_eq!(problem(&batch(&[long])).1.as_deref(), Some("/items/0/id"));
}

#[test]
fn rejects_malformed_messages() {
    for messages in [
        r#"[{"role":"assistant","content":2}]"#,
        r#"[{"role":"assistant","content":[{"type":"text"}]}]"#,
        r#"[{"role":"assistant","content":[null]}]"#,
        r#"[{"role":"Assistant","content":"1"}]"#,
        r#"[{"role":"user","content":"1"}]"#,
        "[]",
    ] {
        let body = format!(
            r#"{{"items":[{{"completion":{messages},"task":{{"type":"math","answer":"1"}}}}]}}"#
        );
        let (code, pointer, _) = problem(&body);
        assert_eq!(code, ErrorCode::InvalidField, "{messages}");
        assert!(
            pointer.unwrap().starts_with("/items/0/completion"),
            "{messages}"
        );
    }
}

/// The text of a completion, or the contents of its messages.
fn texts(completion: &Completion) -> String {
    match completion {
        Completion::Text(text) => text.to_string(),
        Completion::Messages(messages) => messages.iter().map(assay_core::Message::text).collect(),
    }
}

#[test]
fn replaces_lone_surrogates_in_completions() {
    let message = r#"[{"role":"assistant","content":"\udc00 2","reasoning_content":"\ud800"}]"#;
    for (completion, read, pointers) in [
        (r#""1 \ud83d""#, "1 \u{fffd}", &["/items/1/completion"][..]),
        (
            message,
            "\u{fffd} 2",
            &[
                "/items/1/completion/0/content",
                "/items/1/completion/0/reasoning_content",
            ],
        ),
    ] {
        let text = format!(
            r#"{{"completion":{completion},"prompt":"?","task":{{"type":"math","answer":"1"}}}}"#
        );
        let decoded = decode(
            batch(&[item(""), text.clone()]).as_bytes(),
            &LIMITS,
            &mut OwnForm,
        )
        .unwrap();
        assert_eq!(texts(&decoded.items[1].request.completion), read);
        let reported: Vec<_> = decoded
            .warnings
            .iter()
            .map(|warning| warning.pointer.as_str())
            .collect();
        assert_eq!(reported, pointers);
        assert!(
            decoded
                .warnings
                .iter()
                .all(|warning| warning.code == "lone_surrogate")
        );
        let (single, warnings) = decode_item(&text, "", &mut OwnForm).unwrap();
        assert_eq!(texts(&single.request.completion), read);
        assert_eq!(
            warnings[0].pointer,
            pointers[0].trim_start_matches("/items/1")
        );
    }
}

#[test]
fn replaces_lone_surrogates_in_prompts_and_metadata() {
    let extra = r#","prompt":"\ud800","meta":{"raw":["\udfff"]},"unknown":"\ud800""#;
    let decoded = decode(batch(&[item(extra)]).as_bytes(), &LIMITS, &mut OwnForm).unwrap();
    assert_eq!(
        decoded.items[0].request.meta.rest["raw"].get(),
        r#"["\ufffd"]"#
    );
    assert_eq!(
        decoded.items[0]
            .request
            .prompt
            .as_ref()
            .map(texts)
            .as_deref(),
        Some("\u{fffd}")
    );
    let codes: Vec<_> = decoded
        .warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect();
    assert_eq!(
        codes,
        [
            "unknown_field",
            "lone_surrogate",
            "lone_surrogate",
            "lone_surrogate"
        ]
    );
}

#[test]
fn rejects_lone_surrogates_in_fields_that_affect_grading() {
    let at = |items: &[String]| {
        let (code, pointer, message) = problem(&batch(items));
        assert!(message.contains("lone surrogate"), "{message}");
        (code, pointer.unwrap())
    };
    let task = r#"{"completion":"1","task":{"type":"math","answer":"\ud800"}}"#.to_owned();
    assert_eq!(
        at(&[item(""), task.clone()]),
        (ErrorCode::InvalidTask, "/items/1/task/answer".to_owned())
    );
    let text = r#"{"completion":"\ud800","task":{"type":"math","answer":"1"}}"#.to_owned();
    assert_eq!(at(&[text, task]).1, "/items/1/task/answer");
    assert_eq!(
        at(&[item(r#","id":"\ud800""#)]),
        (ErrorCode::InvalidField, "/items/0/id".to_owned())
    );
    let checks = item(r#","checks":{"a/b":{"type":"math","answer":["\ud800"]}}"#);
    assert_eq!(at(&[checks]).1, "/items/0/checks/a~1b/answer/0");
    let (_, pointer, _) = problem(&format!(r#"{{"run":"\ud800","items":[{}]}}"#, item("")));
    assert_eq!(pointer.as_deref(), Some("/run"));
}

#[test]
fn rejects_names_of_runs_that_no_url_can_contain() {
    for name in [".", "..", r"a\nb", r"\ta", r"\u0000", r"a\u007f", r"\u0085"] {
        let (code, pointer, message) =
            problem(&format!(r#"{{"run":"{name}","items":[{}]}}"#, item("")));
        assert_eq!(
            (code, pointer.as_deref()),
            (ErrorCode::InvalidField, Some("/run")),
            "{name}"
        );
        assert!(message.contains("choose another name"), "{message}");
    }
    for name in ["...", ".a", "a/b", "%2e", "a b?#", "é"] {
        let body = format!(r#"{{"run":"{name}","items":[{}]}}"#, item(""));
        let decoded = decode(body.as_bytes(), &LIMITS, &mut OwnForm).unwrap();
        assert_eq!(decoded.head.run.as_deref(), Some(name));
    }
}

#[test]
fn preserves_metadata_as_written() {
    let decoded = decode(
        batch(&[item(r#","meta":{"cost":0.10,"tree":{ "b": [1], "a": 2 }}"#)]).as_bytes(),
        &LIMITS,
        &mut OwnForm,
    );
    let meta = decoded.unwrap().items.remove(0).request.meta;
    assert_eq!(meta.rest["cost"].get(), "0.10");
    assert_eq!(
        serde_json::to_string(&meta).unwrap(),
        r#"{"cost":0.10,"tree":{"b":[1],"a":2}}"#
    );
}

#[test]
fn rejects_metadata_that_cannot_be_parsed() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for value in ["1e999", "[[-1e999]]", &deep] {
        let (code, pointer, _) = problem(&batch(&[item(&format!(r#","meta":{{"x":{value}}}"#))]));
        assert_eq!(
            (code, pointer.as_deref()),
            (ErrorCode::InvalidField, Some("/items/0/meta/x"))
        );
    }
    let (_, pointer, message) = problem(&batch(&[item(r#","meta":{"tokens":1,"tokens":2}"#)]));
    assert_eq!(
        (pointer.as_deref(), message.as_str()),
        (Some("/items/0/meta"), "duplicate field `tokens`")
    );
}

#[test]
fn errors_truncate_quoted_input() {
    let long = "x".repeat(3_000_000);
    for body in [
        format!(r#"{{"step":"{long}","items":[]}}"#),
        batch(&[item(&format!(r#","checks":{{"{long}":{{}}}}"#))]),
        batch(&[item(&format!(r#","meta":{{"tokens":"{long}"}}"#))]),
    ] {
        let (_, pointer, message) = problem(&body);
        assert!(
            message.len() + pointer.unwrap().len() < 5_000,
            "{}",
            message.len()
        );
    }
    let decoded = decode(
        batch(&[item(&format!(r#","{long}":0"#))]).as_bytes(),
        &LIMITS,
        &mut OwnForm,
    )
    .unwrap();
    assert!(decoded.warnings[0].pointer.len() < 2_000);
}
