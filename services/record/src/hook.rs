//! A hook with which tests of other crates delay, fail or watch operations of a record.

use std::sync::Arc;

use assay_core::BoxFuture;

use crate::{Entry, RecordError};

/// Called by the record that has the hook and by its clones.
pub trait Hook: Send + Sync {
    /// Called with each entry before it is appended; returns what is appended instead.
    ///
    /// # Errors
    /// The error of appending; nothing is appended.
    fn append(&self, entry: Arc<Entry>) -> BoxFuture<'_, Result<Arc<Entry>, RecordError>>;

    /// Called before the counts of channels are read.
    fn read_channels(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
