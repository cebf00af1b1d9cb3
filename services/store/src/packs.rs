//! Responsible for how contents are compressed: bodies many at a time in packs, a reply alone.
//! Knows neither files nor tables; the spool and the database both keep what is made here as it is,
//! so that each content is compressed once.
//!
//! Measured on 2 kB of JSON and code at level 1: 13.7 µs a body compressed alone (ratio 0.37), 5.6
//! µs in packs of 64 kB (ratio 0.20). The text decides more than the level: 2.5 µs for rollouts
//! that say the same (0.05), 15 µs for dense English (0.53). Levels below 1 save a tenth of the
//! time for a quarter more bytes, and LZ4 is no faster than they are. Reading one body back unpacks
//! its whole pack, some 100 µs.

use std::cell::RefCell;

use assay_core::Hash;
use assay_core::record::{Body, BodyKind, SealedReply};
use serde::{Deserialize, Serialize};

/// A pack is closed once it holds this many bytes; a larger body has one of its own.
const PACK_BYTES: usize = 64 << 10;

/// Contents below this are kept as they are: a zstd frame's own header would eat what it saves.
const SMALLEST_COMPRESSED: usize = 64;

/// How a content is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Codec {
    /// As it is.
    Plain,
    /// One zstd frame.
    Zstd,
}

impl Codec {
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Plain => 0,
            Self::Zstd => 1,
        }
    }

    pub(crate) fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Plain),
            1 => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// A content that cannot be unpacked or does not have the size its row says.
#[derive(Debug, thiserror::Error)]
#[error(
    "a compressed content cannot be read: {0}; restore the database or the spool from a backup"
)]
pub(crate) struct BadContent(String);

/// Some bytes, compressed if that makes them fewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Squeezed {
    pub(crate) codec: Codec,
    /// Bytes when unpacked.
    pub(crate) size: u32,
    pub(crate) content: Vec<u8>,
}

/// Where a body lies in its pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PackedBody {
    pub(crate) hash: Hash,
    pub(crate) kind: BodyKind,
    pub(crate) start: u32,
    pub(crate) size: u32,
}

/// Several bodies, compressed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pack {
    pub(crate) squeezed: Squeezed,
    pub(crate) bodies: Vec<PackedBody>,
}

impl Pack {
    /// The body at `place`, unpacked.
    pub(crate) fn body(&self, place: &PackedBody) -> Result<Body, BadContent> {
        body_of(&unsqueeze(&self.squeezed)?, place)
    }
}

/// Cuts the body at `place` out of an unpacked pack.
pub(crate) fn body_of(unpacked: &[u8], place: &PackedBody) -> Result<Body, BadContent> {
    let start = place.start as usize;
    let content = start
        .checked_add(place.size as usize)
        .and_then(|end| unpacked.get(start..end))
        .ok_or_else(|| BadContent(format!("body `{}` lies outside its pack", place.hash)))?;
    Ok(Body {
        hash: place.hash,
        kind: place.kind,
        content: content.to_vec(),
    })
}

/// Packs bodies, those of one kind side by side: prompts and tasks repeat over batches, and a pack
/// of nothing but known bodies is never written to the database.
pub(crate) fn pack(bodies: &[Body], level: i32) -> std::io::Result<Vec<Pack>> {
    let mut packs = Vec::new();
    let mut joined = Vec::with_capacity(PACK_BYTES);
    let mut places = Vec::new();
    for kind in [
        BodyKind::Task,
        BodyKind::Text,
        BodyKind::Messages,
        BodyKind::Policy,
        BodyKind::Pair,
        BodyKind::Report,
    ] {
        for body in bodies.iter().filter(|body| body.kind == kind) {
            if !places.is_empty() && joined.len() + body.content.len() > PACK_BYTES {
                packs.push(close(&mut joined, &mut places, level)?);
            }
            places.push(PackedBody {
                hash: body.hash,
                kind,
                start: length(joined.len())?,
                size: length(body.content.len())?,
            });
            joined.extend_from_slice(&body.content);
        }
        if !places.is_empty() {
            packs.push(close(&mut joined, &mut places, level)?);
        }
    }
    Ok(packs)
}

fn close(joined: &mut Vec<u8>, places: &mut Vec<PackedBody>, level: i32) -> std::io::Result<Pack> {
    let pack = Pack {
        squeezed: squeeze(joined, level)?,
        bodies: std::mem::take(places),
    };
    joined.clear();
    Ok(pack)
}

/// A body or reply of 4 GiB or more is refused: no request is let in that large.
fn length(bytes: usize) -> std::io::Result<u32> {
    u32::try_from(bytes).map_err(|_| std::io::Error::from(std::io::ErrorKind::FileTooLarge))
}

thread_local! {
    /// A context of zstd owns some 600 kB of tables; making one costs more than compressing a pack
    /// with it. Kept with its level.
    static COMPRESSOR: RefCell<Option<(i32, zstd::bulk::Compressor<'static>)>> = const { RefCell::new(None) };
}

/// Compresses `content` at a `level` of zstd if it is long enough and becomes shorter. Level 0
/// compresses nothing.
pub(crate) fn squeeze(content: &[u8], level: i32) -> std::io::Result<Squeezed> {
    let size = length(content.len())?;
    let plain = || Squeezed {
        codec: Codec::Plain,
        size,
        content: content.to_vec(),
    };
    if level == 0 || content.len() < SMALLEST_COMPRESSED {
        return Ok(plain());
    }
    let mut compressed = COMPRESSOR.with_borrow_mut(|slot| {
        if slot
            .as_ref()
            .is_none_or(|(its_level, _)| *its_level != level)
        {
            *slot = None;
        }
        let (_, compressor) = match slot {
            Some(kept) => kept,
            None => slot.insert((level, zstd::bulk::Compressor::new(level)?)),
        };
        compressor.compress(content)
    })?;
    if compressed.len() >= content.len() {
        return Ok(plain());
    }
    // The buffer was made for the worst case; entries wait in memory.
    compressed.shrink_to_fit();
    Ok(Squeezed {
        codec: Codec::Zstd,
        size,
        content: compressed,
    })
}

/// The content as it was.
pub(crate) fn unsqueeze(squeezed: &Squeezed) -> Result<Vec<u8>, BadContent> {
    let size = squeezed.size as usize;
    let content = match squeezed.codec {
        Codec::Plain => squeezed.content.clone(),
        Codec::Zstd => zstd::bulk::decompress(&squeezed.content, size)
            .map_err(|error| BadContent(error.to_string()))?,
    };
    if content.len() != size {
        return Err(BadContent(format!(
            "{} bytes where {size} were written",
            content.len()
        )));
    }
    Ok(content)
}

/// What an entry has beside its rows, compressed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Contents {
    pub(crate) packs: Vec<Pack>,
    /// Body of the claim's reply.
    pub(crate) reply: Option<Squeezed>,
}

impl Contents {
    pub(crate) fn of(
        bodies: &[Body],
        reply: Option<&SealedReply>,
        level: i32,
    ) -> std::io::Result<Self> {
        Ok(Self {
            packs: pack(bodies, level)?,
            reply: reply.map(|reply| squeeze(&reply.body, level)).transpose()?,
        })
    }

    /// The body of this name.
    pub(crate) fn body(&self, hash: Hash) -> Result<Option<Body>, BadContent> {
        self.packs
            .iter()
            .find_map(|pack| {
                let place = pack.bodies.iter().find(|place| place.hash == hash)?;
                Some(pack.body(place))
            })
            .transpose()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let packs: usize = self
            .packs
            .iter()
            .map(|pack| pack.squeezed.content.len() + pack.bodies.len() * size_of::<PackedBody>())
            .sum();
        packs + self.reply.as_ref().map_or(0, |reply| reply.content.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(kind: BodyKind, content: Vec<u8>) -> Body {
        Body {
            hash: Hash::of(&content),
            kind,
            content,
        }
    }

    #[test]
    fn every_body_comes_back() {
        let bodies: Vec<Body> = (0..100usize)
            .map(|n| {
                let kind = [BodyKind::Text, BodyKind::Task, BodyKind::Messages][n % 3];
                body(kind, format!("body {n} ").repeat(n * 20).into_bytes())
            })
            .chain([body(BodyKind::Text, vec![7; 3 * PACK_BYTES])])
            .collect();
        let contents = Contents::of(&bodies, None, 1).unwrap();
        assert!(contents.packs.len() > 3);
        for body in &bodies {
            assert_eq!(contents.body(body.hash).unwrap().as_ref(), Some(body));
        }
        assert_eq!(contents.body(Hash::of(b"absent")).unwrap(), None);
    }

    #[test]
    fn a_content_that_does_not_shrink_stays_plain() {
        let squeezed = squeeze(b"short", 1).unwrap();
        assert_eq!(squeezed.codec, Codec::Plain);
        assert_eq!(unsqueeze(&squeezed).unwrap(), b"short");
    }

    #[test]
    fn level_0_compresses_nothing_and_levels_may_change() {
        let content = [b'a'; 1_000];
        for (level, codec) in [
            (0, Codec::Plain),
            (1, Codec::Zstd),
            (3, Codec::Zstd),
            (0, Codec::Plain),
        ] {
            let squeezed = squeeze(&content, level).unwrap();
            assert_eq!(squeezed.codec, codec);
            assert_eq!(unsqueeze(&squeezed).unwrap(), content);
        }
    }

    #[test]
    fn a_wrong_size_is_an_error() {
        let mut squeezed = squeeze(&[b'a'; 1_000], 1).unwrap();
        squeezed.size = 999;
        assert!(unsqueeze(&squeezed).is_err());
    }
}
