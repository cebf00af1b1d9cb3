//! A model while it is served: itself, what a batch of it may hold, and what is counted of its
//! name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use assay_core::reward_model::ModelInfo;

use super::contract::Model;

/// Least budget that is left when memory runs out.
const LEAST_TOKENS: usize = 64;

/// What is counted of a name, over all models that stood behind it.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) scored: AtomicU64,
    pub(super) tokens: AtomicU64,
    pub(super) waiting: AtomicU64,
}

pub(super) struct Loaded {
    pub(super) model: Arc<dyn Model>,
    pub(super) counts: Arc<Counts>,
    batch_tokens: AtomicUsize,
}

impl Loaded {
    pub(super) fn new(model: Arc<dyn Model>, counts: Arc<Counts>, batch_tokens: usize) -> Self {
        Self {
            model,
            counts,
            batch_tokens: AtomicUsize::new(batch_tokens),
        }
    }

    pub(super) fn info(&self) -> &Arc<ModelInfo> {
        self.model.info()
    }

    /// Tokens that a batch of it may hold.
    pub(super) fn batch_tokens(&self) -> usize {
        self.batch_tokens.load(Ordering::Relaxed)
    }

    /// Lowers the budget to half of a batch of `tokens` that was too much. It stays so until the
    /// model is loaded anew: what did not fit once is not tried again on requests.
    pub(super) fn shrink(&self, tokens: usize) {
        self.batch_tokens
            .fetch_min((tokens / 2).max(LEAST_TOKENS), Ordering::Relaxed);
    }
}
