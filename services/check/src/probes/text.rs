//! `text`: the gold is the completion, unless it is a pattern. Mutants are other words.

use assay_core::Completion;

use super::probe::{Probe, Prober, Purpose, plain};
use crate::subject::Subject;

pub(super) const PROBER: Prober = Prober {
    name: "text",
    gold: &["answer"],
    golds: |subject| {
        let golds = subject.texts("answer");
        // Patterns are not written as texts that they match, and texts with limits may need other
        // words.
        if is_pattern(subject) || subject.body.contains_key("words") {
            return Vec::new();
        }
        if subject.text("require") == Some("all") {
            return vec![vec![written(subject, &golds.join("\n"))]];
        }
        golds
            .into_iter()
            .map(|gold| vec![written(subject, gold)])
            .collect()
    },
    variants: |subject| match (is_pattern(subject), subject.texts("answer").as_slice()) {
        (false, [gold]) => variants(subject, gold),
        _ => Vec::new(),
    },
    wrong_completions: |_| {
        vec![
            Probe::new(Purpose::Mutant("words without a meaning"), plain(NONSENSE)),
            Probe::new(Purpose::Mutant("a number"), plain("918273645")),
        ]
    },
    rejects_other_answers: true,
    ..Prober::BASE
};

/// Words that answer no question.
const NONSENSE: &str = "qwxv zzkqj\nvvqxz";

/// The answer as the task expects to find it.
fn written(subject: &Subject, answer: &str) -> Completion {
    if subject.text("extract") == Some("auto") {
        plain(&format!("<answer>{answer}</answer>"))
    } else {
        plain(answer)
    }
}

fn is_pattern(subject: &Subject) -> bool {
    subject.text("match") == Some("pattern")
}

/// The gold without quotes around it or a full stop after it, which are rarely meant.
fn variants(subject: &Subject, gold: &str) -> Vec<(&'static str, Completion)> {
    let trimmed = gold.trim();
    let without_quotes = trimmed
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .filter(|rest| !rest.contains('"'));
    let without_stop = trimmed
        .strip_suffix('.')
        .filter(|rest| !rest.contains(['.', ' ', '\n']));
    let variants = [
        ("the gold without quotes", without_quotes),
        ("the gold without its full stop", without_stop),
    ];
    variants
        .into_iter()
        .filter_map(|(form, variant)| {
            let variant = variant.filter(|text| !text.is_empty())?;
            Some((form, written(subject, variant)))
        })
        .collect()
}
