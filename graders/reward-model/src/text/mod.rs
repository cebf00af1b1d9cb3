//! Converts model inputs to token sequences: templates and tokenisation. Owns no weights and runs
//! no model.
//!
//! Token ids equal those of `transformers` for the same files, including special tokens in texts:
//! `<|im_end|>` in a text becomes that token, as in trainers. Preventing a policy model from ending
//! its own turn is the task of the sampler or of a check. A reader that did so would produce tokens
//! on which the reward model was not trained. There is one intended difference: a text that starts
//! with a beginning-of-sequence token does not get a second one.

mod json;
mod prompt_marks;
mod reader;
mod rollout;
mod steps;
mod template;
mod tokenizer;
mod tokenizer_config;
mod truncate;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use reader::InputReader;
pub use steps::StepMarkers;

use assay_core::Completion;
use assay_core::reward_model::Refusal;

use crate::fuzzing::Rendered;
use crate::options::ModelOptions;
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

/// The reader cannot be opened: the file, option or template at fault, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {problem}")]
pub struct InputReaderError {
    location: &'static str,
    problem: String,
}

impl InputReaderError {
    fn new(location: &'static str, problem: impl Into<String>) -> Self {
        Self {
            location,
            problem: problem.into(),
        }
    }
}

/// Renders a rollout with a chat template but without a tokenizer, for [`crate::fuzzing`].
pub(crate) fn render(
    template: &str,
    prompt: &Completion,
    completion: &Completion,
) -> Result<Result<Rendered, Refusal>, InputReaderError> {
    let config = tokenizer_config::TokenizerConfig {
        chat_template: Some(template.to_owned()),
        ..Default::default()
    };
    let renderer = rollout::Renderer::open(&ModelOptions::default(), &config)?;
    let rollout = rollout::Rollout {
        prompt: Some(prompt),
        completion,
        reference: None,
    };
    Ok(renderer.render(&rollout).map(|text| {
        let spans = renderer.prompt_spans(&rollout, &text);
        (text, spans)
    }))
}
