//! Changes what operators note about a run.

use crate::database::run_notes;
use crate::run_notes::RunChanges;
use crate::{Record, RecordError, RunSummary};

impl Record {
    /// Changes what is noted about a run, and returns its summary; `None` if it has no grades. All
    /// fields are changed at once, so that changes of different fields never undo one another. The
    /// changes were [checked](RunChanges::check).
    ///
    /// # Errors
    /// [`RecordError`] if the record cannot be read or written.
    pub async fn annotate_run(
        &self,
        run: &str,
        changes: &RunChanges,
    ) -> Result<Option<RunSummary>, RecordError> {
        // The run is in the database after this.
        if self.run(run).await?.is_none() {
            return Ok(None);
        }
        let recorded = self.scope.recorded(run);
        let access = self.access();
        self.read(async { Ok(run_notes::update(&access, &recorded, changes).await?) })
            .await?;
        self.run(run).await
    }
}
