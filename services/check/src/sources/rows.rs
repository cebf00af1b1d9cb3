//! Rows of a source, with their locations.

use std::sync::Arc;

use assay_base::TextPosition;

use crate::row::{RowLocation, SourceRow};

/// Makes the locations of the rows of one dataset.
#[derive(Clone)]
pub(super) struct Locations {
    pub(super) dataset: Arc<str>,
    pub(super) is_line: bool,
}

impl Locations {
    pub(super) fn at(&self, number: u64) -> RowLocation {
        RowLocation {
            dataset: Arc::clone(&self.dataset),
            number,
            is_line: self.is_line,
            line: self.is_line.then_some(number),
        }
    }

    /// The location of a row that begins at a position of its file.
    pub(super) fn at_line(&self, number: u64, start: TextPosition) -> RowLocation {
        RowLocation {
            line: Some(start.line()),
            ..self.at(number)
        }
    }
}

/// Maximum size of a row, in bytes of its text.
pub(super) const MAX_ROW_BYTES: usize = 64 << 20;

/// Rows of a file, in order.
pub(crate) type Rows = Box<dyn Iterator<Item = SourceRow> + Send>;
