//! What of a batch is kept in the record: which bodies are stored, and which texts are replaced
//! before anything is stored. What is graded and the reply do not change.

mod bodies;
mod json_strings;
mod redaction;
pub(crate) mod texts;

pub use bodies::BodyPolicy;
pub use redaction::{Redaction, RedactionError, Redactor};

/// What is kept of a batch.
#[derive(Debug, Clone, Default)]
pub struct Keeping {
    /// Which bodies are stored.
    pub bodies: BodyPolicy,
    /// Which texts are replaced.
    pub redactor: Redactor,
}
