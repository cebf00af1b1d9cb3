//! The evidence of a verdict.

use assay_core::Evidence;
use assay_extraction::Extracted;
use serde_json::json;

use crate::matching::Comparison;
use crate::task::{Match, TextTask};

/// The compared text with its position, the deciding gold (the first one if none decides), how
/// they were compared, its similarity if that is fuzzy, the rejected text that it matches, and its
/// number of words.
pub(crate) fn of(
    task: &TextTask,
    found: &Extracted<'_>,
    comparison: &Comparison,
    declines: bool,
) -> Evidence {
    let evidence = Evidence::new()
        .text("extracted", &found.text)
        .value("span", json!([found.span.start, found.span.end]))
        .text("extraction", found.rule.as_str());
    let evidence = match task.golds.get(comparison.gold.unwrap_or(0)) {
        Some(gold) => evidence.text("gold", gold),
        None => evidence,
    };
    let evidence = evidence.text(
        "rule",
        if declines {
            "unanswerable"
        } else {
            task.by.as_str()
        },
    );
    let evidence = match task.by {
        Match::Fuzzy => evidence.value("similarity", json!(comparison.similarity)),
        _ => evidence,
    };
    let evidence = match comparison.rejected {
        Some(at) => evidence.text("rejected", &task.rejected[at]),
        None => evidence,
    };
    match comparison.words {
        Some(words) => evidence.value("words", json!(words)),
        None => evidence,
    }
}
