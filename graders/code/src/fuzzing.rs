//! Entry point of the fuzz target for extraction. Not part of the API.

use std::ops::Range;

use crate::extract::candidates;

/// The texts of a completion that may be the program, with their byte ranges.
#[must_use]
pub fn programs(text: &str) -> Vec<(String, Range<usize>)> {
    candidates(text, "python")
        .into_iter()
        .map(|found| (found.text, found.span))
        .collect()
}
