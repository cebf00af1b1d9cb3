//! Compares the value that a function returned, in the notation of the image's driver, with the
//! JSON value that the task expects.
//!
//! The notation is JSON in which an object with the key `$` is a value of a type that JSON does not
//! have; the drivers of the images write it. A value is equal to the expected one if
//! Python's `==` returns true for it and `json.loads` of the expected text, or if `json.dumps`
//! writes the same text for both, which writes a tuple as an array and a key of a dictionary as a
//! string. A set equals an array only in a test with `unordered`.

mod compare;
mod notation;
mod numbers;
#[cfg(test)]
mod tests;
mod unordered;

use assay_documents::Json;
use assay_documents::json::Reader;

pub(crate) use compare::{Rule, equal};
pub(crate) use notation::shown;
pub(crate) use numbers::within;

/// Most levels of a value. The driver stops at 200 nested containers, each of which takes at most
/// four levels of the notation.
const MAX_DEPTH: usize = 1_000;

/// Reads a JSON value, including repeated keys; `None` if the text is not valid.
pub(crate) fn read(text: &str) -> Option<Json> {
    Reader::new(text)
        .to_depth(MAX_DEPTH)
        .with_repeated_keys()
        .all()
        .ok()
}
