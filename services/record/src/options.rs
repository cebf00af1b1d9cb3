//! The settings of a record. Does not read files or the environment.

use std::path::PathBuf;
use std::time::Duration;

use crate::storage::RetentionLimits;

/// Where an entry is when it is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Acknowledge {
    /// On the disk of the node, in the spool.
    #[default]
    Spool,
    /// In the database as well.
    Database,
}

/// Location and limits of a record.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// `sqlite://PATH`, relative to the working directory or absolute; or `sqlite::memory:` for a
    /// database that is lost when the process ends.
    pub database: String,
    /// Folder of the spool. If `None`, `PATH.spool` next to the database; no spool for a database
    /// in memory.
    pub spool: Option<PathBuf>,
    /// Level of zstd for bodies and replies, from -7 to 22; 0 disables compression, which saves
    /// processor time for text that hardly compresses and takes two to five times the disk space.
    pub compression: i32,
    /// Bytes after which a new segment of the spool is started.
    pub segment_bytes: u64,
    /// Bytes of pending entries that are kept in memory; the others are read back from the spool.
    pub pending_bytes: usize,
    /// Connections that read at the same time.
    pub readers: u32,
    /// Longest time that closing waits for the database. Entries that are not applied by then stay
    /// in the spool for the next start.
    pub close_timeout: Duration,
    /// Where an entry is when it is acknowledged.
    pub acknowledge: Acknowledge,
    /// Longest time that a read waits until the pending entries that it may contain are in the
    /// database, and that an entry waits with [`Acknowledge::Database`].
    pub read_timeout: Duration,
    /// Limits above which the oldest batches are deleted.
    pub limits: RetentionLimits,
    /// Time between two checks of the limits.
    pub limits_interval: Duration,
    /// Whether completions and prompts can be searched. Their index is in the file `PATH.texts`
    /// next to an SQLite database, and in tables of a PostgreSQL database. It is built or completed
    /// in the background.
    pub text_search: bool,
}

impl RecordOptions {
    /// Default settings for the database at `url`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            database: url.into(),
            spool: None,
            acknowledge: Acknowledge::Spool,
            compression: 1,
            segment_bytes: 64 << 20,
            pending_bytes: 256 << 20,
            readers: 4,
            close_timeout: Duration::from_secs(30),
            read_timeout: Duration::from_secs(10),
            limits: RetentionLimits::default(),
            limits_interval: Duration::from_secs(300),
            text_search: false,
        }
    }
}
