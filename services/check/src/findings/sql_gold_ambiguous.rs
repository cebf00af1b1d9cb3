//! `sql-gold-ambiguous`: the rows of a gold query are left to chance, or it selects whatever columns there are.

use assay_core::Fault;
use serde_json::Value;

use super::{Code, Severity, Sink};
use crate::examined::Examined;
use crate::subject::Subject;

pub(super) const CODE: Code =
    Code { name: "sql-gold-ambiguous", severity: Severity::Error, title: "the gold query does not say what it gives" };

/// What the grader says of a gold whose rows change when nothing that it asks for does.
const CHANCE: &str = "left to chance";

pub(super) fn applies(kind: &str, fault: &Fault) -> bool {
    kind == "sql" && fault.message.contains(CHANCE)
}

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    let (Ok(subject), Some("sql")) = (&row.made, row.kind()) else { return };
    if let Some(fault) = row.fault() {
        if applies("sql", fault) {
            sink.tell(&CODE, &row.place, &row.key, fault.message.clone());
        }
        return;
    }
    for gold in golds(subject) {
        let words: Vec<String> = gold.to_ascii_lowercase().split_whitespace().map(str::to_owned).collect();
        let has = |word: &str| words.iter().any(|other| other == word);
        if has("limit") && !has("order") {
            let message =
                "the gold has a LIMIT and no ORDER BY: which rows it gives is left to the database; order it fully";
            sink.tell(&CODE, &row.place, &row.key, message.to_owned());
            return;
        }
    }
}

fn golds(subject: &Subject) -> impl Iterator<Item = &str> {
    let gold = subject.body.get("gold");
    let one = gold.and_then(Value::as_str);
    one.into_iter().chain(gold.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str))
}
