//! Short runs of bytes, each compressed by itself.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use zstd::bulk::{Compressor, Decompressor};

use super::{FrozenError, cannot};

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

/// Compresses runs and decompresses them. Both need memory that is used again.
#[derive(Default)]
pub(super) struct Packer {
    compressor: Option<Compressor<'static>>,
    decompressor: Decompressor<'static>,
    buffer: Vec<u8>,
}

impl Packer {
    pub(super) fn pack(&mut self, run: &[u8]) -> Result<Packed<'static>, FrozenError> {
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            none => {
                self.buffer.resize(zstd::zstd_safe::compress_bound(RUN), 0);
                let new = Compressor::new(LEVEL).map_err(|error| cannot("compressed", &error))?;
                none.insert(new)
            }
        };
        let length = compressor
            .compress_to_buffer(run, &mut self.buffer[..])
            .map_err(|error| cannot("compressed", &error))?;
        // Less is not worth the time to decompress it.
        let is_worth_it = length < run.len() - run.len() / 16;
        Ok(if is_worth_it {
            Packed::Compressed(Cow::Owned(self.buffer[..length].to_vec()))
        } else {
            Packed::Stored(Cow::Owned(run.to_vec()))
        })
    }

    /// Decompresses a run, which must fill `target`.
    pub(super) fn unpack(
        &mut self,
        run: &Packed<'_>,
        target: &mut [u8],
    ) -> Result<(), FrozenError> {
        let (Packed::Stored(bytes) | Packed::Compressed(bytes)) = run;
        let length = self
            .decompressor
            .decompress_to_buffer(bytes, &mut *target)
            .map_err(|error| cannot("read", &error))?;
        if length == target.len() {
            Ok(())
        } else {
            Err(cannot("read", &"a part has the wrong length"))
        }
    }
}
