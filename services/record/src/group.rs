//! The result of a group, which replies show and the record does not keep.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// One group of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = GroupBody)]
pub struct GroupResult {
    /// Name of the group; null for an item that was sent without a group.
    pub group: Option<String>,
    /// Key of the prompt's history, for `POST /v1/prompts/suggest`.
    pub prompt_key: Option<String>,
    /// Number of members.
    pub n: usize,
    /// Of those, graded; the advantages of the others are null.
    pub graded: usize,
    /// Mean reward of the graded members; null if there are none.
    pub mean: Option<f64>,
    /// The requested statistics, by name.
    #[schema(value_type = Object)]
    pub statistics: Map<String, Value>,
}
