//! `sql`: the gold is written in a fenced block. The mutant is the gold without its rows.
//! Variations change one token of the gold.

use assay_core::Completion;
use serde_json::Value;

use super::probe::{Probe, Prober, Purpose, fenced};
use super::token_changes::{TokenChange, change_tokens};
use crate::subject::Subject;

pub(super) const PROBER: Prober = Prober {
    name: "sql",
    gold: &["gold"],
    golds: |subject| {
        golds(subject)
            .into_iter()
            .map(|gold| vec![completion(gold)])
            .collect()
    },
    solution: completion,
    requires_answer: |_| true,
    wrong_completions,
};

const CHANGES: &[TokenChange] = &[
    TokenChange::new("<>", "=", "`<>` to `=`"),
    TokenChange::new("!=", "=", "`!=` to `=`"),
    TokenChange::new(">=", "<", "`>=` to `<`"),
    TokenChange::new("<=", ">", "`<=` to `>`"),
    TokenChange::new(" > ", " <= ", "`>` to `<=`"),
    TokenChange::new(" < ", " >= ", "`<` to `>=`"),
    TokenChange::new(" = ", " <> ", "`=` to `<>`"),
    TokenChange::new("max(", "min(", "`max` to `min`"),
    TokenChange::new("min(", "max(", "`min` to `max`"),
    TokenChange::new("desc", "asc", "`desc` to `asc`"),
    TokenChange::new("and", "or", "`and` to `or`"),
    TokenChange::new("in", "not in", "`in` to `not in`"),
];

/// The golds of a task.
pub(crate) fn golds(subject: &Subject) -> Vec<&str> {
    match subject.body.get("gold") {
        Some(Value::String(gold)) => vec![gold],
        Some(Value::Array(golds)) => golds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn completion(query: &str) -> Completion {
    fenced("sql", query)
}

fn wrong_completions(subject: &Subject) -> Vec<Probe> {
    let golds = golds(subject);
    let Some(gold) = golds.first() else {
        return Vec::new();
    };
    let gold = gold.trim().trim_end_matches(';');
    let without_rows = format!("select * from (\n{gold}\n) as gold where 1 = 0");
    let mut probes = vec![Probe::new(
        Purpose::Mutant("the gold without its rows"),
        completion(&without_rows),
    )];
    let changed = change_tokens(gold, CHANGES, "--");
    probes.extend(
        changed
            .into_iter()
            .map(|(change, query)| Probe::new(Purpose::Variation(change), completion(&query))),
    );
    probes
}
