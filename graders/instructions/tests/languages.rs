//! The languages of sentences, as the rule `language` detects them.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use assay_core::{GradeContext, Grader, GraderTable, Item, Outcome, PrepareContext, Task, Verdict};
use assay_instructions::InstructionsGrader;
use serde::Deserialize;

#[derive(Deserialize)]
struct Sentence {
    language: String,
    text: String,
}

/// The sentences whose language is taken for another one. `docs/graders/instructions.md` states
/// their number.
const MISSED: &[&str] = &[
    "Se si scalda il metallo lentamente, si piega senza rompersi.",
    "Niemand wist wie tijdens de storm het raam open had laten staan.",
    "Metali yavaşça ısıtırsanız kırılmadan bükülür.",
    "Jika logam dipanaskan perlahan, logam itu bisa bengkok tanpa patah.",
];

/// Whether the grader accepts a sentence as one in its language.
fn is_detected(sentence: &Sentence) -> bool {
    let table = GraderTable::new(Vec::new());
    let rule =
        serde_json::json!({ "format": { "name": "language", "language": sentence.language } });
    let task = serde_json::json!({ "type": "instructions", "constraints": [{ "rule": rule }] });
    let task = Task::from_json(&task.to_string()).unwrap();
    let prepared = InstructionsGrader
        .prepare(&task, &PrepareContext::new(&table))
        .unwrap();
    let (item, cx) = (Item::text(&sentence.text), GradeContext::default());
    match futures::executor::block_on(prepared.grade(&[&item], &cx)).remove(0) {
        Outcome::Graded(grade) => grade.verdict == Verdict::CORRECT,
        other => panic!("{other:?}"),
    }
}

#[test]
fn detects_the_languages_of_sentences() {
    let lines = include_str!("languages.jsonl").lines();
    let sentences: Vec<Sentence> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let missed: Vec<&str> = sentences
        .iter()
        .filter(|sentence| !is_detected(sentence))
        .map(|sentence| sentence.text.as_str())
        .collect();
    assert_eq!(sentences.len(), 95);
    assert_eq!(missed, MISSED);
}
