//! Entry points for the spool's fuzz target. Not part of the API.

use std::path::Path;

use assay_core::BatchId;

use crate::pending::Pending;
use crate::pending::packs::{Contents, decompress};
use crate::spool::frame::Seal;
use crate::spool::segment::{Folder, header};
use crate::spool::{OpenSpoolError, Position, frame, recovery};
use crate::{Body, Entry};

/// Every byte of the key of the spools that are created here.
const KEY: u8 = 0x5a;

/// Contents of the file `identity` of a spool whose frames [`seal`] writes.
#[must_use]
pub fn identity() -> String {
    format!("spool\n{}\n", format!("{KEY:02x}").repeat(32))
}

/// First bytes of every segment.
#[must_use]
pub fn segment() -> Vec<u8> {
    header(&key())
}

fn key() -> Seal {
    Seal::keyed([KEY; 32])
}

/// The payload of an entry's frame.
#[must_use]
pub fn payload(entry: &Entry) -> Option<Vec<u8>> {
    let contents = Contents::of(entry, 1).ok()?;
    frame::encode(&key(), entry, &contents)
        .ok()
        .map(|frame| frame[frame::HEADER..].to_vec())
}

/// A frame around `payload`.
#[must_use]
pub fn seal(payload: &[u8]) -> Vec<u8> {
    let mut frame_bytes = [&[0; frame::HEADER], payload].concat();
    key().write(&mut frame_bytes);
    frame_bytes
}

/// Offset and length of the first whole frame in `bytes` at or after `from`.
#[must_use]
pub fn find(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let at = frame::find(&key(), bytes, from)?;
    Some((at, frame::measure(&key(), &bytes[at..])?))
}

/// The batch in a frame, its bodies and reply if they can be decompressed, and the re-encoded
/// frame.
#[must_use]
pub fn decode(frame_bytes: &[u8]) -> Option<(BatchId, Vec<Body>, Vec<u8>)> {
    let (entry, contents) = frame::decode(frame_bytes).ok()?;
    let bodies = contents.packs.iter().flat_map(|pack| {
        pack.bodies
            .iter()
            .filter_map(|location| pack.body(location).ok())
    });
    let bodies = bodies.collect();
    let _ = contents.reply.as_ref().map(decompress);
    Some((
        entry.batch,
        bodies,
        frame::encode(&key(), &entry, &contents).ok()?,
    ))
}

/// The batches that a start recovers from the spool at `folder`.
///
/// # Errors
/// If the folder cannot be read or a segment was written by another release.
pub fn recover(folder: &Path) -> Result<Vec<BatchId>, OpenSpoolError> {
    let folder = Folder::open(folder, "spool")?;
    let pending = Pending::new(1 << 20);
    recovery::recover(&folder, Position::default(), &pending, 0)?;
    Ok(pending
        .select(|_| true)
        .iter()
        .map(|item| item.digest.batch)
        .collect())
}
