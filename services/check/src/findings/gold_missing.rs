//! `gold-missing`: the gold is what programs write where a value is missing.

use super::{Code, Severity, Sink};
use crate::examined::{Examined, shown};

pub(super) const CODE: Code = Code {
    name: "gold-missing",
    severity: Severity::Warning,
    title: "the gold looks like a missing value",
};

/// How missing values are written, letter by letter: in small letters `none` and `null` may be
/// answers.
const MISSING: &[&str] = &[
    "nan", "NaN", "NAN", "None", "NULL", "Null", "N/A", "n/a", "#N/A", "<NA>", "NaT",
];

/// Whether a gold of mathematics is a missing value.
pub(super) fn applies(gold: &str) -> bool {
    MISSING.contains(&gold.trim())
}

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    let (Some("math"), Ok(subject)) = (row.kind(), &row.made) else {
        return;
    };
    if let Some(gold) = subject
        .body
        .get("answer")
        .and_then(serde_json::Value::as_str)
        .filter(|gold| applies(gold))
    {
        let message = format!(
            "the gold is `{}`, which is how a missing value is written",
            shown(gold)
        );
        sink.tell(&CODE, &row.place, &row.key, message);
    }
}
