//! Comments and labels of operators on grades.

use assay_core::{BatchId, GradeId};
use serde::{Deserialize, Serialize};

/// Maximum number of comments on a grade.
pub const MAX_COMMENTS: usize = 100;

/// Maximum length of the text of a comment, in bytes.
pub const MAX_COMMENT_BYTES: usize = 4_096;

/// Maximum number of labels of a comment.
pub const MAX_LABELS: usize = 8;

/// Maximum length of a label, in bytes.
pub const MAX_LABEL_BYTES: usize = 64;

/// A comment on a grade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Id of the comment. One that is recorded twice is stored once.
    pub id: BatchId,
    /// The grade.
    pub grade: GradeId,
    /// Text; may be empty if there are labels.
    pub text: String,
    /// Labels, sorted and distinct, of `a` to `z`, `0` to `9`, `.`, `_` and `-`.
    pub labels: Vec<String>,
    /// Name of its author.
    pub caller: String,
    /// Time, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// Whether a text is a label.
#[must_use]
pub fn is_label(text: &str) -> bool {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
    (1..=MAX_LABEL_BYTES).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_few_characters() {
        assert!(is_label("gold.wrong_2-a") && is_label(&"x".repeat(MAX_LABEL_BYTES)));
        for text in ["", "A", "a b", "a,b", "é", &"x".repeat(MAX_LABEL_BYTES + 1)] {
            assert!(!is_label(text), "{text}");
        }
    }
}
