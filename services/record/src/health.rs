//! Tracks the health of the spool thread and the database writer: whether entries are recorded and
//! applied, and if not, why.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::RecordError;

use crate::metrics;

/// The health of the store. Shared by the spool thread, the writer and health checks.
#[derive(Debug, Default)]
pub(crate) struct Health {
    state: Mutex<State>,
    set_aside: AtomicU64,
}

#[derive(Debug, Default, Clone)]
struct State {
    /// Why the spool thread has ended.
    spool_ended: Option<String>,
    /// Why the writer has ended.
    writer_ended: Option<String>,
    /// Why the last append failed.
    append_error: Option<String>,
    /// Why the last transaction failed.
    apply_error: Option<String>,
    /// Why the database is damaged. It is not reset, because pages that can be read do not show
    /// that the others are intact.
    damage: Option<String>,
}

impl Health {
    /// Records that an append succeeded or failed with this error.
    pub(crate) fn appended(&self, result: Result<(), String>) {
        metrics::recording(result.is_ok());
        self.lock().append_error = result.err();
    }

    /// Records that a transaction succeeded or failed with this error.
    pub(crate) fn applied(&self, result: Result<(), String>) {
        metrics::applying(result.is_ok());
        self.lock().apply_error = result.err();
    }

    /// Records that the database is damaged.
    pub(crate) fn database_damaged(&self, reason: String) {
        let mut state = self.lock();
        if state.damage.is_none() {
            tracing::error!(reason, "the database is damaged; the node is not ready");
            state.damage = Some(reason);
        }
    }

    /// Records that the spool thread panicked.
    pub(crate) fn spool_ended(&self, reason: String) {
        tracing::error!(
            reason,
            "the spool thread panicked; nothing is recorded until the node is restarted"
        );
        metrics::recording(false);
        self.lock().spool_ended = Some(reason);
    }

    /// Records that the writer panicked.
    pub(crate) fn writer_ended(&self, reason: String) {
        tracing::error!(
            reason,
            "the database writer panicked; entries stay in the spool until the node is restarted"
        );
        metrics::applying(false);
        self.lock().writer_ended = Some(reason);
    }

    /// Sets the number of entries that are set aside.
    pub(crate) fn count_set_aside(&self, entries: u64) {
        self.set_aside.store(entries, Ordering::Relaxed);
        metrics::set_aside(entries);
    }

    pub(crate) fn set_aside(&self) -> u64 {
        self.set_aside.load(Ordering::Relaxed)
    }

    /// Why the last append failed; `None` if it succeeded.
    pub(crate) fn append_error(&self) -> Option<String> {
        self.lock().append_error.clone()
    }

    /// Why entries cannot be applied to the database; `None` if they can.
    pub(crate) fn apply_error(&self) -> Option<String> {
        let state = self.lock();
        state
            .writer_ended
            .clone()
            .or_else(|| state.apply_error.clone())
    }

    /// Fails if the spool thread or the writer has ended, or if the database is damaged.
    pub(crate) fn check(&self) -> Result<(), RecordError> {
        let State {
            spool_ended,
            writer_ended,
            damage,
            ..
        } = self.lock().clone();
        if let Some(reason) = spool_ended {
            return Err(spool_ended_error(&reason));
        }
        if let Some(reason) = damage {
            return Err(RecordError::Damaged(reason));
        }
        match writer_ended {
            Some(reason) => Err(RecordError::Unavailable(format!(
                "the database writer has ended ({reason}); restart the node (recorded grades are \
                 kept in the spool)"
            ))),
            None => Ok(()),
        }
    }

    /// The error for an append that the spool thread did not accept or acknowledge.
    pub(crate) fn refusal(&self) -> RecordError {
        let reason = self.lock().spool_ended.clone();
        spool_ended_error(&reason.unwrap_or_else(|| "it panicked".to_owned()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spool_ended_error(reason: &str) -> RecordError {
    RecordError::Unavailable(format!(
        "the spool thread has ended ({reason}); restart the node"
    ))
}
