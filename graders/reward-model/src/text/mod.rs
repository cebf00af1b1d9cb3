//! Converts model inputs to token sequences: templates and tokenisation. Owns no weights and runs
//! no model.
//!
//! Token ids equal those of `transformers` for the same files, including special tokens in texts:
//! `<|im_end|>` in a text becomes that token, as in trainers. Preventing a policy model from ending
//! its own turn is the task of the sampler or of a check. A reader that did so would produce tokens
//! on which the reward model was not trained. There is one intended difference: a text that starts
//! with a beginning-of-sequence token does not get a second one.

mod error;
#[cfg(test)]
mod fixture;
mod json;
mod prompt_marks;
mod reader;
mod rendered;
mod rollout;
mod steps;
mod template;
#[cfg(test)]
mod tests;
mod tokenizer;
mod tokenizer_config;
mod truncate;
mod truncated;

use std::ops::Range;

use assay_core::Completion;
use assay_core::reward_model::Refusal;

use crate::options::ModelOptions;

pub use error::{InputKind, InputReaderError, ModelProperties};
pub use reader::InputReader;
pub use steps::StepMarkers;

/// A rendered rollout, and the byte ranges that come from the prompt if the template keeps them.
pub type Rendered = (String, Option<Vec<Range<usize>>>);

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
