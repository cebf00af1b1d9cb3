//! Defects of a request that do not cause its rejection.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A defect of a request that did not cause its rejection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// JSON pointer to the field.
    #[schema(example = "/items/0/foo")]
    pub pointer: String,
    /// Stable code: `unknown_field` or `lone_surrogate`.
    #[schema(example = "unknown_field")]
    pub code: String,
    /// What is wrong and how the service handled it.
    pub message: String,
}

/// Maximum number of listed warnings of one kind; a thousand items with the same unknown field
/// cause a thousand equal warnings.
pub(crate) const MAX_WARNINGS: usize = 20;

/// Maximum length of the pointer of a warning, in bytes: keys can have any length.
pub(crate) const MAX_POINTER_BYTES: usize = 1_024;
