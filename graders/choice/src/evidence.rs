//! The evidence of a verdict.

use assay_core::Evidence;
use serde_json::json;

use crate::grade::PreparedChoice;
use crate::select::Selection;

/// The selected labels, how they were recognised, the text with its position, and the right labels.
pub(crate) fn of(task: &PreparedChoice, selection: &Selection) -> Evidence {
    let labels = |options: &std::collections::BTreeSet<usize>| -> Vec<&str> {
        options.iter().map(|option| task.shown.labels[*option].as_str()).collect()
    };
    let evidence = Evidence::new()
        .text("extracted", &selection.text)
        .value("span", json!([selection.span.0, selection.span.1]))
        .text("extraction", selection.extraction.as_str())
        .value("selected", json!(labels(&selection.options)))
        .text("by", selection.by)
        .value("answer", json!(labels(&task.right)));
    match &task.order {
        Some(order) => evidence.value("order", json!(order)),
        None => evidence,
    }
}
