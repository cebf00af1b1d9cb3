//! Upper bounds of the numbers of prompts of runs, so that the prompts of a batch are looked up in
//! the record only if the run is near its limit.

use std::collections::HashMap;
use std::sync::Arc;

/// Prompts of one run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PromptCount {
    /// Upper bound of the recorded prompts. Prompts of several batches count several times until
    /// the record is read again.
    recorded: u64,
    /// Upper bound of the new prompts of the batches in progress.
    in_progress: u64,
}

/// Prompts by run.
#[derive(Debug, Default)]
pub(super) struct PromptCounts(HashMap<Arc<str>, PromptCount>);

impl PromptCounts {
    /// The bounds of a run; `None` if the record was not read yet.
    pub(super) fn of(&self, run: &str) -> Option<PromptCount> {
        self.0.get(run).copied()
    }

    /// The record has at most this many prompts of the run, not counting batches that ended since
    /// the bounds were `before`.
    pub(super) fn read(&mut self, run: &Arc<str>, recorded: u64, before: PromptCount) {
        let count = self.0.entry(Arc::clone(run)).or_default();
        count.recorded = recorded + count.recorded.saturating_sub(before.recorded);
    }

    /// Adds a batch with at most `prompts` new prompts, unless that may exceed `most`.
    pub(super) fn reserve(&mut self, run: &Arc<str>, prompts: u64, most: u64) -> bool {
        let Some(count) = self.0.get_mut(run) else {
            return false;
        };
        let fits = count.recorded + count.in_progress + prompts <= most;
        if fits {
            count.in_progress += prompts;
        }
        fits
    }

    /// A batch has ended.
    pub(super) fn end(&mut self, run: &str, prompts: u64, recorded: bool) {
        let Some(count) = self.0.get_mut(run) else {
            return;
        };
        count.in_progress = count.in_progress.saturating_sub(prompts);
        count.recorded += if recorded { prompts } else { 0 };
        // The run of a batch that recorded nothing may not exist.
        if count.recorded == 0 && count.in_progress == 0 {
            self.0.remove(run);
        }
    }

    /// The run was deleted.
    pub(super) fn forget(&mut self, run: &str) {
        if let Some(count) = self.0.get_mut(run) {
            count.recorded = 0;
        }
    }
}
