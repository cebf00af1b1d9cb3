//! How reads see what was acknowledged before them: they wait until it is in the database, and then
//! read one state of it.

pub(crate) mod bodies;
mod channels;
mod checks;
mod claims;
mod events;
mod grades;
mod names;
mod pairs;
mod prompts;
mod runs;
mod storage;

use std::time::Duration;

use crate::database::Snapshot;
use crate::pending::Digest;
use crate::record::Shared;
use crate::{GradeFilter, Record, RecordError, RecordState};

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
        let Shared {
            pending,
            health,
            database,
            read_timeout,
            ..
        } = self.shared.as_ref();
        if let Some(last) = pending.last(passes) {
            health.check()?;
            tokio::time::timeout(*read_timeout, pending.wait_for(last))
                .await
                .map_err(|_| lagging(*read_timeout))?;
        }
        Ok(database.snapshot().await?)
    }

    /// A state of the database that contains the grades of a run that are pending now.
    pub(crate) async fn snapshot_after_run(&self, run: &str) -> Result<Snapshot, RecordError> {
        self.snapshot_after(|digest| digest.run.as_deref() == Some(run) && digest.grades > 0)
            .await
    }

    /// Reads a grade and a run, for which pages of several tables and indexes are read.
    pub(crate) async fn probe_reads(&self) -> Result<(), RecordError> {
        let mut snapshot = self.shared.database.snapshot().await?;
        grades::list(&mut snapshot, &GradeFilter::default(), None, 1).await?;
        runs::last_used(&mut snapshot, "", 1).await?;
        Ok(())
    }

    /// Returns the state of the record.
    #[must_use]
    pub fn state(&self) -> RecordState {
        RecordState {
            pending: self.shared.pending.len() as u64,
            set_aside: self.shared.health.set_aside(),
            apply_error: self.shared.health.apply_error(),
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
