//! `sql`: the gold is written in a fenced block. The mutant is the gold without its rows.
//! Variations change one token of the gold.

use super::probe::{Probe, Prober, Purpose, fenced};
use super::token_changes::{TokenChange, change_tokens};
use crate::subject::Subject;
use assay_core::Completion;

pub(super) const PROBER: Prober = Prober {
    name: "sql",
    gold: &["gold"],
    golds: |subject| {
        subject
            .texts("gold")
            .into_iter()
            .map(|gold| vec![completion(gold)])
            .collect()
    },
    solution: completion,
    wrong_completions,
    tries_prompt: |_| false,
    ..Prober::BASE
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
    TokenChange::new(
        "select distinct ",
        "select ",
        "`select distinct` to `select`",
    ),
    TokenChange::new("sum(", "count(", "`sum` to `count`"),
    TokenChange::new("avg(", "sum(", "`avg` to `sum`"),
    TokenChange::new("left join", "join", "`left join` to `join`"),
];

fn completion(query: &str) -> Completion {
    fenced("sql", query)
}

fn wrong_completions(subject: &Subject) -> Vec<Probe> {
    let golds = subject.texts("gold");
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
