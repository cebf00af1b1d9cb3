//! The evidence of a verdict.

use std::collections::BTreeSet;

use assay_core::Evidence;
use serde_json::json;

use crate::select::Selection;

/// The selected labels, how they were recognised, the text with its position, and the right labels.
pub(crate) fn of(
    selection: &Selection,
    labels: &[String],
    right: &BTreeSet<usize>,
    order: Option<&[usize]>,
) -> Evidence {
    let of = |options: &BTreeSet<usize>| -> Vec<&str> {
        options
            .iter()
            .map(|option| labels[*option].as_str())
            .collect()
    };
    let evidence = Evidence::new()
        .text("extracted", &selection.text)
        .value("span", json!([selection.span.0, selection.span.1]))
        .text("extraction", selection.extraction.as_str())
        .value("selected", json!(of(&selection.options)))
        .text("by", selection.by)
        .value("answer", json!(of(right)));
    match order {
        Some(order) => evidence.value("order", json!(order)),
        None => evidence,
    }
}
