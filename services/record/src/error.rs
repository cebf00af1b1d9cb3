//! Errors of the record.

/// The record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The storage failed or is full.
    #[error("the record is unavailable: {0}")]
    Unavailable(String),
    /// An entry is in the spool, but not in the database in time.
    #[error(
        "not committed to the database in time ({0}); it is in the spool of the node and will be \
         applied"
    )]
    NotCommitted(String),
    /// Another operation of its kind is running.
    #[error("{0}")]
    Busy(String),
    /// The storage is damaged, so that retrying is of no use.
    #[error("the record is unavailable: {0}")]
    Damaged(String),
    /// Stored data cannot be decoded.
    #[error("the record is inconsistent: {0}")]
    Inconsistent(String),
}
