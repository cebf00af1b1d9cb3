//! Choices in 60 phrasings and ten languages, and texts that choose nothing.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::sync::Arc;

use assay_choice::ChoiceGrader;
use assay_core::{GradeContext, GraderTable, Item, Outcome, PrepareContext, Prepared, Task};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Phrasing {
    language: String,
    says: String,
}

/// Questions with the position of the right option.
const QUESTIONS: &[(&[&str], usize)] = &[
    (&["red", "green", "blue", "yellow"], 1),
    (&["copper wire", "a glass rod", "dry wood", "iron nail"], 3),
    (&["Lima", "Oslo", "Quito", "Cairo", "Dhaka"], 2),
    (&["osmosis", "diffusion", "fermentation", "erosion"], 0),
];

fn phrasings(lines: &str) -> Vec<Phrasing> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn prepared(options: &[&str], right: usize) -> Arc<dyn Prepared> {
    let table = GraderTable::new(vec![Arc::new(ChoiceGrader)]);
    let task = json!({ "type": "choice", "options": options, "answer": letter(right) });
    let task = Task::from_json(&task.to_string()).unwrap();
    table
        .get(&task)
        .unwrap()
        .prepare(&task, &PrepareContext::new(&table))
        .unwrap()
}

fn letter(option: usize) -> String {
    char::from(b'A' + u8::try_from(option).unwrap()).to_string()
}

/// The completion that selects an option, and mentions `other`.
fn completion(says: &str, options: &[&str], chosen: usize, other: usize) -> String {
    says.replace("{L}", &letter(chosen))
        .replace("{O}", &letter(other))
        .replace("{T}", options[chosen])
        .replace("{U}", options[other])
}

fn verdict(task: &dyn Prepared, completion: &str) -> (&'static str, String) {
    let item = Item::text(completion);
    let cx = GradeContext::default();
    let outcome = futures::executor::block_on(task.grade(&[&item], &cx)).remove(0);
    match outcome {
        Outcome::Graded(grade) => (grade.verdict.as_str(), grade.evidence.get().to_owned()),
        other => panic!("{completion}: {other:?}"),
    }
}

#[test]
fn finds_the_choice_in_every_phrasing() {
    let phrasings = phrasings(include_str!("phrasings.jsonl"));
    let languages: std::collections::BTreeSet<&str> = phrasings
        .iter()
        .map(|phrasing| phrasing.language.as_str())
        .collect();
    assert_eq!((phrasings.len(), languages.len()), (60, 11));
    let mut missed = Vec::new();
    let mut total = 0;
    for (options, right) in QUESTIONS {
        let task = prepared(options, *right);
        for phrasing in &phrasings {
            let wrong = (right + 1) % options.len();
            for (chosen, other, expected) in
                [(*right, wrong, "correct"), (wrong, *right, "wrong_answer")]
            {
                let completion = completion(&phrasing.says, options, chosen, other);
                let (given, evidence) = verdict(&*task, &completion);
                total += 1;
                if given != expected {
                    missed.push(format!("{expected} {given}: {completion} {evidence}"));
                }
            }
        }
    }
    assert_eq!(total, 480);
    assert!(
        missed.is_empty(),
        "{} of {total}\n{}",
        missed.len(),
        missed.join("\n")
    );
}

#[test]
fn hedges_denials_and_letters_in_prose_are_no_choice() {
    let mut missed = Vec::new();
    for (options, right) in QUESTIONS {
        let task = prepared(options, *right);
        for phrasing in phrasings(include_str!("refused.jsonl")) {
            let other = (right + 1) % options.len();
            let completion = completion(&phrasing.says, options, *right, other);
            let (given, evidence) = verdict(&*task, &completion);
            if given == "correct" {
                missed.push(format!("{completion} {evidence}"));
            }
        }
    }
    assert!(missed.is_empty(), "{}\n{}", missed.len(), missed.join("\n"));
}

/// A hidden character, a quoted question and a repeated letter do not change what is chosen.
#[test]
fn attacks_do_not_choose() {
    let task = prepared(QUESTIONS[0].0, 1);
    for completion in [
        "A. red\nB. green\nC. blue\nD. yellow",
        "A B C D",
        "(A) (B) (C) (D)",
        "ABCD",
        "The question says: choose A, B, C or D.",
        "\\boxed{A, B, C, D}",
        "\\boxed{A} \\boxed{B}",
        "The answer is A. The answer is B or A.",
        "red green blue yellow",
        "\\boxed{any of them}",
        "The answer is green, red or blue.",
    ] {
        let (given, evidence) = verdict(&*task, completion);
        assert_ne!(given, "correct", "{completion} {evidence}");
    }
}
