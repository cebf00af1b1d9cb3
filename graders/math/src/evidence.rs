//! Evidence of a comparison, for people.

use assay_core::Evidence;
use assay_extraction::Extracted;
use serde_json::json;

use crate::compare::{Answer, Comparison, Gold};
use crate::options::Options;

/// The evidence of one comparison. That of a wrong answer has how it was read, if that is not
/// obvious, and the first part that differs, if it is not the whole.
pub(crate) fn of(
    extracted: &Extracted<'_>,
    gold: &Gold,
    answer: &Answer<'_>,
    comparison: &Comparison,
    options: &Options,
) -> Evidence {
    let mut evidence = of_extracted(extracted)
        .text("gold", gold.text())
        .text("rule", comparison.rule.as_str())
        .value("steps", comparison.steps);
    let forms = gold.forms(answer, comparison, options);
    for (name, form) in ["gold_normal", "answer_normal"].into_iter().zip(forms) {
        if let Some(form) = form {
            evidence = evidence.text(name, &form);
        }
    }
    if comparison.equal {
        return evidence;
    }
    if let Some(read) = answer.read_as() {
        evidence = evidence.text("read_as", &read);
    }
    if let Some(difference) = gold.difference(answer, options) {
        evidence = evidence.value(
            "difference",
            json!({
                "path": difference.path,
                "gold": difference.gold,
                "answer": difference.answer,
            }),
        );
    }
    evidence
}

/// The evidence of an answer without a gold: its normal form, or its text if it has none.
pub(crate) fn without_gold(extracted: &Extracted<'_>, form: Option<&str>) -> Evidence {
    let text = form.unwrap_or(extracted.text.trim());
    of_extracted(extracted).text("answer_normal", text)
}

fn of_extracted(extracted: &Extracted<'_>) -> Evidence {
    Evidence::new()
        .text("extracted", &extracted.text)
        .value(
            "span",
            vec![extracted.span.start as u64, extracted.span.end as u64],
        )
        .text("extraction", extracted.rule.as_str())
}
