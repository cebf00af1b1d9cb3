//! How reads see what was acknowledged before them: they wait until it is in the database, and then
//! read one state of it.

mod answers;
mod assignments;
pub(crate) mod bodies;
mod channel_parts;
mod channels;
mod checks;
mod claims;
mod comments;
mod costs;
mod events;
mod grades;
mod jobs;
mod names;
mod pairs;
mod prompt_changes;
mod prompt_list;
mod prompts;
pub(crate) mod recent;
mod runs;
mod search;
mod storage;

use std::time::Duration;

use crate::database::Snapshot;
use crate::database::query::ListStart;
use crate::pending::Digest;
use crate::record::Shared;
use crate::{GradeFilter, Record, RecordError, RecordState};

/// How long a batch waits for what it reads of the record. Entries are applied in order, so that it
/// would otherwise wait for those of other callers.
const BATCH_TIMEOUT: Duration = Duration::from_secs(1);

impl Record {
    /// Waits for a read. If it fails because the database is damaged, the node is no longer ready.
    pub(crate) async fn read<T>(
        &self,
        read: impl Future<Output = Result<T, RecordError>>,
    ) -> Result<T, RecordError> {
        let done = read.await;
        if let Err(RecordError::Damaged(reason)) = &done {
            self.shared.health.database_damaged(reason.clone());
        }
        done
    }

    /// A state of the database that contains the entries which are pending now and whose digest
    /// passes. The writer applies them at once.
    ///
    /// # Errors
    /// [`RecordError::Unavailable`] if they are not applied within
    /// [`read_timeout`](crate::RecordOptions::read_timeout).
    pub(crate) async fn snapshot_after(
        &self,
        passes: impl Fn(&Digest) -> bool,
    ) -> Result<Snapshot, RecordError> {
        self.wait_for(passes, self.shared.read_timeout).await?;
        Ok(self.shared.database.snapshot().await?)
    }

    /// As [`snapshot_after`](Self::snapshot_after), for what a batch reads before it is graded: if
    /// the entries are not applied within a second, the state lacks them.
    pub(crate) async fn snapshot_for_batch(
        &self,
        passes: impl Fn(&Digest) -> bool,
    ) -> Result<Snapshot, RecordError> {
        let timeout = BATCH_TIMEOUT.min(self.shared.read_timeout);
        if let Err(error) = self.wait_for(passes, timeout).await {
            tracing::warn!(%error, "a batch reads the record without what is not applied yet");
        }
        Ok(self.shared.database.snapshot().await?)
    }

    async fn wait_for(
        &self,
        passes: impl Fn(&Digest) -> bool,
        timeout: Duration,
    ) -> Result<(), RecordError> {
        let Shared {
            pending, health, ..
        } = self.shared.as_ref();
        let Some(last) = pending.last(passes) else {
            return Ok(());
        };
        health.check()?;
        tokio::time::timeout(timeout, pending.wait_for(last))
            .await
            .map_err(|_| lagging(timeout))
    }

    /// A state of the database that contains the grades of a run that are pending now.
    pub(crate) async fn snapshot_after_run(&self, run: &str) -> Result<Snapshot, RecordError> {
        self.snapshot_after(|digest| digest.has_grades_of(run))
            .await
    }

    /// Reads a grade and a run, for which pages of several tables and indexes are read.
    pub(crate) async fn probe_reads(&self) -> Result<(), RecordError> {
        let mut snapshot = self.shared.database.snapshot().await?;
        let newest = ListStart::Before(None);
        grades::list(&mut snapshot, &GradeFilter::default(), newest, 1).await?;
        runs::last_used(&mut snapshot, 1).await?;
        Ok(())
    }

    /// Returns the state of the record.
    #[must_use]
    pub fn state(&self) -> RecordState {
        RecordState {
            pending: self.shared.pending.len() as u64,
            set_aside: self.shared.health.set_aside(),
            apply_error: self.shared.health.apply_error(),
            read_error: None,
        }
    }
}

fn lagging(timeout: Duration) -> RecordError {
    RecordError::Unavailable(format!(
        "some of what was recorded is not in the database after {} seconds; check whether the \
         database is locked or its disk is full, and retry",
        timeout.as_secs_f64()
    ))
}
