//! Opens connections: to an empty database for builds, or read-only to an image.

use rusqlite::{Connection, Result};

use crate::empty::empty;
use crate::functions::{self, Originals};
use crate::meter::Meter;
use crate::{guard, image};

/// An open image, on which statements run one after another. They cannot write, so they do not
/// affect later ones, unless it was opened for a session.
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
        image::read(image, |connection, meter| {
            Self::restricted((connection, meter), image, originals, guard::install)
        })
    }

    /// Opens an image, or an empty database if it is empty, for statements that may write to it.
    ///
    /// # Errors
    /// If the image is not a database or corrupt, or reading it exceeds the limits.
    pub(crate) fn open_to_write(image: &[u8], originals: &Originals) -> Result<Self, String> {
        let mut connection = match image {
            [] => empty().map_err(|error| error.to_string()),
            image => image::write(image, true),
        }?;
        let open = || -> Result<Self> {
            let meter = Meter::default();
            meter.begin(image::steps(image));
            meter.attach(&mut connection)?;
            let opened = (connection, meter);
            Self::restricted(opened, image, originals, guard::install_for_session)
        };
        open().map_err(|error| error.to_string())
    }

    fn restricted(
        (mut connection, meter): (Connection, Meter),
        image: &[u8],
        originals: &Originals,
        install: fn(&mut Connection) -> Result<guard::AuthorizerLog>,
    ) -> Result<Self> {
        let longest_value = image::longest_value(&connection, image.len())?;
        functions::replace_costly(&connection, &meter, originals)?;
        let authorizer_log = install(&mut connection)?;
        Ok(Self {
            connection,
            meter,
            authorizer_log,
            longest_value,
            bytes: image.len(),
            is_reversed_copy: false,
        })
    }
}
