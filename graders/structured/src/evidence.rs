//! The evidence of a verdict.

use assay_base::truncated;
use assay_core::Evidence;
use assay_documents::schema::Violation;
use assay_documents::{Json, SyntaxError};
use serde_json::{Value, json};

use crate::compare::{Difference, Expected};
use crate::extract::Candidate;
use crate::formats::Format;
use crate::source::line_and_column;

/// Maximum number of differences that are listed.
const MAX_DIFFERENCES: usize = 20;

/// The evidence that is known before the document is parsed.
pub(crate) fn of_document(format: Format, candidate: &Candidate<'_>) -> Evidence {
    let span = candidate.source.span();
    Evidence::new()
        .text("document", candidate.source.text())
        .value("span", vec![span.start as u64, span.end as u64])
        .text("extraction", candidate.rule)
        .text("format", format.name())
}

/// Adds where and why a text is malformed. Byte, line and column are positions in the completion.
pub(crate) fn with_syntax_error(
    evidence: Evidence,
    error: &SyntaxError,
    candidate: &Candidate<'_>,
    completion: &str,
) -> Evidence {
    let at = candidate
        .source
        .at(error.at.min(candidate.source.text().len()));
    let (line, column) = line_and_column(completion, at);
    evidence
        .text("reason", &error.reason)
        .value("at", at)
        .value("line", line)
        .value("column", column)
}

/// Adds where and why a document violates its schema.
pub(crate) fn with_violation(evidence: Evidence, violation: &Violation) -> Evidence {
    /// Maximum length of a pointer or a reason, in characters.
    const MAX_LENGTH: usize = 1_000;
    let Violation {
        pointer,
        keyword,
        reason,
    } = violation;
    evidence.value(
        "violation",
        json!({
            "place": truncated(pointer, MAX_LENGTH),
            "keyword": truncated(keyword, MAX_LENGTH),
            "reason": truncated(reason, MAX_LENGTH),
        }),
    )
}

/// Adds the differences of a document from the expected value.
pub(crate) fn with_differences(
    evidence: Evidence,
    expected: &Expected,
    document: &Json,
) -> Evidence {
    let describe = |difference: Difference| {
        let mut entry = json!({"place": difference.pointer});
        for (name, value) in [("expected", difference.expected), ("got", difference.got)] {
            if let Some(value) = value {
                entry[name] = Value::String(value);
            }
        }
        entry
    };
    let differences = expected
        .differences(document, MAX_DIFFERENCES)
        .into_iter()
        .map(describe)
        .collect::<Value>();
    evidence.value("differences", differences)
}
