//! The files of one run: a tree in memory that is deleted after the run. It contains nothing of the
//! host's file system.
//!
//! Both instances of an assert test share one tree, so that the program can read a file that the
//! test writes. Names are bytes and are listed in the order of creation, times come from the
//! guest's clock, and node numbers are sequential, so that repeated runs see the same files. The
//! total bytes of all files, the number of nodes, and the lengths of names and paths are limited.

mod complete;
mod content;
mod listing;
mod node;

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_worker::program::{File, MAX_FETCHED};
use serde::{Deserialize, Serialize};

use crate::errno::Errno;
pub(crate) use content::FileBytes;
use node::{Content, DEVICES, Directory, Entry, Node};

pub(crate) use node::{Device, FileType, OpenFlags, Status};

/// Most bytes of all files in total, apart from those that existed at the start.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// Most files and folders, including removed ones that are still open, apart from those that
/// existed at the start.
pub(crate) const MAX_NODES: usize = 4_096;

/// Longest name and longest path in bytes, as on Linux.
const MAX_NAME: usize = 255;
pub(crate) const MAX_PATH: usize = 4_095;

/// Cookie of `..`, the last one before those of entries.
const LAST_DOT: u64 = 2;

/// The root folder, in which guests start.
pub(crate) const ROOT: NodeId = 1;

/// A resolved path.
struct ResolvedPath<'a> {
    folder: NodeId,
    /// The last name; `None` if the path ends with `.` or `..`.
    name: Option<&'a [u8]>,
    node: Option<NodeId>,
    /// The path ends with a slash.
    is_folder: bool,
}

/// The tree. A clone shares the content of files. Serialized without it, see [`Files::complete`].
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Files {
    nodes: BTreeMap<NodeId, Node>,
    /// Number of the next node and cookie of the next entry.
    next: u64,
    #[serde(skip)]
    bytes: u64,
    #[serde(skip)]
    max_nodes: usize,
    #[serde(skip)]
    max_bytes: u64,
}

impl Files {
    /// A tree without even a root, for an instance in which nothing runs.
    pub(crate) fn empty() -> Self {
        Self {
            nodes: BTreeMap::new(),
            next: LAST_DOT,
            bytes: 0,
            max_nodes: MAX_NODES,
            max_bytes: MAX_BYTES,
        }
    }

    /// A tree with these files, of which any number of runs start with a clone. A run can add
    /// `max_bytes`.
    pub(crate) fn with_base<'a>(
        files: impl IntoIterator<Item = (&'a str, FileBytes)>,
        max_bytes: u64,
        now: u64,
    ) -> Result<Self, Errno> {
        let mut tree = Self::new(now);
        (tree.max_nodes, tree.max_bytes) = (usize::MAX, u64::MAX);
        for (path, bytes) in files {
            tree.store(path, &[], now)?;
            let node = tree.find(ROOT, path.trim_start_matches('/').as_bytes())?;
            tree.bytes += bytes.len() as u64;
            tree.node_mut(node)?.content = Content::File(bytes);
        }
        tree.max_nodes = tree.nodes.len().saturating_add(MAX_NODES);
        tree.max_bytes = tree.bytes.saturating_add(max_bytes);
        Ok(tree)
    }

    /// A tree with `/tmp` and `/dev`.
    pub(crate) fn new(now: u64) -> Self {
        let mut files = Self::empty();
        files.nodes.insert(
            ROOT,
            Node::new(Content::Directory(Directory::default()), ROOT, now),
        );
        files.add(ROOT, b"tmp", Content::Directory(Directory::default()), now);
        let dev = files.add(ROOT, b"dev", Content::Directory(Directory::default()), now);
        for (name, device) in DEVICES {
            files.add(dev, name, Content::Device(device), now);
        }
        let streams = files.add(dev, b"fd", Content::Directory(Directory::default()), now);
        for (name, device) in
            [b"0", b"1", b"2"]
                .into_iter()
                .zip([Device::Stdin, Device::Stdout, Device::Stderr])
        {
            files.add(streams, name, Content::Device(device), now);
        }
        files
    }

    /// Creates a file with this content, and the folders above it. Replaces an existing file.
    pub(crate) fn store(&mut self, path: &str, bytes: &[u8], now: u64) -> Result<(), Errno> {
        let path = path.trim_start_matches('/');
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = ROOT;
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            folder = match self.find(folder, part.as_bytes()) {
                Ok(found) => found,
                Err(Errno::NotFound) => {
                    let resolved = self.walk(folder, part.as_bytes())?;
                    self.create(&resolved, Content::Directory(Directory::default()), now)?
                }
                Err(error) => return Err(error),
            };
        }
        let resolved = self.walk(folder, name.as_bytes())?;
        if resolved.is_folder {
            return Err(Errno::IsDirectory);
        }
        let node = match resolved.node {
            Some(node) => node,
            None => self.create(&resolved, Content::File(FileBytes::default()), now)?,
        };
        self.resize(node, 0, now)?;
        let written = self.write(node, 0, bytes, now)?;
        if written < bytes.len() {
            return Err(Errno::NoSpace);
        }
        Ok(())
    }

    /// The content of the file at a path; `None` if there is none.
    pub(crate) fn content(&self, path: &str) -> Option<&[u8]> {
        let path = path.trim_start_matches('/');
        let node = self.find(ROOT, path.as_bytes()).ok()?;
        self.node(node).ok()?.bytes().ok()
    }

    /// The files at these paths. One that would exceed [`MAX_FETCHED`] in total is omitted.
    pub(crate) fn fetch(&self, paths: &[String]) -> Vec<File> {
        let mut left = MAX_FETCHED;
        paths
            .iter()
            .filter_map(|path| {
                let bytes = self.content(path)?;
                left = left.checked_sub(bytes.len() as u64)?;
                Some(File {
                    path: path.clone(),
                    bytes: bytes.to_vec(),
                })
            })
            .collect()
    }

    /// Opens the node at a path; the caller closes it.
    pub(crate) fn open(
        &mut self,
        at: NodeId,
        path: &[u8],
        flags: OpenFlags,
        now: u64,
    ) -> Result<NodeId, Errno> {
        let resolved = self.walk(at, path)?;
        let node = match resolved.node {
            Some(_) if flags.create && flags.exclusive => return Err(Errno::Exists),
            Some(node) => {
                let kind = self.node(node)?.kind();
                if (resolved.is_folder || flags.directory) && kind != FileType::Directory {
                    return Err(Errno::NotDirectory);
                }
                if kind == FileType::Directory && (flags.writes || flags.create || flags.truncate) {
                    return Err(Errno::IsDirectory);
                }
                if flags.truncate && kind == FileType::File {
                    self.resize(node, 0, now)?;
                }
                node
            }
            None if !flags.create => return Err(Errno::NotFound),
            None if resolved.is_folder => return Err(Errno::IsDirectory),
            None if flags.directory => return Err(Errno::Invalid),
            None => self.create(&resolved, Content::File(FileBytes::default()), now)?,
        };
        self.node_mut(node)?.opened += 1;
        Ok(node)
    }

    /// Undoes one `open`.
    pub(crate) fn close(&mut self, node: NodeId) {
        if let Some(known) = self.nodes.get_mut(&node) {
            known.opened = known.opened.saturating_sub(1);
        }
        self.delete_if_unused(node);
    }

    /// The device of a node; `None` for files and folders.
    pub(crate) fn device(&self, node: NodeId) -> Option<Device> {
        match self.nodes.get(&node)?.content {
            Content::Device(device) => Some(device),
            Content::File(_) | Content::Directory(_) => None,
        }
    }

    /// Reads from an offset of a file. Returns 0 at its end.
    pub(crate) fn read(
        &self,
        node: NodeId,
        offset: u64,
        target: &mut [u8],
    ) -> Result<usize, Errno> {
        let bytes = self.node(node)?.bytes()?;
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let length = target.len().min(bytes.len() - start);
        target[..length].copy_from_slice(&bytes[start..start + length]);
        Ok(length)
    }

    /// Writes at an offset of a file, as many bytes as fit into the limit. Returns their number.
    pub(crate) fn write(
        &mut self,
        node: NodeId,
        offset: u64,
        bytes: &[u8],
        now: u64,
    ) -> Result<usize, Errno> {
        let length = self.node(node)?.bytes()?.len() as u64;
        let limit = length + self.max_bytes.saturating_sub(self.bytes);
        let capacity = usize::try_from(limit.saturating_sub(offset)).unwrap_or(usize::MAX);
        let written = &bytes[..bytes.len().min(capacity)];
        if written.is_empty() {
            return if bytes.is_empty() {
                Ok(0)
            } else {
                Err(Errno::NoSpace)
            };
        }
        // No overflow: both are below the limit.
        let (start, end) = (offset, offset + written.len() as u64);
        if end > length {
            self.resize(node, end, now)?;
        }
        let known = self.node_mut(node)?;
        (known.modified, known.changed) = (now, now);
        let range = usize::try_from(start).unwrap_or(usize::MAX)
            ..usize::try_from(end).unwrap_or(usize::MAX);
        known
            .bytes_mut()?
            .get_mut(range)
            .ok_or(Errno::NoSpace)?
            .copy_from_slice(written);
        Ok(written.len())
    }

    /// Total bytes of all files.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.bytes
    }

    /// Truncates a file, or extends it with zeros.
    pub(crate) fn resize(&mut self, node: NodeId, size: u64, now: u64) -> Result<(), Errno> {
        let others = self.bytes - self.node(node)?.bytes()?.len() as u64;
        let total = others
            .checked_add(size)
            .filter(|total| *total <= self.max_bytes)
            .ok_or(Errno::NoSpace)?;
        let known = self.node_mut(node)?;
        (known.modified, known.changed) = (now, now);
        let bytes = known.bytes_mut()?;
        let size = usize::try_from(size).map_err(|_| Errno::NoSpace)?;
        if size > bytes.capacity() {
            // A quarter more than needed: many small writes are cheap, and memory stays near the
            // limit.
            bytes
                .try_reserve_exact(size - bytes.len() + size / 4)
                .map_err(|_| Errno::NoSpace)?;
        }
        bytes.resize(size, 0);
        // A truncated file must not keep its capacity, because only lengths count towards the
        // limit.
        if size < bytes.capacity() / 2 {
            bytes.shrink_to(size);
        }
        self.bytes = total;
        Ok(())
    }

    /// The node at a path.
    pub(crate) fn find(&self, at: NodeId, path: &[u8]) -> Result<NodeId, Errno> {
        let resolved = self.walk(at, path)?;
        let node = resolved.node.ok_or(Errno::NotFound)?;
        if resolved.is_folder && self.node(node)?.kind() != FileType::Directory {
            return Err(Errno::NotDirectory);
        }
        Ok(node)
    }

    pub(crate) fn status(&self, node: NodeId) -> Result<Status, Errno> {
        let known = self.node(node)?;
        let kind = known.kind();
        let size = if let Content::File(bytes) = &known.content {
            bytes.len() as u64
        } else {
            0
        };
        let links = match kind {
            _ if !known.is_linked => 0,
            FileType::Directory => 2,
            FileType::File | FileType::Device | FileType::Unknown => 1,
        };
        let (accessed, modified, changed) = (known.accessed, known.modified, known.changed);
        Ok(Status {
            node,
            kind,
            links,
            size,
            accessed,
            modified,
            changed,
        })
    }

    /// Sets the times that are given.
    pub(crate) fn set_times(
        &mut self,
        node: NodeId,
        accessed: Option<u64>,
        modified: Option<u64>,
        now: u64,
    ) -> Result<(), Errno> {
        let known = self.node_mut(node)?;
        known.accessed = accessed.unwrap_or(known.accessed);
        known.modified = modified.unwrap_or(known.modified);
        known.changed = now;
        Ok(())
    }

    pub(crate) fn create_directory(
        &mut self,
        at: NodeId,
        path: &[u8],
        now: u64,
    ) -> Result<(), Errno> {
        let resolved = self.walk(at, path)?;
        if resolved.node.is_some() {
            return Err(Errno::Exists);
        }
        self.create(&resolved, Content::Directory(Directory::default()), now)
            .map(|_| ())
    }

    pub(crate) fn remove_directory(
        &mut self,
        at: NodeId,
        path: &[u8],
        now: u64,
    ) -> Result<(), Errno> {
        let resolved = self.walk(at, path)?;
        let node = resolved.node.ok_or(Errno::NotFound)?;
        let name = resolved.name.ok_or(if node == ROOT {
            Errno::Busy
        } else {
            Errno::Invalid
        })?;
        if !self.node(node)?.directory()?.entries.is_empty() {
            return Err(Errno::NotEmpty);
        }
        self.remove_entry(resolved.folder, name, now)
    }

    pub(crate) fn unlink(&mut self, at: NodeId, path: &[u8], now: u64) -> Result<(), Errno> {
        let resolved = self.walk(at, path)?;
        let node = resolved.node.ok_or(Errno::NotFound)?;
        match (self.node(node)?.kind(), resolved.name) {
            (FileType::Directory, _) | (_, None) => Err(Errno::IsDirectory),
            _ if resolved.is_folder => Err(Errno::NotDirectory),
            (_, Some(name)) => self.remove_entry(resolved.folder, name, now),
        }
    }

    /// Moves `from` to `to`, and replaces an existing node where Linux does.
    pub(crate) fn rename(
        &mut self,
        (from_at, from): (NodeId, &[u8]),
        (to_at, to): (NodeId, &[u8]),
        now: u64,
    ) -> Result<(), Errno> {
        let (from, to) = (self.walk(from_at, from)?, self.walk(to_at, to)?);
        let node = from.node.ok_or(Errno::NotFound)?;
        let (Some(from_name), Some(to_name)) = (from.name, to.name) else {
            return Err(Errno::Busy);
        };
        let is_directory = self.node(node)?.kind() == FileType::Directory;
        if !is_directory && (from.is_folder || to.is_folder) {
            return Err(Errno::NotDirectory);
        }
        if is_directory && self.is_inside(to.folder, node) {
            return Err(Errno::Invalid);
        }
        match to.node {
            Some(replaced) if replaced == node => return Ok(()),
            Some(replaced) => {
                match &self.node(replaced)?.content {
                    Content::Directory(_) if !is_directory => return Err(Errno::IsDirectory),
                    Content::Directory(target) if !target.entries.is_empty() => {
                        return Err(Errno::NotEmpty);
                    }
                    Content::File(_) | Content::Device(_) if is_directory => {
                        return Err(Errno::NotDirectory);
                    }
                    Content::File(_) | Content::Device(_) | Content::Directory(_) => {}
                }
                self.remove_entry(to.folder, to_name, now)?;
            }
            None => {}
        }
        self.node_mut(from.folder)?
            .directory_mut()?
            .remove(from_name);
        self.touch(from.folder, now);
        self.link(to.folder, to_name, node, now);
        Ok(())
    }

    /// Entries of a folder after a cookie, which is 0 at the start. Returns the name, node, type
    /// and cookie of each.
    pub(crate) fn list(
        &self,
        node: NodeId,
        after: u64,
    ) -> Result<impl Iterator<Item = (&[u8], NodeId, FileType, u64)>, Errno> {
        let known = self.node(node)?;
        let directory = known.directory()?;
        let dots: [(&[u8], NodeId, u64); 2] = [(b".", node, 1), (b"..", known.parent, 2)];
        let dots = dots
            .into_iter()
            .filter(move |(_, _, cookie)| *cookie > after);
        let dots = dots.map(|(name, node, cookie)| (name, node, FileType::Directory, cookie));
        let start = (
            std::ops::Bound::Excluded(after.max(LAST_DOT)),
            std::ops::Bound::Unbounded,
        );
        let entries = directory.order.range(start).filter_map(|(cookie, name)| {
            let node = directory.entries.get(name)?.node;
            Some((&name[..], node, self.nodes.get(&node)?.kind(), *cookie))
        });
        Ok(dots.chain(entries))
    }

    fn node(&self, node: NodeId) -> Result<&Node, Errno> {
        self.nodes.get(&node).ok_or(Errno::BadDescriptor)
    }

    fn node_mut(&mut self, node: NodeId) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&node).ok_or(Errno::BadDescriptor)
    }

    /// Resolves a path from a folder. `..` of the root is the root, as on Linux.
    fn walk<'a>(&self, at: NodeId, path: &'a [u8]) -> Result<ResolvedPath<'a>, Errno> {
        match path {
            [] => return Err(Errno::NotFound),
            // The C library passes paths relative to a preopened folder.
            [b'/', ..] => return Err(Errno::NotCapable),
            _ if path.len() > MAX_PATH => return Err(Errno::NameTooLong),
            _ if path.contains(&0) => return Err(Errno::Invalid),
            _ => {}
        }
        let is_folder = path.ends_with(b"/");
        let mut names = path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
            .peekable();
        let mut folder = at;
        while let Some(name) = names.next() {
            let known = self.node(folder)?;
            let directory = known.directory()?;
            match name {
                b"." => {}
                b".." => folder = known.parent,
                _ if name.len() > MAX_NAME => return Err(Errno::NameTooLong),
                _ => {
                    let node = directory.entries.get(name).map(|entry| entry.node);
                    if names.peek().is_none() {
                        return Ok(ResolvedPath {
                            folder,
                            name: Some(name),
                            node,
                            is_folder,
                        });
                    }
                    folder = node.ok_or(Errno::NotFound)?;
                }
            }
        }
        self.node(folder)?.directory()?;
        Ok(ResolvedPath {
            folder,
            name: None,
            node: Some(folder),
            is_folder,
        })
    }

    /// Whether a folder is `ancestor` or below it.
    fn is_inside(&self, folder: NodeId, ancestor: NodeId) -> bool {
        let mut at = folder;
        loop {
            match self.nodes.get(&at) {
                _ if at == ancestor => return true,
                Some(node) if node.parent != at => at = node.parent,
                _ => return false,
            }
        }
    }

    /// Creates a node at a path, within the limits.
    fn create(
        &mut self,
        resolved: &ResolvedPath<'_>,
        content: Content,
        now: u64,
    ) -> Result<NodeId, Errno> {
        let name = resolved.name.ok_or(Errno::Exists)?;
        if !self.node(resolved.folder)?.is_linked {
            return Err(Errno::NotFound);
        }
        if self.nodes.len() >= self.max_nodes {
            return Err(Errno::NoSpace);
        }
        Ok(self.add(resolved.folder, name, content, now))
    }

    fn add(&mut self, folder: NodeId, name: &[u8], content: Content, now: u64) -> NodeId {
        self.next += 1;
        let node = self.next;
        self.nodes.insert(node, Node::new(content, folder, now));
        self.link(folder, name, node, now);
        node
    }

    fn link(&mut self, folder: NodeId, name: &[u8], node: NodeId, now: u64) {
        self.next += 1;
        let entry = Entry {
            node,
            cookie: self.next,
        };
        if let Some(Content::Directory(directory)) =
            self.nodes.get_mut(&folder).map(|known| &mut known.content)
        {
            let name: Arc<[u8]> = name.into();
            directory.order.insert(entry.cookie, Arc::clone(&name));
            directory.entries.insert(name, entry);
        }
        if let Some(known) = self.nodes.get_mut(&node) {
            (known.parent, known.is_linked, known.changed) = (folder, true, now);
        }
        self.touch(folder, now);
    }

    fn remove_entry(&mut self, folder: NodeId, name: &[u8], now: u64) -> Result<(), Errno> {
        let node = self
            .node_mut(folder)?
            .directory_mut()?
            .remove(name)
            .ok_or(Errno::NotFound)?;
        self.touch(folder, now);
        let known = self.node_mut(node)?;
        (known.parent, known.is_linked, known.changed) = (node, false, now);
        self.delete_if_unused(node);
        Ok(())
    }

    fn touch(&mut self, folder: NodeId, now: u64) {
        if let Some(known) = self.nodes.get_mut(&folder) {
            (known.modified, known.changed) = (now, now);
        }
    }

    /// Deletes a node that is neither linked nor open.
    fn delete_if_unused(&mut self, node: NodeId) {
        if self
            .nodes
            .get(&node)
            .is_some_and(|known| !known.is_linked && known.opened == 0)
            && let Some(known) = self.nodes.remove(&node)
            && let Content::File(bytes) = known.content
        {
            self.bytes -= bytes.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests;

pub(crate) use node::NodeId;
