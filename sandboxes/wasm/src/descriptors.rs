//! Open descriptors of one instance: the standard streams, the folder at which every path starts,
//! and what the guest has opened.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::errno::Errno;
use crate::files::{Device, Files, NodeId, OpenFlags, ROOT};

/// Most open descriptors.
const MAX_DESCRIPTORS: usize = 256;

/// The one preopened folder. The C library looks for preopened folders from descriptor 3 on.
pub(crate) const PREOPENED: i32 = 3;

/// What a descriptor refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Target {
    Device(Device),
    Node(NodeId),
}

/// One open descriptor.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Descriptor {
    pub(crate) target: Target,
    pub(crate) position: u64,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) appends: bool,
}

/// Origin of a seek.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whence {
    Start,
    Current,
    End,
}

/// Whether these can be the descriptors of an instance: no more than it can open, and the
/// preopened folder in its place.
pub(crate) fn is_table(table: &[Option<Descriptor>]) -> bool {
    let preopened = usize::try_from(PREOPENED)
        .ok()
        .and_then(|at| table.get(at)?.as_ref());
    table.len() <= MAX_DESCRIPTORS
        && preopened.is_some_and(|folder| folder.target == Target::Node(ROOT))
}

/// The table of descriptors, and the files they refer to.
pub(crate) struct Descriptors {
    table: Vec<Option<Descriptor>>,
    files: Arc<Mutex<Files>>,
}

impl Descriptors {
    pub(crate) fn new(files: Arc<Mutex<Files>>) -> Self {
        Self {
            table: Self::initial(),
            files,
        }
    }

    /// The descriptors that are open from the start.
    fn initial() -> Vec<Option<Descriptor>> {
        let stream = |device, reads| Descriptor {
            target: Target::Device(device),
            position: 0,
            reads,
            writes: !reads,
            appends: false,
        };
        let root = Descriptor {
            target: Target::Node(ROOT),
            position: 0,
            reads: true,
            writes: false,
            appends: false,
        };
        let table = [
            stream(Device::Stdin, true),
            stream(Device::Stdout, false),
            stream(Device::Stderr, false),
            root,
        ];
        table.into_iter().map(Some).collect()
    }

    /// Closes what the guest has opened, and opens what it has closed.
    pub(crate) fn close_all(&mut self) {
        let closed = std::mem::replace(&mut self.table, Self::initial());
        let mut files = self.files();
        for descriptor in closed.into_iter().flatten() {
            if let Target::Node(node) = descriptor.target {
                files.close(node);
            }
        }
    }

    /// The table.
    pub(crate) fn table(&self) -> &[Option<Descriptor>] {
        &self.table
    }

    /// Replaces the table with that of a frozen instance.
    pub(crate) fn set_table(&mut self, table: Vec<Option<Descriptor>>) {
        self.table = table;
    }

    /// The files. Only one of the two instances of a test runs at a time, so the lock is never
    /// contended.
    pub(crate) fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, fd: i32) -> Result<Descriptor, Errno> {
        let known = usize::try_from(fd)
            .ok()
            .and_then(|fd| self.table.get(fd))
            .copied()
            .flatten();
        known.ok_or(Errno::BadDescriptor)
    }

    pub(crate) fn get_mut(&mut self, fd: i32) -> Result<&mut Descriptor, Errno> {
        let known = usize::try_from(fd)
            .ok()
            .and_then(|fd| self.table.get_mut(fd))
            .and_then(Option::as_mut);
        known.ok_or(Errno::BadDescriptor)
    }

    /// The folder at which a path starts.
    pub(crate) fn folder(&self, fd: i32) -> Result<NodeId, Errno> {
        match self.get(fd)?.target {
            Target::Node(node) => Ok(node),
            Target::Device(_) => Err(Errno::NotDirectory),
        }
    }

    /// The file or folder of a descriptor. For devices, the error is `other`.
    pub(crate) fn node(&self, fd: i32, other: Errno) -> Result<NodeId, Errno> {
        match self.get(fd)?.target {
            Target::Node(node) => Ok(node),
            Target::Device(_) => Err(other),
        }
    }

    /// Opens a path as the lowest free descriptor, as POSIX requires.
    pub(crate) fn open(
        &mut self,
        at: i32,
        path: &[u8],
        flags: OpenFlags,
        (reads, appends): (bool, bool),
        now: u64,
    ) -> Result<i32, Errno> {
        let folder = self.folder(at)?;
        let free = self
            .table
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.table.len());
        if free >= MAX_DESCRIPTORS {
            return Err(Errno::TooManyOpen);
        }
        let mut files = self.files();
        let node = files.open(folder, path, flags, now)?;
        let target = match files.device(node) {
            Some(device) => {
                files.close(node);
                Target::Device(device)
            }
            None => Target::Node(node),
        };
        drop(files);
        let descriptor = Descriptor {
            target,
            position: 0,
            reads,
            writes: flags.writes,
            appends,
        };
        match self.table.get_mut(free) {
            Some(slot) => *slot = Some(descriptor),
            None => self.table.push(Some(descriptor)),
        }
        i32::try_from(free).map_err(|_| Errno::TooManyOpen)
    }

    pub(crate) fn close(&mut self, fd: i32) -> Result<(), Errno> {
        if fd == PREOPENED {
            // The guest did not open it, and without it no path could be resolved.
            return Err(Errno::BadDescriptor);
        }
        let closed = usize::try_from(fd)
            .ok()
            .and_then(|fd| self.table.get_mut(fd))
            .and_then(Option::take);
        if let Target::Node(node) = closed.ok_or(Errno::BadDescriptor)?.target {
            self.files().close(node);
        }
        Ok(())
    }

    /// Reads from a file at an offset, or else at the descriptor's position, which advances.
    pub(crate) fn read(
        &mut self,
        fd: i32,
        at: Option<u64>,
        target: &mut [u8],
    ) -> Result<usize, Errno> {
        let known = self.get(fd)?;
        let node = self.node(fd, Errno::BadDescriptor)?;
        if !known.reads {
            return Err(Errno::BadDescriptor);
        }
        let length = self
            .files()
            .read(node, at.unwrap_or(known.position), target)?;
        if at.is_none() {
            self.get_mut(fd)?.position += length as u64;
        }
        Ok(length)
    }

    /// Writes to a file at an offset, or else at the descriptor's position, which advances.
    pub(crate) fn write(
        &mut self,
        fd: i32,
        at: Option<u64>,
        bytes: &[u8],
        now: u64,
    ) -> Result<usize, Errno> {
        let known = self.get(fd)?;
        let node = self.node(fd, Errno::BadDescriptor)?;
        if !known.writes {
            return Err(Errno::BadDescriptor);
        }
        let mut files = self.files();
        let start = match at {
            // Like Linux, appends even if an offset is given.
            _ if known.appends => files.status(node)?.size,
            Some(offset) => offset,
            None => known.position,
        };
        let length = files.write(node, start, bytes, now)?;
        drop(files);
        if at.is_none() {
            self.get_mut(fd)?.position = start + length as u64;
        }
        Ok(length)
    }

    pub(crate) fn seek(&mut self, fd: i32, offset: i64, whence: Whence) -> Result<u64, Errno> {
        let known = self.get(fd)?;
        let node = match known.target {
            Target::Node(node) => node,
            // These devices have no length, and a seek always succeeds.
            Target::Device(Device::Null | Device::Zero | Device::Random) => return Ok(0),
            Target::Device(Device::Stdin | Device::Stdout | Device::Stderr) => {
                return Err(Errno::NotSeekable);
            }
        };
        let origin = match whence {
            Whence::Start => 0,
            Whence::Current => known.position,
            Whence::End => self.files().status(node)?.size,
        };
        let position = origin
            .checked_add_signed(offset)
            .filter(|position| i64::try_from(*position).is_ok());
        self.get_mut(fd)?.position = position.ok_or(Errno::Invalid)?;
        position.ok_or(Errno::Invalid)
    }

    /// Sets the length of a file that was opened for writing.
    pub(crate) fn resize(&self, fd: i32, size: u64, now: u64) -> Result<(), Errno> {
        let node = self.node(fd, Errno::Invalid)?;
        if !self.get(fd)?.writes {
            return Err(Errno::Invalid);
        }
        self.files().resize(node, size, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: OpenFlags = OpenFlags {
        create: true,
        exclusive: false,
        truncate: false,
        directory: false,
        writes: true,
    };

    fn descriptors() -> Descriptors {
        Descriptors::new(Arc::new(Mutex::new(Files::new(0))))
    }

    #[test]
    fn streams_and_one_folder_are_open_from_the_start() {
        let mut table = descriptors();
        assert_eq!(table.get(0).unwrap().target, Target::Device(Device::Stdin));
        assert_eq!(table.folder(PREOPENED), Ok(ROOT));
        assert_eq!(table.folder(0), Err(Errno::NotDirectory));
        assert_eq!(table.get(4).unwrap_err(), Errno::BadDescriptor);
        assert_eq!(table.get(-1).unwrap_err(), Errno::BadDescriptor);
        assert_eq!(table.close(PREOPENED), Err(Errno::BadDescriptor));
        assert_eq!(table.open(PREOPENED, b"a", CREATE, (true, false), 0), Ok(4));
    }

    #[test]
    fn opening_takes_the_lowest_free_number() {
        let mut table = descriptors();
        assert_eq!(table.close(0), Ok(()));
        assert_eq!(table.close(0), Err(Errno::BadDescriptor));
        assert_eq!(
            table.open(
                PREOPENED,
                b"dev/null",
                OpenFlags::default(),
                (true, false),
                0
            ),
            Ok(0)
        );
        assert_eq!(
            table.open(
                PREOPENED,
                b"dev/stdin",
                OpenFlags::default(),
                (true, false),
                0
            ),
            Ok(4)
        );
        assert_eq!(table.get(4).unwrap().target, Target::Device(Device::Stdin));
    }

    #[test]
    fn only_reads_writes_and_seeks_move_the_position() {
        let mut table = descriptors();
        let fd = table
            .open(PREOPENED, b"a", CREATE, (true, false), 0)
            .unwrap();
        assert_eq!(table.write(fd, None, b"hello", 0), Ok(5));
        assert_eq!(table.write(fd, Some(1), b"E", 0), Ok(1));
        assert_eq!(table.seek(fd, -4, Whence::Current), Ok(1));
        let mut buffer = [0; 9];
        assert_eq!(table.read(fd, None, &mut buffer), Ok(4));
        assert_eq!(&buffer[..4], b"Ello");
        assert_eq!(table.read(fd, Some(0), &mut buffer[..1]), Ok(1));
        assert_eq!(table.seek(fd, 0, Whence::Current), Ok(5));
        assert_eq!(table.seek(fd, -1, Whence::Start), Err(Errno::Invalid));
        assert_eq!(table.seek(fd, i64::MAX, Whence::End), Err(Errno::Invalid));
        assert_eq!(table.seek(fd, 0, Whence::Current), Ok(5));
        assert_eq!(table.seek(0, 0, Whence::Current), Err(Errno::NotSeekable));
        assert_eq!(table.read(1, None, &mut buffer), Err(Errno::BadDescriptor));
    }

    #[test]
    fn appending_writes_at_the_end() {
        let mut table = descriptors();
        let first = table
            .open(PREOPENED, b"log", CREATE, (false, true), 0)
            .unwrap();
        let second = table
            .open(PREOPENED, b"log", CREATE, (false, true), 0)
            .unwrap();
        assert_eq!(table.write(first, None, b"one", 0), Ok(3));
        assert_eq!(table.write(second, None, b"two", 0), Ok(3));
        assert_eq!(table.seek(second, 0, Whence::Current), Ok(6));
        assert_eq!(
            table.read(second, None, &mut [0; 4]),
            Err(Errno::BadDescriptor)
        );
    }

    #[test]
    fn files_opened_for_reading_cannot_be_changed() {
        let mut table = descriptors();
        let made = table
            .open(PREOPENED, b"a", CREATE, (false, false), 0)
            .unwrap();
        table.write(made, None, b"x", 0).unwrap();
        let fd = table
            .open(PREOPENED, b"a", OpenFlags::default(), (true, false), 0)
            .unwrap();
        assert_eq!(table.write(fd, None, b"y", 0), Err(Errno::BadDescriptor));
        assert_eq!(table.resize(fd, 0, 0), Err(Errno::Invalid));
        assert_eq!(table.resize(made, 0, 0), Ok(()));
        assert_eq!(table.resize(0, 0, 0), Err(Errno::Invalid));
    }

    #[test]
    fn descriptors_are_limited() {
        let mut table = descriptors();
        let opened =
            (0..1_000).map_while(|_| table.open(PREOPENED, b"a", CREATE, (true, false), 0).ok());
        assert_eq!(opened.count(), MAX_DESCRIPTORS - 4);
        assert_eq!(
            table.open(PREOPENED, b"b", CREATE, (true, false), 0),
            Err(Errno::TooManyOpen)
        );
        // The file that could not be opened was not created either.
        assert_eq!(table.files().find(ROOT, b"b"), Err(Errno::NotFound));
        assert_eq!(table.close(9), Ok(()));
        assert_eq!(table.open(PREOPENED, b"b", CREATE, (true, false), 0), Ok(9));
    }

    #[test]
    fn two_instances_see_the_same_files() {
        let files = Arc::new(Mutex::new(Files::new(0)));
        let (mut one, mut other) = (
            Descriptors::new(Arc::clone(&files)),
            Descriptors::new(files),
        );
        let fd = one.open(PREOPENED, b"a", CREATE, (true, false), 0).unwrap();
        one.write(fd, None, b"shared", 0).unwrap();
        let fd = other
            .open(PREOPENED, b"a", OpenFlags::default(), (true, false), 0)
            .unwrap();
        let mut buffer = [0; 6];
        assert_eq!(other.read(fd, None, &mut buffer), Ok(6));
        assert_eq!(&buffer, b"shared");
    }
}
