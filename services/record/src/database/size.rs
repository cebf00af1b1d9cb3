//! The size of the database.

/// The size of a database.
pub(crate) struct Size {
    pub(crate) file_bytes: u64,
    /// Bytes of free pages.
    pub(crate) free_bytes: u64,
    /// Whether free pages can be returned.
    pub(crate) shrinks: bool,
}
