//! Entry point for the fuzz target for answer extraction. Not part of the API.

use std::ops::Range;

use crate::extract::candidates;

/// The texts of a completion that may be the program, with where they stand.
#[must_use]
pub fn programs(text: &str) -> Vec<(String, Range<usize>)> {
    candidates(text, "python").into_iter().map(|found| (found.text, found.span)).collect()
}
