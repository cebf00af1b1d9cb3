//! Why an input cannot be read, and what the reader knows of the model.

use crate::pooling::Pooling;

/// How a model reads a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Rendered by a template, scored at the rows of the pooling.
    Rollout,
    /// Rendered by a template, scored at the token after each step of the completion.
    Steps,
    /// Encoded as a pair of prompt and completion.
    Pair,
    /// Only the completion. A reference is embedded as a separate sequence.
    Embedding,
}

/// The reader cannot be opened: the file, option or template at fault, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {problem}")]
pub struct InputReaderError {
    location: &'static str,
    problem: String,
}

impl InputReaderError {
    pub(super) fn new(location: &'static str, problem: impl Into<String>) -> Self {
        Self {
            location,
            problem: problem.into(),
        }
    }
}

/// Properties of a model, from its configuration and tensors, that the reader needs.
#[derive(Debug, Clone, Copy)]
pub struct ModelProperties {
    /// How the model reads rollouts.
    pub kind: InputKind,
    /// Default pooling, used unless options declare another.
    pub pooling: Pooling,
    /// Id of the padding token according to the configuration. `None` uses that of the tokenizer.
    pub pad: Option<u32>,
    /// Maximum sequence length in tokens.
    pub max_tokens: usize,
    /// Size of the vocabulary. Ids must be below it.
    pub vocabulary: usize,
}
