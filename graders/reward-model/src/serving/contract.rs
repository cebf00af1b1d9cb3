//! What serving asks of a model and of whoever loads it. Serving knows nothing else of them: no
//! tensor, no tokenizer, no file.

use std::sync::Arc;

use assay_core::reward_model::{ModelInfo, ModelInput, Readout, Refusal, Truncate};

use crate::{ModelOptions, Sequence};

/// What a model reads for one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The input itself.
    pub main: Sequence,
    /// What it is compared with, for models that read that apart: the reference of a cosine, or of
    /// a relative score.
    pub reference: Option<Sequence>,
}

/// What a model makes of a readout.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Judged {
    /// The one number that stands for it, on the model's scale.
    pub raw: Option<f32>,
    /// `raw` under the model's normalisation, 0 to 1.
    pub score: Option<f64>,
}

/// Why a batch gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The device has no memory for so many tokens at once. Fewer may do.
    #[error("the device is out of memory")]
    OutOfMemory,
    /// Anything else, in words.
    #[error("{0}")]
    Device(String),
}

/// A model in memory. It never changes: replacing one means another of them.
///
/// Its promise, on which batching and the cache rest: a readout depends on its own sequence and on
/// nothing else, not on what shares the batch, nor on the place in it.
pub trait Model: Send + Sync + 'static {
    /// What is told of it.
    fn info(&self) -> &Arc<ModelInfo>;

    /// Renders and tokenises an input. Called on threads that may block, of several inputs at once.
    ///
    /// # Errors
    /// Why the model does not read it. A reading that is given is never longer than the model
    /// reads, nor empty.
    fn read(&self, input: &ModelInput, truncate: Truncate) -> Result<Reading, Refusal>;

    /// Runs sequences through the model: a readout for each, in their order. Only ever called on
    /// the thread of the device.
    ///
    /// # Errors
    /// [`RunError`]. A panic costs no more than an error.
    fn run(&self, batch: &[&Sequence]) -> Result<Vec<Readout>, RunError>;

    /// Makes a number of the readout of an input, and of its reference's where [`Model::read`] gave
    /// one.
    fn judge(&self, readout: &Readout, reference: Option<&Readout>) -> Judged;

    /// Sequences that are run before the model answers anyone, in batches as those of requests are:
    /// they pay for what is made at first use, and prove that the memory is enough. `batch_tokens`
    /// is the budget of a batch.
    fn warm_up(&self, batch_tokens: usize) -> Vec<Sequence> {
        let _ = batch_tokens;
        Vec::new()
    }
}

/// Whoever makes models out of files.
pub trait Loader: Send + Sync + 'static {
    /// Loads a model. Called on a thread of its own, which may block for as long as it takes.
    ///
    /// # Errors
    /// What is wrong with the source or the options, and what to do about it.
    fn load(
        &self,
        name: &str,
        source: &str,
        options: &ModelOptions,
    ) -> Result<Arc<dyn Model>, String>;
}
