//! Entry point for the fuzz target for chat templates. Not part of the API.

use assay_core::Completion;
use assay_core::reward_model::Refusal;

use crate::InputReaderError;
pub use crate::text::Rendered;

/// Renders a rollout with a tokenizer's chat template.
///
/// # Errors
/// The outer error: the template cannot be compiled. The inner error: the template rejects the
/// rollout.
pub fn render(
    template: &str,
    prompt: &Completion,
    completion: &Completion,
) -> Result<Result<Rendered, Refusal>, InputReaderError> {
    crate::text::render(template, prompt, completion)
}
