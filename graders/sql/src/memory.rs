//! Counts the memory of a task while it is prepared, and rejects tasks that need too much.

use assay_core::{ErrorCode, Fault};

use crate::gold::Gold;
use crate::queries::Database;

/// Maximum bytes of all databases of a task, so that a worker can keep them all open and one
/// request can contain them.
const MAX_DATABASE_BYTES: u64 = 192 << 20;

/// The databases and results of golds counted so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryTally {
    databases: usize,
    database_bytes: u64,
    result_bytes: u64,
    max_result_bytes: u64,
}

impl MemoryTally {
    pub(crate) fn new(max_result_bytes: u64) -> Self {
        Self {
            databases: 0,
            database_bytes: 0,
            result_bytes: 0,
            max_result_bytes,
        }
    }

    /// Bytes of the results of golds, and of the databases.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.result_bytes, self.database_bytes)
    }

    /// Counts a database.
    ///
    /// # Errors
    /// If the databases together exceed the limit.
    pub(crate) fn add_database(&mut self, database: &Database) -> Result<(), Fault> {
        self.databases += 1;
        self.database_bytes += database.bytes() as u64;
        let bytes = self.database_bytes;
        if bytes <= MAX_DATABASE_BYTES {
            return Ok(());
        }
        Err(at_fault(format!(
            "the databases have {bytes} bytes together; at most {MAX_DATABASE_BYTES} are allowed"
        )))
    }

    /// Counts the result of a gold on the last database.
    ///
    /// # Errors
    /// If the results together exceed the limit.
    pub(crate) fn add_gold(&mut self, gold: &Gold) -> Result<(), Fault> {
        self.result_bytes += gold.bytes() as u64;
        let Self {
            databases,
            result_bytes,
            max_result_bytes,
            ..
        } = *self;
        if result_bytes <= max_result_bytes {
            return Ok(());
        }
        let on = if databases == 1 {
            "1 database".to_owned()
        } else {
            format!("{databases} databases")
        };
        Err(at_fault(format!(
            "the results of the golds have {result_bytes} bytes on {on}, more than the \
             {max_result_bytes} that `sql.result_bytes` allows for a task; raise it, or let the \
             golds return fewer rows"
        )))
    }
}

fn at_fault(message: String) -> Fault {
    Fault::permanent(ErrorCode::TaskAtFault, message)
}
