//! Counts the memory of a prepared task while it is prepared.

use assay_core::{ErrorCode, Fault};

use crate::gold::Gold;
use crate::queries::Database;

/// Most bytes of all databases of a task: a worker can keep them open together, and one request can
/// carry them.
const MOST_DATABASE_BYTES: u64 = 192 << 20;

/// Databases and results of golds so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    databases: usize,
    database_bytes: u64,
    result_bytes: u64,
    most_result_bytes: u64,
}

impl Tally {
    pub(crate) fn new(most_result_bytes: u64) -> Self {
        Self {
            databases: 0,
            database_bytes: 0,
            result_bytes: 0,
            most_result_bytes,
        }
    }

    /// Counts a database.
    ///
    /// # Errors
    /// When the databases exceed the limit together.
    pub(crate) fn add_database(&mut self, database: &Database) -> Result<(), Fault> {
        self.databases += 1;
        self.database_bytes += database.bytes() as u64;
        let bytes = self.database_bytes;
        if bytes <= MOST_DATABASE_BYTES {
            return Ok(());
        }
        Err(at_fault(format!(
            "the databases have {bytes} bytes together; at most {MOST_DATABASE_BYTES} are allowed"
        )))
    }

    /// Counts the result of a gold on the last database.
    ///
    /// # Errors
    /// When the results exceed the limit together.
    pub(crate) fn add_gold(&mut self, gold: &Gold) -> Result<(), Fault> {
        self.result_bytes += gold.bytes() as u64;
        let Self {
            databases,
            result_bytes,
            most_result_bytes,
            ..
        } = *self;
        if result_bytes <= most_result_bytes {
            return Ok(());
        }
        let on = if databases == 1 {
            "1 database".to_owned()
        } else {
            format!("{databases} databases")
        };
        Err(at_fault(format!(
            "the results of the golds have {result_bytes} bytes on {on}, more than the \
             {most_result_bytes} that `sql.result_bytes` allows for a task; raise it, or let the \
             golds return fewer rows"
        )))
    }
}

fn at_fault(message: String) -> Fault {
    Fault::permanent(ErrorCode::TaskAtFault, message)
}
