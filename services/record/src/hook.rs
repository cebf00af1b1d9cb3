//! A hook with which tests of other crates delay, fail or watch operations of a record.

use std::sync::Arc;

use assay_core::BoxFuture;

use crate::{Entry, Record, RecordError};

/// Called by the [`Record`] that has the hook and by its clones.
pub trait Hook: Send + Sync {
    /// Called with each entry before it is appended; returns what is appended instead.
    ///
    /// # Errors
    /// The error of [`Record::append`]; nothing is appended.
    fn append(&self, entry: Arc<Entry>) -> BoxFuture<'_, Result<Arc<Entry>, RecordError>>;

    /// Called before the counts of channels are read.
    fn read_channels(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

impl Record {
    /// The same record with this hook.
    #[must_use]
    pub fn with_hook(self, hook: Arc<dyn Hook>) -> Self {
        Self {
            hook: Some(hook),
            ..self
        }
    }
}
