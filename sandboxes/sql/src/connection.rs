//! Opens connections: to an empty database for builds, or read-only to an image.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, OpenFlags, Result, ffi};

use crate::functions::{self, Originals};
use crate::meter::Meter;
use crate::{guard, image, system};

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

/// An open image, on which statements run one after another. They cannot write, so they do not
/// affect later ones.
pub(crate) struct OpenImage {
    pub(crate) connection: Connection,
    pub(crate) meter: Meter,
    pub(crate) authorizer_log: guard::AuthorizerLog,
    /// Length of the longest value that a table stores, in bytes; 0 if statements may produce
    /// longer values anyway.
    pub(crate) longest_value: usize,
    /// Length of the image, in bytes.
    pub(crate) bytes: usize,
}

impl OpenImage {
    /// Opens an image with all restrictions.
    ///
    /// # Errors
    /// If the image is not a database, or reading it exceeds the limits.
    pub(crate) fn open(image: &[u8], originals: &Originals) -> Result<Self, String> {
        image::read(image, |mut connection, meter| {
            let longest_value = image::longest_value(&connection, image.len())?;
            functions::replace_costly(&connection, &meter, originals)?;
            let authorizer_log = guard::install(&mut connection)?;
            Ok(Self {
                connection,
                meter,
                authorizer_log,
                longest_value,
                bytes: image.len(),
            })
        })
    }
}
