//! Each published instruction has a response that follows it and one that does not.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_core::{GradeContext, GraderTable, Item, Outcome, PrepareContext, Task};
use assay_instructions::{InstructionsGrader, published};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Example {
    id: String,
    kwargs: Value,
    right: String,
    wrong: String,
}

fn examples() -> Vec<Example> {
    let lines = include_str!("examples.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The verdict and the evidence of a response, and the error of a task that cannot be graded.
fn verdict(task: &Value, response: &str) -> (String, String) {
    let table = GraderTable::new(vec![Arc::new(InstructionsGrader)]);
    let task = Task::from_json(&task.to_string()).unwrap();
    let prepared = match table
        .get(&task)
        .unwrap()
        .prepare(&task, &PrepareContext::new(&table))
    {
        Ok(prepared) => prepared,
        Err(error) => return ("ungradable".to_owned(), error.to_string()),
    };
    let (item, cx) = (Item::text(response), GradeContext::default());
    match futures::executor::block_on(prepared.grade(&[&item], &cx)).remove(0) {
        Outcome::Graded(grade) => (
            grade.verdict.as_str().to_owned(),
            grade.evidence.get().to_owned(),
        ),
        other => panic!("{other:?}"),
    }
}

fn task(id: &str, kwargs: &Value, mode: &str) -> Value {
    json!({ "type": "instructions", "mode": mode,
        "constraints": [{ "id": id, "kwargs": kwargs }] })
}

#[test]
fn every_instruction_is_followed_by_one_example_and_not_by_the_other() {
    let examples = examples();
    let ids: BTreeSet<&str> = examples.iter().map(|example| example.id.as_str()).collect();
    assert_eq!(
        ids,
        published()
            .iter()
            .map(|published| published.id.as_str())
            .collect()
    );
    let mut missed = Vec::new();
    for Example {
        id,
        kwargs,
        right,
        wrong,
    } in &examples
    {
        for (response, expected) in [(right, "correct"), (wrong, "violated")] {
            let (given, evidence) = verdict(&task(id, kwargs, "strict"), response);
            if given != expected {
                missed.push(format!(
                    "{id}: {given}, not {expected}: {response:?} {evidence}"
                ));
            }
        }
    }
    assert!(missed.is_empty(), "{}\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn the_documentation_lists_every_instruction() {
    let page = include_str!("../../../docs/graders/instructions.md");
    for published in published() {
        assert!(
            page.contains(&format!("\n| `{}` |", published.id)),
            "{}",
            published.id
        );
    }
}

/// Several public checkers accept empty responses, or any text.
#[test]
fn no_instruction_accepts_an_empty_response() {
    for Example { id, kwargs, .. } in &examples() {
        for response in [
            "",
            " \n",
            "<think>Tea is warm.</think>",
            "\u{200b}\u{feff}",
            "<!-- tea -->",
        ] {
            let (given, _) = verdict(&task(id, kwargs, "loose"), response);
            assert_eq!(given, "no_answer", "{id} {response:?}");
        }
    }
}

/// A response that quotes the instruction, repeats a keyword or hides it does not follow it.
#[test]
fn attacks_do_not_follow_instructions() {
    for (id, kwargs, response) in [
        (
            "keywords:existence",
            json!({ "keywords": ["river"] }),
            "Tea <!-- river -->",
        ),
        (
            "keywords:existence",
            json!({ "keywords": ["river"] }),
            "ri ver",
        ),
        (
            "keywords:forbidden_words",
            json!({ "forbidden_words": ["bad"] }),
            "b\u{2060}ad",
        ),
        (
            "count:unique_word_count",
            json!({ "N": 5 }),
            "tea Tea TEA tea. \"tea\"",
        ),
        (
            "length_constraints:number_words",
            json!({ "relation": "at least", "num_words": 9 }),
            "a\u{200b}b\u{200b}c\u{200b}d\u{200b}e\u{200b}f\u{200b}g\u{200b}h\u{200b}i",
        ),
        (
            "words:palindrome",
            json!({}),
            "level level level level level level level level level level",
        ),
        ("combination:two_responses", json!({}), "Yes.\n******\nyes."),
        (
            "detectable_content:postscript",
            json!({ "postscript_marker": "P.S." }),
            "You asked for a postscript that starts with P.S. at the end.",
        ),
        (
            "detectable_format:multiple_sections",
            json!({ "section_spliter": "Section", "num_sections": 3 }),
            "Section 1\nSection 1\nSection 1",
        ),
        ("startend:quotation", json!({}), "\"\""),
        ("custom:reverse_newline", json!({}), "Zimbabwe\nZ\nY\nX"),
    ] {
        let (given, evidence) = verdict(&task(id, &kwargs, "strict"), response);
        assert_eq!(given, "violated", "{id} {evidence}");
    }
}

/// Rules are composed without code.
#[test]
fn rules_compose() {
    let rule = json!({ "all": [
        { "count": { "unit": "sentences", "matching": "\\?$", "exactly": 1 } },
        { "position": { "unit": "paragraphs", "at": "each", "rule": {
            "any": [{ "count": { "unit": "words", "max": 3 } }, { "contains": "tea" }] } } },
        { "not": { "count": { "text": "coffee", "whole_word": true, "min": 1 } } },
        { "share": { "part": { "unit": "words", "in": ["tea"] }, "of": { "unit": "words" }, "max": 50 } },
    ] });
    let task = json!({ "type": "instructions", "constraints": [{ "name": "own", "rule": rule }] });
    let (given, evidence) = verdict(&task, "Why not?\n\nBecause I like tea more.");
    assert_eq!(given, "correct", "{evidence}");
    let (given, evidence) = verdict(&task, "Why not?\n\nBecause I like water more.");
    assert_eq!(given, "violated");
    assert!(evidence.contains("\"number\":2"), "{evidence}");
}
