//! Codes of errors.

use sqlx::error::DatabaseError as _;
use sqlx::sqlite::SqliteError;

/// Primary result codes of SQLite that are caused by the contents of an entry and not by the state
/// of the database. The list is short on purpose: with any other code the entry stays in the spool
/// and is retried. `SQLITE_ERROR` is the code of an integer overflow but also of a missing table;
/// [`Database::probe`](crate::database::Database::probe) distinguishes them.
const ENTRY_CODES: [u32; 5] = [
    1,  // SQLITE_ERROR
    18, // SQLITE_TOOBIG
    19, // SQLITE_CONSTRAINT
    20, // SQLITE_MISMATCH
    25, // SQLITE_RANGE
];

/// Primary result codes of SQLite for a file with invalid contents: `SQLITE_CORRUPT` and
/// `SQLITE_NOTADB`.
const DAMAGE_CODES: [u32; 2] = [11, 26];

/// The primary result code, which is the lowest byte of a code; `None` for other errors.
fn code(error: &sqlx::Error) -> Option<u32> {
    let error = error.as_database_error()?;
    let code: u32 = error
        .try_downcast_ref::<SqliteError>()?
        .code()?
        .parse()
        .ok()?;
    Some(code & 0xff)
}

/// Whether the database file is damaged, as opposed to one that cannot be used now.
pub(crate) fn is_damage(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| DAMAGE_CODES.contains(&code))
}

/// Whether the values of a statement may be the cause.
pub(crate) fn may_be_caused_by_values(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| ENTRY_CODES.contains(&code))
}
