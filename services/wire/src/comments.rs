//! JSON types for comments on grades.

use assay_record::comment::Comment;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A comment on a grade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommentBody {
    /// Id of the comment.
    pub id: String,
    /// Text; empty for a comment that has only labels.
    pub text: String,
    /// Labels, sorted.
    pub labels: Vec<String>,
    /// Caller that wrote the comment.
    pub caller: String,
    /// Time, in microseconds since the Unix epoch.
    pub time_us: i64,
}

impl From<Comment> for CommentBody {
    fn from(comment: Comment) -> Self {
        Self {
            id: comment.id.to_string(),
            text: comment.text,
            labels: comment.labels,
            caller: comment.caller,
            time_us: comment.time_us,
        }
    }
}

/// A comment to store. It has a text, labels, or both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CommentRequest {
    /// Text.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub text: String,
    /// Labels, at most 64 bytes of `a` to `z`, `0` to `9`, `.`, `_` and `-` each.
    #[serde(default)]
    #[schema(max_items = 8)]
    pub labels: Vec<String>,
}
