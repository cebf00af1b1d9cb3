//! Grades whole completions and checks verdict, score and evidence, also for inputs that are
//! designed to be slow.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use assay_core::{Grade, GradeContext, Grader, GraderTable, Item, Outcome, PrepareContext, Task};
use assay_structured::StructuredGrader;
use proptest::prelude::*;
use serde_json::{Value, json};

fn outcome(task: &Value, completion: &str) -> Outcome {
    let table = GraderTable::new(Vec::new());
    let cx = PrepareContext::new(&table);
    let mut task = task.clone();
    task["type"] = json!("structured");
    let task = Task::from_json(&task.to_string()).expect("a task");
    StructuredGrader
        .check(&task, &cx)
        .expect("a well-shaped task");
    let prepared = match StructuredGrader.prepare(&task, &cx) {
        Ok(prepared) => prepared,
        Err(unprepared) => return Outcome::from(unprepared),
    };
    let item = Item::text(completion);
    let items = [&item];
    let context = GradeContext::default();
    let mut graded = prepared.grade(&items, &context);
    let Poll::Ready(mut outcomes) =
        Pin::new(&mut graded).poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("a grader of the CPU lane never waits");
    };
    outcomes.remove(0)
}

fn grade(task: &Value, completion: &str) -> Grade {
    match outcome(task, completion) {
        Outcome::Graded(grade) => grade,
        other => panic!("{other:?}"),
    }
}

fn verdict(task: &Value, completion: &str) -> &'static str {
    grade(task, completion).verdict.as_str()
}

#[test]
fn locates_syntax_errors_in_the_completion() {
    let grade = grade(
        &json!({}),
        "<think>{}</think>Well:\n```json\n{\"a\": 1,\n \"b\": tru}\n```\n",
    );
    let evidence = grade.evidence.facts();
    assert_eq!(grade.verdict.as_str(), "malformed");
    assert_eq!(evidence["reason"], "expected a value");
    assert_eq!(
        (&evidence["at"], &evidence["line"], &evidence["column"]),
        (&json!(46), &json!(4), &json!(7))
    );
    assert_eq!(evidence["span"], json!([31, 50]));
    assert_eq!(evidence["extraction"], "fenced");
    assert_eq!(
        (
            grade.work,
            grade.measures["bytes"].get(),
            grade.measures["outside"].get()
        ),
        (19, 19.0, 19.0)
    );
}

#[test]
fn reports_pointer_and_keyword_of_a_violation() {
    let task = json!({"schema": {"properties": {"a": {"items": {"maximum": 5}}}}});
    let grade = grade(&task, r#"{"a":[1,9]}"#);
    assert_eq!(grade.verdict.as_str(), "invalid");
    assert_eq!(grade.evidence.facts()["violation"]["place"], "/a/1");
    assert_eq!(
        grade.evidence.facts()["violation"]["keyword"],
        "/properties/a/items/maximum"
    );
}

#[test]
fn lists_at_most_twenty_differences() {
    let task = json!({"expected": (0..50).collect::<Vec<_>>()});
    let grade = grade(&task, &json!((1..51).collect::<Vec<_>>()).to_string());
    let differences = grade.evidence.facts()["differences"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert_eq!(
        (grade.verdict.as_str(), differences.len()),
        ("wrong_value", 20)
    );
    assert_eq!(
        differences[0],
        json!({"place": "/0", "expected": "0", "got": "1"})
    );
}

#[test]
fn scores_partial_documents_by_level() {
    let task = json!({
        "mode": "partial",
        "schema": {
            "required": ["a", "b"],
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}
        },
        "expected": {"a": 1, "b": "x"}
    });
    let score = |completion: &str| {
        let grade = grade(&task, completion);
        (
            grade.verdict.as_str(),
            (grade.score.get() * 1e6).round() / 1e6,
        )
    };
    assert_eq!(score(r#"{"a":1,"b":"x"}"#), ("correct", 1.0));
    assert_eq!(score(r#"{"a":1,"b":"y"}"#), ("partial", 0.8));
    assert_eq!(score(r#"{"a":1}"#), ("partial", 0.566_667));
    assert_eq!(score("{}"), ("partial", 0.1));
    assert_eq!(score("{"), ("malformed", 0.0));
    let grade = grade(&task, r#"{"a":1}"#);
    assert_eq!(grade.evidence.facts()["reason"], "invalid");
    assert_eq!(grade.evidence.facts()["levels"][1]["level"], "required");
    assert_eq!(grade.evidence.facts()["levels"][1]["share"], 0.5);
}

#[test]
fn tasks_at_fault_are_ungradable() {
    for task in [
        json!({"schema": {"type": "text"}}),
        json!({"schema": {"$ref": "https://example.com/other.json"}}),
        json!({"schema": {"type": "object"}, "expected": [1]}),
    ] {
        assert_eq!(outcome(&task, "{}").as_str(), "ungradable", "{task}");
    }
}

/// A document of five megabytes with two and a half million values.
fn large(mark: &str) -> String {
    format!("[{}0]", mark.repeat(2_500_000))
}

#[test]
fn accepts_large_documents() {
    let schema = json!({"schema": {"type": "array", "items": {"type": "integer"}}});
    assert_eq!(verdict(&schema, &large("0,")), "correct");
    assert_eq!(
        verdict(&json!({"expected": [1, 2]}), &large("0,")),
        "wrong_value"
    );
    assert_eq!(
        verdict(
            &json!({"expected": [1, 2], "arrays": "unordered", "mode": "partial"}),
            &large("0,")
        ),
        "partial"
    );
    assert_eq!(
        verdict(
            &json!({"format": "csv"}),
            &format!("a,b\n{}", "1,2\n".repeat(1_200_000))
        ),
        "correct"
    );
    assert_eq!(
        verdict(
            &json!({"format": "xml"}),
            &format!("<r>{}</r>", "<a>1</a>".repeat(600_000))
        ),
        "correct"
    );
    assert_eq!(
        verdict(
            &json!({"format": "toml"}),
            &format!("a = [{}]", "1,".repeat(1_000_000))
        ),
        "correct"
    );
    assert_eq!(
        verdict(&json!({"format": "yaml"}), &"- 1\n".repeat(1_000_000)),
        "correct"
    );
}

#[test]
fn rejects_repeated_marks() {
    for (format, marks) in [
        (
            "json",
            &["[", "{\"a\":", "{", "[0,", "\"", "{\"a\":[", "\\", "]"][..],
        ),
        (
            "yaml",
            &[
                "[", "{", "- ", "? ", "{a: ", "[a, ", "&a ", "*a ", "!!str ", "\"", "a: ", "'",
                "- - a\n",
            ],
        ),
        (
            "xml",
            &[
                "<a>",
                "<a ",
                "<",
                "<a b='",
                "&lt;",
                "<!--",
                "<![CDATA[",
                "</a>",
                "<a xmlns:b='c'>",
            ],
        ),
        (
            "toml",
            &["[", "a.", "a=[", "a={", "[[", "\"", "a=1\n", "[a.b.c]\n"],
        ),
        ("csv", &["\"", "a,\"", ",", "\"\"", "\n,"]),
    ] {
        for mark in marks {
            let verdict = verdict(
                &json!({"format": format, "schema": {"type": "object"}}),
                &mark.repeat(200_000),
            );
            assert!(
                ["malformed", "invalid"].contains(&verdict),
                "{format} {mark}: {verdict}"
            );
        }
    }
}

#[test]
fn compares_deep_documents() {
    let deep = |end: &str| format!("{}{end}{}", "[".repeat(90), "]".repeat(90));
    let expected: Value = serde_json::from_str(&deep("1")).unwrap();
    let task = json!({"expected": expected, "arrays": "unordered"});
    assert_eq!(verdict(&task, &deep("1.0")), "correct");
    assert_eq!(verdict(&task, &deep("2")), "wrong_value");
    let deepest = format!("{}{}", "[".repeat(256), "]".repeat(256));
    assert_eq!(verdict(&task, &deepest), "wrong_value");
}

/// Pieces of texts in the formats.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "'",
    "\\",
    "\n",
    " ",
    "  ",
    "- ",
    "? ",
    ": ",
    "&a ",
    "*a ",
    "!!str ",
    "! ",
    "| ",
    ">-\n",
    "---\n",
    "...",
    "%YAML 1.2\n",
    "#",
    "<<",
    "<a>",
    "</a>",
    "<a ",
    "b='",
    "/>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?x",
    "?>",
    "&lt;",
    "&#x41;",
    "xmlns:p='u'",
    "a",
    "é",
    "1",
    "-1.5e3",
    "0x1f",
    "null",
    "true",
    "=",
    ".",
    "[[",
    "]]",
    "\"\"\"",
    "1979-05-27",
    "\r\n",
    "\t",
    "```json\n",
    "```\n",
    "<answer>",
    "</answer>",
    "<think>",
    "</think>",
    "\u{feff}",
    "\u{0}",
];

proptest! {
    #[test]
    fn grades_arbitrary_text(
        format in prop_oneof![Just("json"), Just("yaml"), Just("xml"), Just("toml"), Just("csv")],
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60),
        whole: bool,
    ) {
        let completion = pieces.concat();
        let task = json!({
            "format": format, "extract": if whole { "whole" } else { "auto" }, "mode": "partial",
            "schema": {
                "type": ["object", "array"], "properties": {"a": {"type": ["integer", "array"]}}
            },
            "expected": {"a": [1]}
        });
        let grade = grade(&task, &completion);
        let spec = StructuredGrader.spec();
        prop_assert!(spec.verdicts.iter().any(|known| known.verdict == grade.verdict));
        prop_assert_eq!(grade.score.get() >= 1.0, grade.verdict.as_str() == "correct");
        if let Some(at) = grade.evidence.facts().get("at") {
            prop_assert!(at.as_u64().is_some_and(|at| at <= completion.len() as u64));
        }
        if let Some(span) = grade.evidence.facts().get("span") {
            let (start, end) = (span[0].as_u64().unwrap_or(0), span[1].as_u64().unwrap_or(0));
            prop_assert!(start <= end && end <= completion.len() as u64);
        }
    }
}
