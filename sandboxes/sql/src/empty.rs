//! An empty database in memory.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, OpenFlags, Result, ffi};

use crate::system;

/// An empty database in memory, on a virtual file system without files and with a fixed clock.
pub(crate) fn empty() -> Result<Connection> {
    if !system::register() {
        return Err(Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_ERROR),
            Some("the virtual file system of SQLite cannot be registered".to_owned()),
        ));
    }
    // Everything is in memory, because there are no files.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_MEMORY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_in_memory_with_flags_and_vfs(flags, system::VFS_NAME)?;
    connection
        .execute_batch("pragma temp_store=2; pragma foreign_keys=0; pragma cell_size_check=1;")?;
    // The schema may be that of an untrusted image, so it may call only innocuous functions.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    Ok(connection)
}
