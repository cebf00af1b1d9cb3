//! A frozen instance: everything in which it differs from a new one of its image, as bytes.
//!
//! No code of the guest is running, so its stack is empty and its state consists of its memory, its
//! globals and the host's state of it. Pages are stored as the exclusive or with those of a new
//! instance, in which most bytes are zeros, and compressed.

use serde::{Deserialize, Serialize};
use wasmtime::Val;

use crate::descriptors::Descriptor;
use crate::files::Files;
use crate::pages::PAGE;

/// The fastest level of zstd with its usual parameters. Higher ones take several times as long.
const LEVEL: i32 = 1;

/// The state of an instance.
#[derive(Serialize, Deserialize)]
pub(crate) struct Frozen {
    /// Hash of the image.
    image: String,
    /// Size of the memory.
    pub(crate) memory_bytes: u64,
    /// The mutable globals.
    pub(crate) globals: Vec<GlobalValue>,
    /// The host's state.
    pub(crate) host: HostState,
    /// Numbers of the pages that differ from a new instance, in ascending order.
    pages: Vec<u32>,
    /// The differences of these pages, compressed.
    #[serde(with = "serde_bytes")]
    differences: Vec<u8>,
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

/// Pages that differ from those of a new instance.
#[derive(Default)]
pub(crate) struct Differences {
    numbers: Vec<u32>,
    bytes: Vec<u8>,
}

impl Differences {
    /// Adds the page with this number unless both are equal. An empty original has only zeros.
    pub(crate) fn compare(&mut self, number: usize, found: &[u8], original: &[u8]) {
        let is_equal = match original {
            [] => found.iter().all(|byte| *byte == 0),
            original => found == original,
        };
        let Ok(number) = u32::try_from(number) else {
            return;
        };
        if is_equal {
            return;
        }
        self.numbers.push(number);
        match original {
            [] => self.bytes.extend_from_slice(found),
            original => self
                .bytes
                .extend(found.iter().zip(original).map(|(a, b)| a ^ b)),
        }
    }
}

impl Frozen {
    pub(crate) fn new(
        image: &str,
        memory_bytes: u64,
        globals: Vec<GlobalValue>,
        host: HostState,
        differences: &Differences,
    ) -> Result<Self, FrozenError> {
        let compressed = zstd::bulk::compress(&differences.bytes, LEVEL);
        Ok(Self {
            image: image.to_owned(),
            memory_bytes,
            globals,
            host,
            pages: differences.numbers.clone(),
            differences: compressed.map_err(|error| cannot("compressed", &error))?,
        })
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, FrozenError> {
        postcard::to_allocvec(self).map_err(|error| cannot("written", &error))
    }

    /// Reads an instance of the image with this hash.
    ///
    /// # Errors
    /// If the bytes are damaged, or the image was rebuilt.
    pub(crate) fn read(bytes: &[u8], image: &str) -> Result<Self, FrozenError> {
        let frozen: Self = postcard::from_bytes(bytes).map_err(|error| cannot("read", &error))?;
        if frozen.image != image {
            return Err(cannot(
                "thawed",
                &"it belongs to another version of its image",
            ));
        }
        Ok(frozen)
    }

    /// Bytes of the pages that differ from a new instance.
    pub(crate) fn changed_bytes(&self) -> u64 {
        (self.pages.len() * PAGE) as u64
    }

    /// Applies the differences to the memory of a new instance, which has the right size.
    pub(crate) fn apply(&self, memory: &mut [u8]) -> Result<(), FrozenError> {
        if self.changed_bytes() > memory.len() as u64 {
            return Err(cannot("thawed", &"it has more pages than its memory"));
        }
        let bytes = zstd::bulk::decompress(&self.differences, self.pages.len() * PAGE)
            .map_err(|error| cannot("read", &error))?;
        let pages = bytes.chunks_exact(PAGE);
        if pages.len() != self.pages.len() {
            return Err(cannot("read", &"pages are missing"));
        }
        for (number, difference) in self.pages.iter().zip(pages) {
            let start = *number as usize * PAGE;
            let page = memory.get_mut(start..start + PAGE);
            let page = page.ok_or_else(|| cannot("thawed", &"a page is outside of its memory"))?;
            page.iter_mut()
                .zip(difference)
                .for_each(|(byte, difference)| *byte ^= difference);
        }
        Ok(())
    }
}

/// Why an instance cannot be frozen or thawed. Another attempt would fail as well.
#[derive(Debug, thiserror::Error)]
#[error("the session cannot be {done}: {reason}")]
pub(crate) struct FrozenError {
    done: &'static str,
    reason: String,
}

/// The error about an instance that cannot be `done`.
pub(crate) fn cannot(done: &'static str, reason: &dyn std::fmt::Display) -> FrozenError {
    FrozenError {
        done,
        reason: reason.to_string(),
    }
}
