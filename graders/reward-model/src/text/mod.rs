//! Converts model inputs to token sequences: templates and tokenisation. Owns no weights and runs
//! no model.
//!
//! Token ids equal those of `transformers` for the same files, including special tokens in texts:
//! `<|im_end|>` in a text becomes that token, as in trainers. Preventing a policy model from ending
//! its own turn is the task of the sampler or of a check. A reader that did so would produce tokens
//! on which the reward model was not trained. There is one intended difference: a text that starts
//! with a beginning-of-sequence token does not get a second one.

mod config;
mod json;
mod marks;
mod reader;
mod rollout;
mod steps;
mod template;
mod tokenizer;
mod truncate;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use reader::Reader;
pub use steps::Steps;

use assay_core::Completion;
use assay_core::reward_model::Refusal;

use crate::fuzzing::Rendered;
use crate::options::ModelOptions;
use crate::pooling::Pooling;

/// How a model reads a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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
pub struct Facts {
    /// How the model reads rollouts.
    pub kind: Kind,
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
#[error("{place}: {problem}")]
pub struct ReaderError {
    place: &'static str,
    problem: String,
}

impl ReaderError {
    fn new(place: &'static str, problem: impl Into<String>) -> Self {
        Self {
            place,
            problem: problem.into(),
        }
    }
}

/// Renders a rollout with a chat template but without a tokenizer, for [`crate::fuzzing`].
pub(crate) fn render(
    template: &str,
    prompt: &Completion,
    completion: &Completion,
) -> Result<Result<Rendered, Refusal>, ReaderError> {
    let config = config::TokenizerConfig {
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
