//! A frozen instance: everything in which it differs from a new one of its image, as bytes.
//!
//! No code of the guest is running, so its stack is empty and its state consists of its memory, its
//! globals and the host's state of it. Memory and files are compressed in parts of 64 kB. Parts
//! that did not change since the instance was thawed are copied as they are, so the cost of a call
//! depends on what it changes. The bytes depend only on the state, not on how it was reached.

mod contents;
mod error;
mod packed;
mod segments;

use serde::{Deserialize, Serialize};
use wasmtime::Val;

use crate::descriptors::{Descriptor, Target, is_table};
use crate::files::Files;
use contents::Content;
pub(crate) use contents::ThawedContents;
pub(crate) use error::{FrozenError, cannot};
use segments::Segment;
pub(crate) use segments::ThawedSegments;

/// Bytes of a frozen instance in addition to its parts, for a typical number of files.
const OVERHEAD: usize = 16 << 10;

/// Largest position in the random numbers of an instance: more than any session draws.
const MAX_RANDOM_POSITION: u64 = 1 << 56;

/// The state of an instance.
#[derive(Serialize, Deserialize)]
pub(crate) struct Frozen<'a> {
    /// Hash of the image.
    image: &'a str,
    /// The host's state, with files that have no content.
    pub(crate) host: HostState,
    /// The contents of the files, in the order of their nodes.
    #[serde(borrow)]
    contents: Vec<Content<'a>>,
    /// `None` if no instance outlives a call, because each runs another program.
    #[serde(borrow)]
    pub(crate) memory: Option<Memory<'a>>,
}

/// The memory and the globals of an instance.
#[derive(Serialize, Deserialize)]
pub(crate) struct Memory<'a> {
    /// Size of the memory.
    pub(crate) bytes: u64,
    /// The mutable globals.
    pub(crate) globals: Vec<GlobalValue>,
    /// The parts that differ from a new instance, in order.
    #[serde(borrow)]
    pub(crate) segments: Vec<Segment<'a>>,
}

/// The host's state of an instance that outlives a call.
#[derive(Serialize, Deserialize)]
pub(crate) struct HostState {
    /// The files.
    pub(crate) files: Files,
    /// The open descriptors.
    pub(crate) descriptors: Vec<Option<Descriptor>>,
    /// Seed of the random numbers, and bytes drawn.
    pub(crate) seed: u64,
    pub(crate) random_position: u64,
    /// Nanoseconds on the guest's clock.
    pub(crate) clock: u64,
}

/// A value of a mutable global.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GlobalValue {
    I32(i32),
    I64(i64),
    /// Bits.
    F32(u32),
    /// Bits.
    F64(u64),
}

impl GlobalValue {
    /// `None` for references and vectors, which no image has in a mutable global.
    pub(crate) fn of(value: &Val) -> Option<Self> {
        match value {
            Val::I32(value) => Some(Self::I32(*value)),
            Val::I64(value) => Some(Self::I64(*value)),
            Val::F32(bits) => Some(Self::F32(*bits)),
            Val::F64(bits) => Some(Self::F64(*bits)),
            _ => None,
        }
    }

    pub(crate) fn value(self) -> Val {
        match self {
            Self::I32(value) => Val::I32(value),
            Self::I64(value) => Val::I64(value),
            Self::F32(bits) => Val::F32(bits),
            Self::F64(bits) => Val::F64(bits),
        }
    }
}

impl Memory<'_> {
    /// Bytes of the pages that differ from a new instance.
    pub(crate) fn changed_bytes(&self) -> u64 {
        let bytes = self.segments.iter().map(Segment::changed_bytes);
        bytes.sum::<usize>() as u64
    }
}

impl<'a> Frozen<'a> {
    /// The state of an instance of the image with this hash. `thawed` are the files before the
    /// call.
    pub(crate) fn new(
        image: &'a str,
        host: HostState,
        thawed: &ThawedContents<'a>,
        memory: Option<Memory<'a>>,
    ) -> Result<Self, FrozenError> {
        Ok(Self {
            image,
            contents: thawed.freeze(&host.files)?,
            host,
            memory,
        })
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, FrozenError> {
        let segments = self.memory.iter().flat_map(|memory| &memory.segments);
        let segments = segments.map(Segment::frozen_bytes).sum::<usize>();
        let contents = self.contents.iter().map(Content::frozen_bytes);
        let bytes = Vec::with_capacity(OVERHEAD + segments + contents.sum::<usize>());
        postcard::to_extend(self, bytes).map_err(|error| cannot("written", &error))
    }

    /// Reads an instance of the image with this hash. Also returns the contents of its files, for
    /// [`Frozen::new`].
    ///
    /// # Errors
    /// If the bytes are damaged, or the image was rebuilt.
    pub(crate) fn read(
        bytes: &'a [u8],
        image: &str,
    ) -> Result<(Self, ThawedContents<'a>), FrozenError> {
        let mut frozen: Self =
            postcard::from_bytes(bytes).map_err(|error| cannot("read", &error))?;
        if frozen.image != image {
            return Err(cannot(
                "thawed",
                &"it belongs to another version of its image",
            ));
        }
        let HostState {
            files,
            descriptors,
            random_position,
            ..
        } = &mut frozen.host;
        if !is_table(descriptors) || *random_position > MAX_RANDOM_POSITION {
            return Err(cannot("thawed", &"its descriptors are not valid"));
        }
        let opened = descriptors
            .iter()
            .flatten()
            .filter_map(|open| match open.target {
                Target::Node(node) => Some(node),
                Target::Device(_) => None,
            });
        let contents = std::mem::take(&mut frozen.contents);
        let thawed = ThawedContents::apply(contents, files, opened)?;
        Ok((frozen, thawed))
    }
}
