//! Opens connections: to an empty database for builds, or read-only to an image.

use rusqlite::{Connection, Result};

use crate::functions::{self, Originals};
use crate::meter::Meter;
use crate::{guard, image};

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
    /// Whether the rows are in reverse order.
    pub(crate) is_reversed_copy: bool,
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
                is_reversed_copy: false,
            })
        })
    }
}
