//! Connections: an empty one for builds, and a read-only one on an image.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, OpenFlags, Result, ffi};

use crate::functions::{self, Originals};
use crate::meter::Meter;
use crate::{guard, image, system};

/// An empty database in memory, on a system without clock and files.
pub(crate) fn empty() -> Result<Connection> {
    if !system::register() {
        return Err(Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_ERROR),
            Some("SQLite has no virtual file system".to_owned()),
        ));
    }
    // Data that does not fit into memory would go to files, which do not exist here.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_MEMORY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_in_memory_with_flags_and_vfs(flags, system::SYSTEM)?;
    connection
        .execute_batch("pragma temp_store=2; pragma foreign_keys=0; pragma cell_size_check=1;")?;
    // The schema may come from an untrusted image, so it may call only harmless functions.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    Ok(connection)
}

/// An image on which statements run, one after another. They leave no state for later ones because
/// they cannot write.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) meter: Meter,
    pub(crate) noted: guard::Noted,
    /// Longest value that a table stores, in bytes; 0 if statements may make longer ones anyway.
    pub(crate) longest_cell: usize,
    pub(crate) bytes: usize,
}

impl Opened {
    /// Opens an image with all restrictions.
    ///
    /// # Errors
    /// If it is not a database, or reading it exceeds the limits.
    pub(crate) fn open(image: &[u8], originals: &Originals) -> Result<Self, String> {
        image::read(image, |mut connection, meter| {
            let longest_cell = image::longest_cell(&connection, image.len())?;
            functions::replace_costly(&connection, &meter, originals)?;
            let noted = guard::install(&mut connection)?;
            Ok(Self {
                connection,
                meter,
                noted,
                longest_cell,
                bytes: image.len(),
            })
        })
    }
}
