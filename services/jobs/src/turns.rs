//! The jobs of which shards are claimed next: in turn, without callers that must wait.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_core::BatchId;
use assay_record::job::OpenJob;

/// The order in which shards of open jobs are claimed.
#[derive(Default)]
pub(crate) struct Turns(Mutex<TurnState>);

#[derive(Default)]
struct TurnState {
    /// The job of which a shard was claimed last.
    last: Option<BatchId>,
    /// The callers whose shards cannot be graded yet, and until when, in microseconds since the
    /// Unix epoch.
    paused: HashMap<String, i64>,
}

impl Turns {
    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The jobs that may be graded at a time, those after the last one first.
    pub(crate) fn order(&self, mut jobs: Vec<OpenJob>, now_us: i64) -> Vec<OpenJob> {
        let mut state = self.state();
        state.paused.retain(|_, until_us| *until_us > now_us);
        jobs.retain(|job| !state.paused.contains_key(&job.caller));
        let last = state.last;
        jobs.sort_by_key(|job| (last.is_some_and(|last| job.id <= last), job.id));
        jobs
    }

    pub(crate) fn claimed(&self, job: BatchId) {
        self.state().last = Some(job);
    }

    pub(crate) fn pause(&self, caller: &str, until_us: i64) {
        self.state().paused.insert(caller.to_owned(), until_us);
    }
}

#[cfg(test)]
mod tests {
    use assay_record::job::JobKind;

    use super::*;

    fn job(id: u128, caller: &str) -> OpenJob {
        OpenJob {
            id: id.into(),
            kind: JobKind::Grade,
            options: None,
            caller: caller.to_owned(),
            share: caller.to_owned(),
            run: None,
            step: None,
            policy: None,
        }
    }

    #[test]
    fn jobs_are_graded_in_turn_without_callers_that_must_wait() {
        let turns = Turns::default();
        let open = || vec![job(1, "a"), job(2, "b"), job(3, "a")];
        let order = |now_us| -> Vec<u128> {
            let jobs = turns.order(open(), now_us).into_iter();
            jobs.map(|job| job.id.into()).collect()
        };
        assert_eq!(order(0), [1, 2, 3]);
        turns.claimed(2.into());
        assert_eq!(order(0), [3, 1, 2]);
        turns.pause("a", 10);
        assert_eq!(order(9), [2]);
        assert_eq!(order(10), [3, 1, 2]);
    }
}
