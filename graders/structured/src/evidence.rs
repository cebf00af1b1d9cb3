//! The evidence of a verdict.

use assay_core::Evidence;
use assay_documents::schema::Violation;
use assay_documents::{Json, SyntaxError};
use serde_json::{Value, json};

use crate::compare::{Difference, Expected};
use crate::extract::Found;
use crate::formats::Format;
use crate::source::line_and_column;

/// Most places that are listed.
const DIFFERENCES: usize = 20;

/// What is known before the document is parsed.
pub(crate) fn of_document(format: Format, found: &Found<'_>) -> Evidence {
    let span = found.source.span();
    Evidence::new()
        .text("document", found.source.text())
        .value("span", vec![span.start as u64, span.end as u64])
        .text("extraction", found.rule)
        .text("format", format.name())
}

/// Where and why a text is malformed; byte, line and
/// column are positions in the completion.
pub(crate) fn with_break(
    evidence: Evidence,
    broken: &SyntaxError,
    found: &Found<'_>,
    completion: &str,
) -> Evidence {
    let at = found.source.at(broken.at.min(found.source.text().len()));
    let (line, column) = line_and_column(completion, at);
    evidence
        .text("reason", &broken.reason)
        .value("at", at)
        .value("line", line)
        .value("column", column)
}

/// Where and why a document violates its schema.
pub(crate) fn with_violation(evidence: Evidence, violation: &Violation) -> Evidence {
    /// Longest place or reason, in characters.
    const LENGTH: usize = 1_000;
    let cut = |text: &str| text.chars().take(LENGTH).collect::<String>();
    let Violation {
        pointer,
        keyword,
        reason,
    } = violation;
    evidence.value(
        "violation",
        json!({"place": cut(pointer), "keyword": cut(keyword), "reason": cut(reason)}),
    )
}

/// The differences of a document from the expected one.
pub(crate) fn with_differences(
    evidence: Evidence,
    expected: &Expected,
    document: &Json,
) -> Evidence {
    let describe = |difference: Difference| {
        let mut entry = json!({"place": difference.place});
        for (name, value) in [("expected", difference.expected), ("got", difference.got)] {
            if let Some(value) = value {
                entry[name] = Value::String(value);
            }
        }
        entry
    };
    let differences = expected
        .differences(document, DIFFERENCES)
        .into_iter()
        .map(describe)
        .collect::<Value>();
    evidence.value("differences", differences)
}
