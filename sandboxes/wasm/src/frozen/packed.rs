//! Short runs of bytes, each compressed by itself.

use std::borrow::Cow;
use std::cell::RefCell;

use serde::{Deserialize, Serialize};
use zstd::bulk::{Compressor, Decompressor};

use super::error::{FrozenError, cannot};

/// Longest run, in bytes. A longer one compresses a little better, but is compressed again as a
/// whole if a byte changes.
pub(super) const RUN: usize = 64 << 10;

/// The level of zstd. Levels from 1 on decompress half as fast, and reduce the heap of an
/// interpreter to a sixth instead of a fifth.
const LEVEL: i32 = -1;

/// A run of bytes whose length is known.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Packed<'a> {
    /// As it is, because it hardly compresses.
    Stored(#[serde(borrow, with = "serde_bytes")] Cow<'a, [u8]>),
    Compressed(#[serde(borrow, with = "serde_bytes")] Cow<'a, [u8]>),
}

impl Packed<'_> {
    /// The bytes, unless they are compressed.
    pub(super) fn stored(&self) -> Option<&[u8]> {
        match self {
            Self::Stored(bytes) => Some(bytes),
            Self::Compressed(_) => None,
        }
    }

    /// The bytes that it takes in a frozen instance, without their length.
    pub(super) fn frozen_bytes(&self) -> usize {
        let (Self::Stored(bytes) | Self::Compressed(bytes)) = self;
        bytes.len()
    }
}

/// What zstd needs, which is used again because its memory takes longer to map than a run takes to
/// compress.
#[derive(Default)]
struct Contexts {
    compressor: Option<Compressor<'static>>,
    decompressor: Option<Decompressor<'static>>,
    buffer: Vec<u8>,
}

thread_local! {
    static CONTEXTS: RefCell<Contexts> = RefCell::default();
}

pub(super) fn pack(run: &[u8]) -> Result<Packed<'static>, FrozenError> {
    let failed = |error: std::io::Error| cannot("compressed", &error);
    CONTEXTS.with_borrow_mut(|contexts| {
        let compressor = match &mut contexts.compressor {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(LEVEL).map_err(failed)?),
        };
        let buffer = &mut contexts.buffer;
        buffer.resize(zstd::zstd_safe::compress_bound(RUN), 0);
        let compressed = compressor.compress_to_buffer(run, &mut buffer[..]);
        let length = compressed.map_err(failed)?;
        // Less is not worth the time to decompress it.
        let is_worth_it = length < run.len() - run.len() / 16;
        Ok(if is_worth_it {
            Packed::Compressed(Cow::Owned(buffer[..length].to_vec()))
        } else {
            Packed::Stored(Cow::Owned(run.to_vec()))
        })
    })
}

/// Decompresses a run, which must fill `target`.
pub(super) fn unpack(run: &Packed<'_>, target: &mut [u8]) -> Result<(), FrozenError> {
    let (Packed::Stored(bytes) | Packed::Compressed(bytes)) = run;
    let expected = target.len();
    let unpacked = CONTEXTS.with_borrow_mut(|contexts| {
        let decompressor = contexts.decompressor.get_or_insert_default();
        decompressor.decompress_to_buffer(bytes, target)
    });
    match unpacked {
        Ok(length) if length == expected => Ok(()),
        Ok(_) => Err(cannot("read", &"a part has the wrong length")),
        Err(error) => Err(cannot("read", &error)),
    }
}
