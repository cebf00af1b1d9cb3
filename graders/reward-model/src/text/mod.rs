//! From what a model is asked to what it reads: texts, templates and tokens. Owns no weights and
//! runs nothing.
//!
//! Token ids are those of `transformers` for the same files, special tokens inside of texts
//! included: a text that spells `<|im_end|>` becomes that token, as it does in the trainers whose
//! rewards these are. A policy that must not end its own turn is kept from it by the sampler or by
//! a check, not by a reader that would then read other tokens than the model was trained on. One
//! thing is different by intent: a text that brings its own token of beginning does not get a
//! second one.

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
mod laws;

pub use reader::Reader;
pub use steps::Steps;

use assay_core::Completion;
use assay_core::reward_model::Refusal;

use crate::fuzzing::Rendered;
use crate::options::ModelOptions;
use crate::pooling::Pooling;

/// How a model reads rollouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As one text by a template, judged at the rows of the pooling.
    Rollout,
    /// As one text by a template, judged at the token after each step of the completion.
    Steps,
    /// As a pair of prompt and completion.
    Pair,
    /// The completion alone; a reference is embedded by a sequence of its own.
    Embedding,
}

/// What a model's configuration and tensors tell about its texts.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// How it reads rollouts.
    pub kind: Kind,
    /// The rows its head reads where options declare no other.
    pub pooling: Pooling,
    /// Id of the padding token, where the configuration has one; the tokenizer is asked otherwise.
    pub pad: Option<u32>,
    /// Most tokens it reads.
    pub max_tokens: usize,
    /// Rows of its embedding table: ids go up to there.
    pub vocabulary: usize,
}

/// Why texts cannot be read: the file, option or template at fault, and what is wrong with it.
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
