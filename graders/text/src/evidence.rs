//! The evidence of a verdict.

use assay_core::Evidence;
use assay_extraction::Extracted;
use serde_json::json;

use crate::task::TextTask;

/// The compared text with its position, the gold that it matches (the first one if none), and how
/// they were compared.
pub(crate) fn of(task: &TextTask, found: &Extracted<'_>, gold: Option<usize>) -> Evidence {
    Evidence::new()
        .text("extracted", &found.text)
        .value("span", json!([found.span.start, found.span.end]))
        .text("extraction", found.rule.as_str())
        .text("gold", &task.golds[gold.unwrap_or(0)])
        .text("rule", task.by.as_str())
}
