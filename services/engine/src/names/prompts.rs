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
    /// Upper bound of the prompts of recorded batches that ended since the entry was made.
    ended: u64,
}

impl PromptCount {
    /// The run of batches that recorded nothing may not exist, and a deleted one does not.
    fn is_unused(&self) -> bool {
        self.recorded == 0 && self.in_progress == 0
    }
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
        count.recorded = recorded + count.ended.saturating_sub(before.ended);
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
        if recorded {
            count.recorded += prompts;
            count.ended += prompts;
        }
        if count.is_unused() {
            self.0.remove(run);
        }
    }

    /// The run was deleted.
    pub(super) fn forget(&mut self, run: &str) {
        if let Some(count) = self.0.get_mut(run) {
            count.recorded = 0;
            if count.is_unused() {
                self.0.remove(run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_first_reads_count_the_record_once() {
        let mut counts = PromptCounts::default();
        let run: Arc<str> = "r".into();
        let before = counts.of(&run).unwrap_or_default();
        for _ in 0..4 {
            counts.read(&run, 300, before);
            assert!(counts.reserve(&run, 1, 400));
        }
        counts.end(&run, 1, true);
        counts.read(&run, 300, before);
        assert_eq!(counts.of(&run).unwrap().recorded, 301);
        assert!(!counts.reserve(&run, 97, 400));
        assert!(counts.reserve(&run, 96, 400));
    }

    #[test]
    fn forgets_deleted_runs() {
        let mut counts = PromptCounts::default();
        let run: Arc<str> = "r".into();
        counts.read(&run, 5, PromptCount::default());
        counts.forget(&run);
        assert!(counts.of(&run).is_none());
    }
}
