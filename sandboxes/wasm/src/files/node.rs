//! The nodes of the tree of files.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::content::FileBytes;
use crate::errno::Errno;

/// A device in `/dev`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Device {
    Stdin,
    Stdout,
    Stderr,
    Null,
    Zero,
    Random,
}

pub(super) const DEVICES: [(&[u8], Device); 6] = [
    (b"stdin", Device::Stdin),
    (b"stdout", Device::Stdout),
    (b"stderr", Device::Stderr),
    (b"null", Device::Null),
    (b"zero", Device::Zero),
    (b"urandom", Device::Random),
];

/// File types of WASI preview 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FileType {
    /// A standard stream: neither a terminal nor a file, so programs buffer as they do in a pipe.
    Unknown = 0,
    Device = 2,
    Directory = 3,
    File = 4,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OpenFlags {
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
    pub(crate) directory: bool,
    pub(crate) writes: bool,
}

/// Metadata of a node. Times are nanoseconds of the guest's wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) node: NodeId,
    pub(crate) kind: FileType,
    pub(crate) links: u64,
    pub(crate) size: u64,
    pub(crate) accessed: u64,
    pub(crate) modified: u64,
    pub(crate) changed: u64,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Content {
    /// The content is serialized elsewhere.
    File(#[serde(skip)] FileBytes),
    Directory(Directory),
    Device(Device),
}

/// Entries by name, and their names in the order of creation, so that a listing continues after its
/// last cookie even if entries were removed in the meantime.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "Listing", into = "Listing")]
pub(super) struct Directory {
    pub(super) entries: BTreeMap<Arc<[u8]>, Entry>,
    pub(super) order: BTreeMap<u64, Arc<[u8]>>,
}

#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) node: NodeId,
    pub(super) cookie: u64,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Node {
    pub(super) content: Content,
    /// The folder that contains it, or the node itself for the root and for removed nodes.
    pub(super) parent: NodeId,
    pub(super) is_linked: bool,
    /// Number of open descriptors.
    #[serde(skip)]
    pub(super) opened: u32,
    pub(super) accessed: u64,
    pub(super) modified: u64,
    pub(super) changed: u64,
}

impl Node {
    pub(super) fn new(content: Content, parent: NodeId, now: u64) -> Self {
        Self {
            content,
            parent,
            is_linked: true,
            opened: 0,
            accessed: now,
            modified: now,
            changed: now,
        }
    }

    pub(super) fn kind(&self) -> FileType {
        match self.content {
            Content::File(_) => FileType::File,
            Content::Directory(_) => FileType::Directory,
            Content::Device(_) => FileType::Device,
        }
    }

    pub(super) fn bytes(&self) -> Result<&[u8], Errno> {
        match &self.content {
            Content::File(bytes) => Ok(bytes),
            Content::Directory(_) => Err(Errno::IsDirectory),
            Content::Device(_) => Err(Errno::Invalid),
        }
    }

    pub(super) fn bytes_mut(&mut self) -> Result<&mut Vec<u8>, Errno> {
        match &mut self.content {
            Content::File(bytes) => Ok(bytes.make_mut()),
            Content::Directory(_) => Err(Errno::IsDirectory),
            Content::Device(_) => Err(Errno::Invalid),
        }
    }

    pub(super) fn directory(&self) -> Result<&Directory, Errno> {
        match &self.content {
            Content::Directory(directory) => Ok(directory),
            Content::File(_) | Content::Device(_) => Err(Errno::NotDirectory),
        }
    }

    pub(super) fn directory_mut(&mut self) -> Result<&mut Directory, Errno> {
        match &mut self.content {
            Content::Directory(directory) => Ok(directory),
            Content::File(_) | Content::Device(_) => Err(Errno::NotDirectory),
        }
    }
}

/// The entries in the order of creation: cookie, name and node.
type Listing = Vec<(u64, Vec<u8>, NodeId)>;

impl From<Listing> for Directory {
    fn from(listing: Listing) -> Self {
        let mut directory = Self::default();
        for (cookie, name, node) in listing {
            let name: Arc<[u8]> = name.into();
            directory.order.insert(cookie, Arc::clone(&name));
            directory.entries.insert(name, Entry { node, cookie });
        }
        directory
    }
}

impl From<Directory> for Listing {
    fn from(directory: Directory) -> Self {
        let order = directory.order.iter();
        order
            .filter_map(|(cookie, name)| {
                let node = directory.entries.get(name)?.node;
                Some((*cookie, name.to_vec(), node))
            })
            .collect()
    }
}

impl Directory {
    pub(super) fn remove(&mut self, name: &[u8]) -> Option<NodeId> {
        let entry = self.entries.remove(name)?;
        self.order.remove(&entry.cookie);
        Some(entry.node)
    }
}

pub(crate) type NodeId = u64;
