//! Entry points of the fuzz target of the spool. Not part of the API.

use std::path::Path;

use assay_core::BatchId;
use assay_core::record::{Body, Entry};

use crate::packs::{Contents, unsqueeze};
use crate::pending::Pending;
use crate::spool::frame::Seal;
use crate::spool::segment::{Folder, header};
use crate::spool::{OpenSpoolError, Position, frame, recovery};

/// The key of the spools that are made here, as the file `identity` has it.
const KEY: u8 = 0x5a;

/// A spool whose frames [`seal`] writes: the file `identity` of its folder.
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
    let reply = entry.claim.as_ref().and_then(|claim| claim.reply.as_ref());
    let contents = Contents::of(&entry.bodies, reply, 1).ok()?;
    frame::encode(&key(), entry, &contents).ok().map(|frame| frame[frame::HEADER..].to_vec())
}

/// A frame around `payload`.
#[must_use]
pub fn seal(payload: &[u8]) -> Vec<u8> {
    let mut sealed = [&[0; frame::HEADER], payload].concat();
    key().write(&mut sealed);
    sealed
}

/// First place in `bytes`, from `from` on, where a whole frame starts, and its length.
#[must_use]
pub fn find(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let at = frame::find(&key(), bytes, from)?;
    Some((at, frame::measure(&key(), &bytes[at..])?))
}

/// The batch in a frame, what of its bodies and its reply can be unpacked, and the frame written again.
#[must_use]
pub fn decode(sealed: &[u8]) -> Option<(BatchId, Vec<Body>, Vec<u8>)> {
    let (entry, contents) = frame::decode(sealed).ok()?;
    let bodies = contents.packs.iter().flat_map(|pack| pack.bodies.iter().filter_map(|place| pack.body(place).ok()));
    let bodies = bodies.collect();
    let _ = contents.reply.as_ref().map(unsqueeze);
    Some((entry.batch, bodies, frame::encode(&key(), &entry, &contents).ok()?))
}

/// The batches that a start finds in the spool at `folder`.
///
/// # Errors
/// The folder cannot be read, or a segment is of another release.
pub fn recover(folder: &Path) -> Result<Vec<BatchId>, OpenSpoolError> {
    let folder = Folder::open(folder, "spool")?;
    let pending = Pending::new(1 << 20);
    recovery::recover(&folder, Position::default(), &pending, 0)?;
    Ok(pending.select(|_| true).iter().map(|item| item.digest.batch).collect())
}
