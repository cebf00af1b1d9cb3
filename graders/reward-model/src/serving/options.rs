//! What bounds serving.

use std::thread::available_parallelism;

/// What bounds the serving of models. None of it changes a number that a model gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServingOptions {
    /// Tokens that may wait, over all models and callers. A request with more is never taken.
    pub queue_tokens: usize,
    /// Tokens of one batch. A longer sequence makes a batch alone. Past what fills the device,
    /// larger batches only make others wait longer: a GPU wants tens of thousands, a CPU has enough
    /// with some hundreds.
    pub batch_tokens: usize,
    /// Sequences of one batch.
    pub batch_rows: usize,
    /// Threads that render and tokenise at once, over all requests.
    pub readers: usize,
    /// Bytes of readouts kept, so that what was read once is not read again; 0 keeps none.
    pub cache_bytes: u64,
    /// The model that is meant where none is named. Without it that is the only one there is.
    pub default_model: Option<String>,
    /// Names of the configured models, which metrics use as labels even before they are loaded.
    pub names: Vec<String>,
}

impl Default for ServingOptions {
    fn default() -> Self {
        Self {
            queue_tokens: 4 << 20,
            batch_tokens: 16_384,
            batch_rows: 512,
            readers: available_parallelism().map_or(1, std::num::NonZero::get),
            cache_bytes: 64 << 20,
            default_model: None,
            names: Vec::new(),
        }
    }
}
