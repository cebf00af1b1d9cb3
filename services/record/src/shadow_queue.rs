//! Reads and writes of shadows. They go to the database directly, as those of jobs do.

use assay_core::BatchId;

use crate::database::shadows;
use crate::shadow::{NewShadow, Shadow, ShadowBatch, ShadowChange, ShadowPosition};
use crate::{Record, RecordError};

impl Record {
    /// Starts a shadow; `false` if one of the run is open.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn start_shadow(&self, shadow: &NewShadow) -> Result<bool, RecordError> {
        // What was recorded before is in the database after this.
        self.read(async { self.snapshot_after_run(&shadow.run).await })
            .await?;
        let now_us = self.now_us();
        let mut connection = self.job_connection().await?;
        Ok(shadows::start(&mut connection, shadow, now_us).await?)
    }

    /// The newest shadow of a run, by its name as recorded.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be read.
    pub async fn shadow(&self, run: &str) -> Result<Option<Shadow>, RecordError> {
        let mut connection = self.job_connection().await?;
        Ok(shadows::newest(&mut connection, run).await?)
    }

    /// The open shadows of all runs, oldest first.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be read.
    pub async fn open_shadows(&self) -> Result<Vec<Shadow>, RecordError> {
        let mut connection = self.job_connection().await?;
        Ok(shadows::open(&mut connection).await?)
    }

    /// The shadows whose fields are those of their runs.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be read.
    pub async fn promoted_shadows(&self) -> Result<Vec<Shadow>, RecordError> {
        let mut connection = self.job_connection().await?;
        Ok(shadows::promoted(&mut connection).await?)
    }

    /// At most `limit` batches of the run of a shadow from where it continues, in the order of
    /// their arrival.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be read.
    pub async fn shadow_batches(
        &self,
        shadow: &Shadow,
        limit: u32,
    ) -> Result<Vec<ShadowBatch>, RecordError> {
        let mut connection = self.job_connection().await?;
        Ok(shadows::batches(&mut connection, &shadow.run, shadow.next, limit).await?)
    }

    /// Continues a shadow from `to`, with what was found so far; `false` if another node was
    /// faster, or if it has ended.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn advance_shadow(
        &self,
        shadow: &Shadow,
        to: ShadowPosition,
        summary: Option<&str>,
    ) -> Result<bool, RecordError> {
        let mut connection = self.job_connection().await?;
        let at = (shadow.id, shadow.next);
        Ok(shadows::advance(&mut connection, at, to, summary).await?)
    }

    /// Ends, promotes or withdraws a shadow; `false` if that was done before.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn change_shadow(
        &self,
        shadow: BatchId,
        change: ShadowChange,
    ) -> Result<bool, RecordError> {
        let now_us = self.now_us();
        let mut connection = self.job_connection().await?;
        Ok(shadows::change(&mut connection, shadow, change, now_us).await?)
    }
}
