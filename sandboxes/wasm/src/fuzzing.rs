//! Entry points of the fuzz target for messages from guests. Not part of the API.

use assay_worker::program::End;
use serde_json::{Map, Value};

use crate::guest;
use crate::message::{self, Message};

/// Longest header of a message, in bytes.
pub const MAX_HEADER: usize = message::MAX_HEADER;

/// A header and its blobs.
pub type Parts = (Map<String, Value>, Vec<Vec<u8>>);

/// Reads a message.
#[must_use]
pub fn read(bytes: &[u8]) -> Option<Parts> {
    let Message { header, blobs } = Message::read(bytes)?;
    Some((header, blobs.into_iter().map(<[u8]>::to_vec).collect()))
}

/// Writes a message.
#[must_use]
pub fn write(header: Map<String, Value>, blobs: &[&[u8]]) -> Vec<u8> {
    message::write(header, blobs)
}

/// How a program ended, according to the reply of its instance.
#[must_use]
pub fn end(reply: &[u8]) -> End {
    guest::end_of(reply)
}
