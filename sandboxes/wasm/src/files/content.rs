//! The contents of files. Trees share them until one of them changes a file, and processes share
//! those of mapped files.

use std::ops::{Deref, Range};
use std::sync::Arc;

use memmap2::Mmap;

/// The bytes of a file. Clones share them until one of the clones is changed.
#[derive(Clone)]
pub(crate) enum FileBytes {
    /// In memory.
    Owned(Arc<Vec<u8>>),
    /// A range of a mapped file of the host.
    Mapped(Arc<Mmap>, Range<usize>),
}

impl FileBytes {
    /// Mutable access to the bytes. They are copied first if they are shared or mapped.
    pub(super) fn make_mut(&mut self) -> &mut Vec<u8> {
        if let Self::Mapped(..) = self {
            *self = Self::Owned(Arc::new(self.to_vec()));
        }
        match self {
            Self::Owned(bytes) => Arc::make_mut(bytes),
            Self::Mapped(..) => unreachable!("mapped bytes were copied above"),
        }
    }
}

impl Default for FileBytes {
    fn default() -> Self {
        Self::Owned(Arc::default())
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(map, range) => map.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl From<&[u8]> for FileBytes {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl From<Vec<u8>> for FileBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Owned(Arc::new(bytes))
    }
}
