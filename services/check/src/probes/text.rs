//! `text`: each gold is written as the answer. Mutants are other words, and the gold among other
//! alternatives if the whole text must match.

use assay_core::Completion;
use serde_json::Value;

use super::probe::{Probe, Prober, Purpose, text};
use crate::subject::Subject;

pub(super) const PROBER: Prober = Prober {
    name: "text",
    gold: &["answer"],
    golds,
    solution: text,
    requires_answer: |_| true,
    wrong_completions,
};

fn field<'s>(subject: &'s Subject, name: &str) -> &'s str {
    subject
        .body
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Golds that can be written: patterns cannot, and texts with limits may need other words.
fn golds(subject: &Subject) -> Vec<Vec<Completion>> {
    let golds: Vec<&str> = match subject.body.get("answer") {
        Some(Value::String(gold)) => vec![gold],
        Some(Value::Array(golds)) => golds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if field(subject, "match") == "pattern" || subject.body.contains_key("words") {
        return Vec::new();
    }
    if field(subject, "require") == "all" {
        return match golds.as_slice() {
            [] => Vec::new(),
            golds => vec![vec![written(subject, &golds.join(" and "))]],
        };
    }
    golds
        .into_iter()
        .map(|gold| vec![written(subject, gold)])
        .collect()
}

fn written(subject: &Subject, answer: &str) -> Completion {
    if field(subject, "extract") == "auto" {
        text(&format!("<answer>{answer}</answer>"))
    } else {
        text(answer)
    }
}

fn wrong_completions(subject: &Subject) -> Vec<Probe> {
    vec![Probe::new(
        Purpose::Mutant("other words"),
        written(subject, "qwv zxj"),
    )]
}
