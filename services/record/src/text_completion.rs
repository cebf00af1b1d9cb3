//! Completes the index of texts in the background: when the record is opened, which builds a new
//! index, whenever texts could not be added, and regularly if nodes share the record, because one
//! without the index adds and removes none.

use std::sync::Arc;
use std::time::Duration;

use assay_core::Clock;
use tokio::sync::watch;

use crate::database::texts::{TextPass, Texts};
use crate::database::{Database, DatabaseError};
use crate::pending::Pending;
use crate::retention::{Pace, pause};

/// Pause after a pass that failed.
const RETRY: Duration = Duration::from_secs(5);

/// Time between two passes over the index of a record that nodes share.
const REGULAR: Duration = Duration::from_secs(600);

/// The task that completes the index.
pub(crate) struct TextCompletion {
    pub(crate) database: Arc<Database>,
    pub(crate) pending: Arc<Pending>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Becomes true when the record is closing.
    pub(crate) closing: watch::Receiver<bool>,
}

impl TextCompletion {
    /// Completes the index until the record is closed.
    pub(crate) async fn run(self) {
        let mut closing = self.closing.clone();
        tokio::select! {
            () = self.repeat() => {}
            // An error means that the record is gone. A step that ends early is rolled back.
            _ = closing.wait_for(|closing| *closing) => {}
        }
    }

    async fn repeat(&self) {
        let Some(texts) = self.database.texts() else {
            return;
        };
        loop {
            tokio::select! {
                () = texts.incomplete() => {}
                () = tokio::time::sleep(REGULAR), if self.database.is_shared() => {}
            }
            let failures = texts.failures();
            match self.pass(texts).await {
                Ok(()) => texts.passed(failures),
                Err(error) => {
                    tracing::warn!(%error, "cannot complete the index of texts; trying again");
                    texts.fail(Some(error.to_string()));
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    async fn pass(&self, texts: &Texts) -> Result<(), DatabaseError> {
        let mut pace = Pace::new();
        let mut after = Some(0);
        while let Some(position) = after {
            let started = self.clock.monotonic();
            let step = texts.step(TextPass::Complete, position, pace.amount());
            after = step.await?;
            let took = self.clock.monotonic().saturating_sub(started);
            pace.adapt(took);
            tokio::time::sleep(pause(took, self.pending.len() > 0)).await;
        }
        Ok(())
    }
}
