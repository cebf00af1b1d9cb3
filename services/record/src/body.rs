//! Contents that are stored once, under their hash.

use assay_core::Hash;
use serde::{Deserialize, Serialize};

/// The content type of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// A text.
    Text,
    /// A JSON array of messages.
    Messages,
    /// A task's JSON object.
    Task,
    /// A policy's JSON object.
    Policy,
    /// A pair for a reward model: a JSON object.
    Pair,
    /// A report of a dataset check: a JSON object.
    Report,
}

impl BodyKind {
    /// The hash under which a content of this kind is stored.
    #[must_use]
    pub fn hash(self, content: &[u8]) -> Hash {
        match self {
            Self::Text | Self::Task | Self::Policy => Hash::of(content),
            Self::Messages => Hash::of_parts(&[b"messages", content]),
            Self::Pair => Hash::of_parts(&[b"pair", content]),
            Self::Report => Hash::of_parts(&[b"report", content]),
        }
    }
}

/// Content that is stored once under its hash: a completion, a prompt, a task and so on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Hash that identifies the body.
    pub hash: Hash,
    /// Type of the content.
    pub kind: BodyKind,
    /// The content, not compressed.
    pub content: Vec<u8>,
}
