//! `gold-missing`: the gold is a text that programs write for a missing value.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::{GradedRow, excerpt};

pub(super) const CODE: Code = code!("gold-missing", Warning);

/// Texts for missing values, case-sensitive: in lower case, `none` and `null` may be answers.
const MISSING: &[&str] = &[
    "nan", "NaN", "NAN", "None", "NULL", "Null", "N/A", "n/a", "#N/A", "<NA>", "NaT",
];

/// Whether a `math` gold is a missing value.
pub(super) fn applies(gold: &str) -> bool {
    MISSING.contains(&gold.trim())
}

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some("math"), Ok(subject)) = (row.kind(), &row.subject) else {
        return;
    };
    if let Some(gold) = subject
        .body
        .get("answer")
        .and_then(serde_json::Value::as_str)
        .filter(|gold| applies(gold))
    {
        let message = format!(
            "the gold is `{}`, which often means a missing value; correct or drop the row",
            excerpt(gold)
        );
        sink.add(&CODE, &row.location, &row.key, message);
    }
}
