//! A served model with its batch budget and the counters of its name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use assay_core::reward_model::ModelInfo;

use super::contract::Model;

/// Minimum batch budget, in tokens, after running out of memory.
const LEAST_TOKENS: usize = 64;

/// Counters of a name over all models that had it.
#[derive(Debug, Default)]
pub(super) struct ModelCounters {
    pub(super) scored: AtomicU64,
    pub(super) tokens: AtomicU64,
    pub(super) waiting: AtomicU64,
}

pub(super) struct LoadedModel {
    pub(super) model: Arc<dyn Model>,
    pub(super) counts: Arc<ModelCounters>,
    batch_tokens: AtomicUsize,
}

impl LoadedModel {
    pub(super) fn new(
        model: Arc<dyn Model>,
        counts: Arc<ModelCounters>,
        batch_tokens: usize,
    ) -> Self {
        Self {
            model,
            counts,
            batch_tokens: AtomicUsize::new(batch_tokens),
        }
    }

    pub(super) fn info(&self) -> &Arc<ModelInfo> {
        self.model.info()
    }

    /// Token budget of a batch of this model.
    pub(super) fn batch_tokens(&self) -> usize {
        self.batch_tokens.load(Ordering::Relaxed)
    }

    /// Lowers the budget to half of a batch of `tokens` that ran out of memory. The budget stays
    /// low until the model is loaded again, so that later requests do not fail the same way.
    pub(super) fn shrink(&self, tokens: usize) {
        self.batch_tokens
            .fetch_min((tokens / 2).max(LEAST_TOKENS), Ordering::Relaxed);
    }
}
