//! Responsible for what may be set when a store is opened, and for nothing that is read from files
//! or the environment.

use std::path::PathBuf;
use std::time::Duration;

/// Where a store keeps its record, and its bounds.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// `sqlite://PATH`, relative to the working directory or absolute; or `sqlite::memory:`, which
    /// keeps nothing.
    pub database: String,
    /// Folder of the spool. `None`: beside the database, `PATH.spool`; with a database in memory,
    /// no spool.
    pub spool: Option<PathBuf>,
    /// Level of zstd for bodies and replies, -7 to 22; 0 keeps them as they are, which costs less
    /// processor time for text that hardly compresses and two to five times the disk.
    pub compression: i32,
    /// Bytes after which a segment of the spool is full and the next one starts.
    pub segment_bytes: u64,
    /// Bytes of entries held in memory until they are in the database; those beyond are read back
    /// from the spool.
    pub pending_bytes: usize,
    /// Connections that read at the same time.
    pub readers: u32,
    /// How long closing waits for the database; what is not applied by then stays in the spool for
    /// the next start.
    pub close_timeout: Duration,
    /// How long a read that needs everything in the database, as that of pairs, waits for what is
    /// on its way.
    pub read_timeout: Duration,
}

impl StoreOptions {
    /// The database at `url`, and defaults.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            database: url.into(),
            spool: None,
            compression: 1,
            segment_bytes: 64 << 20,
            pending_bytes: 256 << 20,
            readers: 4,
            close_timeout: Duration::from_secs(30),
            read_timeout: Duration::from_secs(10),
        }
    }
}
