//! `gold-missing`: the gold is a text that programs write for a missing value.

use super::Sink;
use super::code::{Code, Severity};
use crate::graded_row::{GradedRow, excerpt};

pub(super) const CODE: Code = Code {
    name: "gold-missing",
    severity: Severity::Warning,
    title: "the gold looks like a missing value",
    found: "\
The gold of a `math` task is a text that programs write for a missing value, such as `nan`, `None`,
`NULL`, `N/A`, `<NA>` or `NaT`.",
    why: "\
The grader takes the text as the answer. Right rollouts are graded as wrong, and a rollout that
contains the text may be graded as right.",
    remedy: "\
Add the answer or drop the row, and check how the column was converted: missing values are rarely
alone. If the text is the answer, add the finding to a baseline.",
    example: Some(
        "\
```text
{\"answer\": \"nan\"}
```",
    ),
};

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
