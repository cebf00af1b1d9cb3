//! Limits of model serving.

use std::thread::available_parallelism;

/// Limits of model serving. They do not affect the outputs of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServingOptions {
    /// Maximum number of waiting tokens, over all models and callers. A request with more tokens is
    /// always rejected.
    pub queue_tokens: usize,
    /// Maximum number of tokens per batch. A longer sequence runs in a separate batch. Batches
    /// larger than what saturates the device only increase the wait of other requests; a CPU is
    /// saturated by some hundreds of tokens.
    pub batch_tokens: usize,
    /// Maximum number of sequences per batch.
    pub batch_rows: usize,
    /// Maximum number of threads that render and tokenise concurrently, over all requests.
    pub tokeniser_threads: usize,
    /// Names of the devices, at least one. Each has a thread, and every model is loaded on each.
    pub devices: Vec<String>,
    /// Size limit of the cache of readouts, in bytes. 0 disables the cache.
    pub cache_bytes: u64,
    /// Model used by requests that name none. `None` uses the only model, if there is exactly one.
    pub default_model: Option<String>,
    /// Names of the configured models. Metrics use them as labels even before the models are
    /// loaded.
    pub names: Vec<String>,
}

impl Default for ServingOptions {
    fn default() -> Self {
        Self {
            queue_tokens: 4 << 20,
            batch_tokens: 16_384,
            batch_rows: 512,
            tokeniser_threads: available_parallelism().map_or(1, std::num::NonZero::get),
            devices: vec!["cpu".to_owned()],
            cache_bytes: 64 << 20,
            default_model: None,
            names: Vec::new(),
        }
    }
}
