//! Interfaces between serving and models: running a model and loading it. Serving depends on no
//! tensor, tokenizer or file.

use std::sync::Arc;

use assay_core::reward_model::{ModelInfo, ModelInput, ModelOutput, Refusal, Truncate};

use crate::{ModelOptions, Sequence};

/// The tokenised form of one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenisedInput {
    /// The input itself.
    pub main: Sequence,
    /// The reference, for models that read it separately: for a cosine or a relative score.
    pub reference: Option<Sequence>,
}

/// Numbers derived from a readout.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RewardScore {
    /// The raw number on the model's scale.
    pub raw: Option<f32>,
    /// `raw` after the model's normalisation, in [0, 1].
    pub score: Option<f64>,
}

/// Why a batch failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The device has too little memory for the batch. A smaller batch may succeed.
    #[error("the device is out of memory")]
    OutOfMemory,
    /// Any other failure, with its message.
    #[error("{0}")]
    Device(String),
}

/// A model in memory. It is immutable: a replacement is another instance.
///
/// Batching and the cache rely on this guarantee: a readout depends only on its own sequence, not
/// on the other sequences of the batch or on the position in it.
pub trait Model: Send + Sync + 'static {
    /// Public description of the model.
    fn info(&self) -> &Arc<ModelInfo>;

    /// Renders and tokenises an input. Called on threads that may block, concurrently for several
    /// inputs.
    ///
    /// # Errors
    /// Why the model cannot read the input. A returned sequence is never empty and never longer
    /// than the model's maximum.
    fn read(&self, input: &ModelInput, truncate: Truncate) -> Result<TokenisedInput, Refusal>;

    /// Computes the readout of each sequence, in order, on the first device. Only called on the
    /// thread of that device.
    ///
    /// # Errors
    /// [`RunError`]. A panic is treated like an error.
    fn run(&self, batch: &[&Sequence]) -> Result<Vec<ModelOutput>, RunError>;

    /// Like [`Model::run`] on the device with this index, with the same readouts on each. Only
    /// called on the thread of that device.
    ///
    /// # Errors
    /// As [`Model::run`].
    fn run_on(&self, device: usize, batch: &[&Sequence]) -> Result<Vec<ModelOutput>, RunError> {
        let _ = device;
        self.run(batch)
    }

    /// Computes the raw number and the score from the readout of an input, and from that of its
    /// reference if [`Model::read`] returned one.
    fn score(&self, readout: &ModelOutput, reference: Option<&ModelOutput>) -> RewardScore;

    /// Whether sequences of a batch with the same first tokens share the work on them.
    fn shares_prefixes(&self) -> bool {
        false
    }

    /// Sequences that are run on each device, in batches like those of requests, before the model
    /// serves requests. They trigger initialisation at first use and check that there is enough
    /// memory. `batch_tokens` is the token budget of a batch.
    fn warm_up(&self, batch_tokens: usize) -> Vec<Sequence> {
        let _ = batch_tokens;
        Vec::new()
    }
}

/// Loads models from files.
pub trait Loader: Send + Sync + 'static {
    /// Loads a model. Called on a dedicated thread that may block.
    ///
    /// # Errors
    /// What is wrong with the source or the options, and what to do.
    fn load(
        &self,
        name: &str,
        source: &str,
        options: &ModelOptions,
    ) -> Result<Arc<dyn Model>, String>;
}
