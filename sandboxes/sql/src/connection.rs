//! Connections: an empty one to build in, and one on an image that is only read.

use rusqlite::{Connection, Error, OpenFlags, Result, ffi};

use crate::functions::{self, Originals};
use crate::guard;
use crate::meter::{Meter, TICK};
use crate::system;

/// An empty database in memory, on a system without clock and files.
pub(crate) fn empty() -> Result<Connection> {
    if !system::register() {
        return Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some("no system of its own".to_owned())));
    }
    // Whatever does not fit into memory would go to files, and there are none.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_MEMORY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_in_memory_with_flags_and_vfs(flags, system::SYSTEM)?;
    connection.execute_batch("pragma temp_store=2; pragma foreign_keys=0; pragma cell_size_check=1;")?;
    Ok(connection)
}

/// An image that statements are run on, one after another. Nothing of one is left for the next: they cannot write.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) meter: Meter,
    pub(crate) noted: guard::Noted,
    /// Longest value that stands in a table, in bytes, or a bound of it.
    pub(crate) longest_cell: usize,
    pub(crate) bytes: usize,
}

impl Opened {
    /// Opens an image under every guard.
    ///
    /// # Errors
    /// When it is no database.
    pub(crate) fn open(image: &[u8], originals: &Originals) -> Result<Self> {
        let mut connection = empty()?;
        connection.deserialize_read_exact("main", image, image.len(), true)?;
        // Pages are then read where they are, not copied.
        connection.pragma_update(None, "mmap_size", i64::try_from(image.len()).unwrap_or(i64::MAX))?;
        let longest_cell = guard::longest_cell(&connection, image.len())?;
        let meter = Meter::default();
        functions::replace_costly(&connection, &meter, originals)?;
        let noted = guard::install(&connection)?;
        let ticking = meter.clone();
        let tick = i32::try_from(TICK).unwrap_or(i32::MAX);
        connection.progress_handler(tick, Some(move || ticking.tick()))?;
        Ok(Self { connection, meter, noted, longest_cell, bytes: image.len() })
    }
}
