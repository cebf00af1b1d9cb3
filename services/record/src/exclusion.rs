//! Excludes other nodes from what must not happen twice, if several nodes share the record: drawing
//! grades for operators and adjudicating them. Both depend on earlier draws and adjudications.

use crate::database::{DatabaseError, Lock};
use crate::{Record, RecordError};

/// Other nodes wait until it is [released](Record::release).
#[must_use]
pub struct Exclusion {
    /// `None` if no other node uses the record.
    lock: Option<Lock>,
}

impl Record {
    /// Waits until no other node draws or adjudicates, and excludes them. If the node ends, its
    /// exclusion does.
    ///
    /// # Errors
    /// [`RecordError::Unavailable`] if the database cannot be reached, or if another node takes
    /// longer than 5 s.
    pub async fn exclude_operators(&self) -> Result<Exclusion, RecordError> {
        let lock = self.shared.database.lock_operators().await;
        let lock = lock.map_err(|error: DatabaseError| RecordError::from(error))?;
        Ok(Exclusion { lock })
    }

    /// Ends an exclusion once other nodes can read what this one recorded.
    ///
    /// # Errors
    /// [`RecordError::Unavailable`] if that takes too long. The exclusion has ended all the same.
    pub async fn release(&self, exclusion: Exclusion) -> Result<(), RecordError> {
        let Some(lock) = exclusion.lock else {
            return Ok(());
        };
        let applied = self.snapshot_after(|digest| digest.events).await;
        lock.release().await;
        applied.map(drop)
    }
}
