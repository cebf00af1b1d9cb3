//! A mark with which calls start, and the marks that end them.

use super::Form;
use super::scan::Scan;
use crate::json::SyntaxError;

/// Reads one attempt and adds its calls. The cursor is after the mark.
pub(super) type ReadAttempt = fn(&mut Scan<'_, '_>, &Mark) -> Result<(), SyntaxError>;

/// A mark with which calls start.
pub(super) struct Mark {
    pub(super) open: &'static str,
    pub(super) form: Form,
    pub(super) read: ReadAttempt,
    /// Marks that end the attempt; the first one is the usual one.
    pub(super) ends: &'static [&'static str],
    /// Marks that belong to an attempt although attempts may start with them.
    pub(super) inside: &'static [&'static str],
    /// Whether the mark may also enclose attempts in other forms, which are then read in its place.
    pub(super) encloses: bool,
    /// Whether the mark at the cursor starts an attempt; `None` for marks that always do.
    pub(super) applies: Option<fn(&Scan<'_, '_>) -> bool>,
}

/// Reads the usual end mark.
pub(super) fn end(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    mark.ends.first().map_or(Ok(()), |end| scan.require(end))
}

/// Reads an end mark, which may be missing at the end of the text and before another attempt.
pub(super) fn optional_end(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    let another_follows = scan.rest().trim_start().starts_with(mark.open);
    if another_follows || mark.ends.iter().any(|end| scan.take(end)) || scan.is_at_end() {
        return Ok(());
    }
    Err(scan.error("unexpected text after the call"))
}
