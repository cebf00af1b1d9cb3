//! Evidence of a comparison, for people.

use assay_core::Evidence;
use assay_extraction::Extracted;

use crate::compare::Comparison;

/// The evidence of one comparison.
pub(crate) fn of(extracted: &Extracted<'_>, gold: &str, comparison: &Comparison) -> Evidence {
    let mut evidence = Evidence::new()
        .text("extracted", &extracted.text)
        .value(
            "span",
            vec![extracted.span.start as u64, extracted.span.end as u64],
        )
        .text("extraction", extracted.rule.as_str())
        .text("gold", gold)
        .text("rule", comparison.rule.as_str())
        .value("steps", comparison.steps);
    for (name, normal) in [
        ("gold_normal", &comparison.gold_normal),
        ("answer_normal", &comparison.answer_normal),
    ] {
        if let Some(normal) = normal {
            evidence = evidence.text(name, normal);
        }
    }
    evidence
}
