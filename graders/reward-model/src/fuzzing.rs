//! Entry point of the fuzz target of chat templates. Not part of the API.

use std::ops::Range;

use assay_core::Completion;
use assay_core::reward_model::Refusal;

use crate::ReaderError;

/// A rendered rollout and the parts of it that are the prompt's, where the template keeps them.
pub type Rendered = (String, Option<Vec<Range<usize>>>);

/// Renders a rollout by a tokenizer's chat template.
///
/// # Errors
/// The template cannot be compiled; or it refuses the rollout.
pub fn render(
    template: &str,
    prompt: &Completion,
    completion: &Completion,
) -> Result<Result<Rendered, Refusal>, ReaderError> {
    crate::text::render(template, prompt, completion)
}
