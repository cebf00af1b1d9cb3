//! Reads of the size and contents of the record.

use crate::database::{prune_estimate, prune_target, storage_report};
use crate::record::blocking;
use crate::storage::{PruneEstimate, PruneFilter, StorageReport};
use crate::{Record, RecordError};

impl Record {
    /// Returns the size and contents of the record, with at most `limit` runs. Callers see nothing.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn storage(&self, limit: u32) -> Result<StorageReport, RecordError> {
        if !self.scope.is_all() {
            return Ok(StorageReport::default());
        }
        self.read(async {
            let report = {
                let mut snapshot = self.shared.database.snapshot().await?;
                storage_report(&mut snapshot, limit).await?
            };
            let spool_bytes = match self.shared.folder.clone() {
                Some(folder) => blocking(move || folder.bytes()).await,
                None => 0,
            };
            let text_bytes = match self.shared.database.texts() {
                Some(texts) => Some(texts.index.bytes().await?),
                None => None,
            };
            Ok(self.shared.retention.complete(StorageReport {
                text_bytes,
                log_bytes: self.shared.database.log_bytes(),
                spool_bytes,
                ..report
            }))
        })
        .await
    }

    /// Returns what a prune with this filter would delete now.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn prune_estimate(&self, filter: &PruneFilter) -> Result<PruneEstimate, RecordError> {
        self.scope.require_all()?;
        self.read(async {
            let mut snapshot = self.snapshot_after(|_| true).await?;
            let target = prune_target(&mut snapshot, filter).await?;
            Ok(prune_estimate(&mut snapshot, &target).await?)
        })
        .await
    }
}
