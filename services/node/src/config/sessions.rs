//! The section `[sessions]`: interpreter sessions, their number, memory and files.

use std::path::PathBuf;
use std::time::Duration;

use assay_sessions::Settings;
use serde::{Deserialize, Serialize};

use super::sections::{require_within, serialize_lossy};

/// Longest time, in seconds: a month.
const MAX_SECONDS: u64 = 30 * 86_400;

/// Largest state of a session, in bytes: it is sent to a worker in one message.
const MAX_STATE: u64 = 128 << 20;

/// `[sessions]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// Folder of the files of interpreter sessions; empty for `PATH.sessions` next to an SQLite
    /// database, and for PostgreSQL, `SPOOL.sessions` next to `store.spool`, or `assay.sessions`
    /// if that is empty. Without a database in a file, sessions are in memory only. Each node needs
    /// its own.
    #[serde(serialize_with = "serialize_lossy")]
    pub folder: PathBuf,
    /// Maximum memory for the states of idle sessions, in bytes. Beyond it, the states used least
    /// recently are only in files.
    pub memory_bytes: u64,
    /// Maximum size of the files of states, in bytes; calls that leave more are rejected.
    pub disk_bytes: u64,
    /// Maximum size of the state of one session, compressed, in bytes. A call that leaves more has
    /// no effect.
    pub state_bytes: u64,
    /// Maximum number of open sessions.
    pub open: usize,
    /// Maximum number of open sessions of one caller.
    pub per_caller: usize,
    /// Seconds without a call after which a session ends.
    pub idle_seconds: u64,
}

impl Default for Sessions {
    fn default() -> Self {
        let Settings {
            folder: _,
            memory_bytes,
            disk_bytes,
            state_bytes,
            open,
            per_caller,
            idle,
            calls: _,
        } = Settings::default();
        Self {
            folder: PathBuf::new(),
            memory_bytes,
            disk_bytes,
            state_bytes,
            open,
            per_caller,
            idle_seconds: idle.as_secs(),
        }
    }
}

impl Sessions {
    pub(super) fn check(&self) -> Result<(), String> {
        require_within("sessions.idle_seconds", self.idle_seconds, 1..=MAX_SECONDS)?;
        require_within("sessions.state_bytes", self.state_bytes, 1..=MAX_STATE)
    }

    /// The settings of the table of sessions, with its folder, and so many calls at once.
    #[must_use]
    pub fn settings(&self, folder: Option<PathBuf>, calls: usize) -> Settings {
        Settings {
            folder,
            memory_bytes: self.memory_bytes,
            disk_bytes: self.disk_bytes,
            state_bytes: self.state_bytes,
            open: self.open,
            per_caller: self.per_caller,
            idle: Duration::from_secs(self.idle_seconds),
            calls,
        }
    }
}
