//! `text`: the gold is the completion, unless it is a pattern. Mutants are other words.

use super::probe::{Probe, Prober, Purpose, plain};
use crate::subject::Subject;

pub(super) const PROBER: Prober = Prober {
    name: "text",
    gold: &["answer"],
    golds: |subject| {
        // Patterns are not written as texts that they match.
        if is_pattern(subject) {
            return Vec::new();
        }
        if subject.text("require") == Some("all") {
            return vec![vec![plain(&subject.texts("answer").join("\n"))]];
        }
        subject
            .texts("answer")
            .into_iter()
            .map(|gold| vec![plain(gold)])
            .collect()
    },
    variants: |subject| match (is_pattern(subject), subject.texts("answer").as_slice()) {
        (false, [gold]) => variants(gold),
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

fn is_pattern(subject: &Subject) -> bool {
    subject.text("match") == Some("pattern")
}

/// The gold without quotes around it or a full stop after it, which are rarely meant.
fn variants(gold: &str) -> Vec<(&'static str, assay_core::Completion)> {
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
        .filter_map(|(form, variant)| Some((form, plain(variant.filter(|text| !text.is_empty())?))))
        .collect()
}
