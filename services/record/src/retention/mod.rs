//! Deletes what prunes and the limits of the record name, in the background: one prune at a time,
//! in short transactions with pauses between them, so that the writer applies new entries and the
//! disk syncs the spool in between. Replies do not wait for the database, and readers do not wait
//! for its writer.
//!
//! A prune that ends early, because of an error or a shutdown, leaves the record consistent:
//! batches of which some grades were deleted are marked, and finished by the next start or the next
//! prune, as is the sweep of their bodies.
//!
//! Of nodes that share a record, one deletes at a time. It has a lock of the database meanwhile.

mod limits;
mod pace;
mod progress;
mod pruning;
mod steps;

use std::sync::Arc;
use std::time::Duration;

use assay_core::Clock;
use tokio::sync::{mpsc, watch};

use self::progress::{Progress, Request};
use self::steps::{Interruption, Steps};
use crate::database::Database;
use crate::pending::Pending;
use crate::storage::{PruneState, RetentionLimits};

pub(crate) use self::pace::{Pace, pause};
pub(crate) use self::progress::RetentionHandle;

/// Why a requested prune does not start. One that enforces the limits is left to the other node.
const LED: &str = "another node that shares the record deletes from it; retry when it is done";

/// The task that deletes.
pub(crate) struct Retention {
    steps: Steps,
    limits: RetentionLimits,
    interval: Duration,
    requests: mpsc::Receiver<Request>,
}

/// What a retention task needs.
pub(crate) struct RetentionParts {
    pub(crate) database: Arc<Database>,
    pub(crate) pending: Arc<Pending>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: RetentionLimits,
    /// Time between two checks of the limits.
    pub(crate) interval: Duration,
    /// Becomes true when the record is closing.
    pub(crate) draining: watch::Receiver<bool>,
}

impl Retention {
    pub(crate) fn new(parts: RetentionParts) -> (Self, RetentionHandle) {
        let RetentionParts {
            database,
            pending,
            clock,
            limits,
            interval,
            draining,
        } = parts;
        let progress = Progress::default();
        let (handle, requests) = RetentionHandle::new(progress.clone(), limits.clone());
        let retention = Self {
            steps: Steps {
                database,
                pending,
                clock,
                draining,
                progress,
            },
            limits,
            interval,
            requests,
        };
        (retention, handle)
    }

    /// Deletes until the record is closed.
    pub(crate) async fn run(mut self) {
        // What an earlier process left unfinished.
        let unfinished = self.steps.lead(pruning::finish_interrupted(&self.steps));
        if let Err(Interruption::Failed(error)) = unfinished.await {
            tracing::warn!(%error, "cannot finish an interrupted prune; the next prune does");
        }
        loop {
            let wait = (!self.limits.is_none()).then_some(self.interval);
            self.steps.progress.set_next_check(wait.map(|wait| {
                let wait = i64::try_from(wait.as_micros()).unwrap_or(i64::MAX);
                self.steps.clock.unix_us().saturating_add(wait)
            }));
            let check = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            let ended = tokio::select! {
                request = self.requests.recv() => match request {
                    Some(Request { number, filter }) => {
                        self.steps.progress.set_current(number);
                        self.steps.lead(pruning::prune(&self.steps, &filter)).await
                    }
                    None => return,
                },
                () = check => self.steps.lead(limits::enforce(&self.steps, &self.limits)).await,
                () = self.steps.closing() => return,
            };
            self.finish(ended);
            if *self.steps.draining.borrow() {
                return;
            }
        }
    }

    /// Shows how a prune ended.
    fn finish(&self, ended: Result<(), Interruption>) {
        let (state, error) = match ended {
            Ok(()) => (PruneState::Done, None),
            Err(Interruption::Draining) => (PruneState::Stopped, None),
            Err(Interruption::Led) => (PruneState::Failed, Some(LED.to_owned())),
            Err(Interruption::Failed(error)) => {
                tracing::warn!(%error, "cannot delete from the record; the next prune continues");
                (PruneState::Failed, Some(error.to_string()))
            }
        };
        let now_us = self.steps.clock.unix_us();
        self.steps.progress.end(state, error, now_us);
    }
}
