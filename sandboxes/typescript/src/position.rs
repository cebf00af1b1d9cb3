//! Positions in a text.

/// A position, counted from 1. Columns count UTF-16 units, as JavaScript engines do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The position of a byte offset.
    pub(crate) fn of(text: &str, offset: u32) -> Self {
        let offset = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(text.len());
        let before = &text.as_bytes()[..offset];
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = text
            .get(line_start..offset)
            .map_or(0, |text| text.encode_utf16().count())
            + 1;
        Self { line, column }
    }
}
