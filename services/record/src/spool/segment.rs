//! The files of the spool: the folder with its lock, and its segments. When and what is written is
//! decided in `commit` and `recovery`.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::OpenSpoolError;
use super::ends::{self, KnownEnds};
use super::folder::sync_folder;
use super::frame::Seal;
use super::identity::{self, FolderLock, IDENTITY, Identity};

/// First bytes of every segment: the file type and the version of its frames. A change in the
/// encoding of entries requires a new version. The 16 bytes of the key check follow.
pub(crate) const VERSION: &[u8; 16] = b"assay spool 0004";

/// The version whose grades have no documents. It is still read but no longer written.
const COLUMNS_VERSION: &[u8; 16] = b"assay spool 0003";

/// The version before that, without a key. It is still read but no longer written.
const PLAIN_VERSION: &[u8; 16] = b"assay spool 0002";

/// Bytes of the header.
pub(crate) const SEGMENT_HEADER: usize = 32;

/// Bytes of a probe: about the size of a batch of a few hundred items.
const PROBE_BYTES: usize = 256 << 10;

/// Identifies a file while it is open. Once it is closed and deleted, a new file may get the same
/// inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn of(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
        }
    }
}

/// A file of frames. Its handle stays open while entries may be read from it, even after the file
/// is deleted.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    /// How to recognise its frames.
    pub(crate) seal: Seal,
    /// Length of its header in bytes.
    pub(crate) header: usize,
    path: PathBuf,
    file: File,
}

/// The result of checking a segment's header.
pub(crate) enum Header {
    /// It is valid, or the beginning of a valid header.
    Valid,
    /// The segment was written by a release with other frames.
    VersionMismatch,
    /// The segment was written with another key, or its header is damaged.
    OtherKey,
    /// It is not a header.
    Damaged,
}

/// Whether a file with these first bytes is a segment without a key.
pub(crate) fn is_plain(bytes: &[u8]) -> bool {
    bytes.starts_with(PLAIN_VERSION)
}

/// The header of new segments.
pub(crate) fn header(seal: &Seal) -> Vec<u8> {
    [&VERSION[..], &seal.check_value()].concat()
}

/// Whether `bytes` are the header of a segment with a key, of any version.
pub(crate) fn is_header(seal: &Seal, bytes: &[u8]) -> bool {
    [VERSION, COLUMNS_VERSION].iter().any(|version| {
        let rest = bytes.strip_prefix(&version[..]);
        rest == Some(&seal.check_value()[..])
    })
}

impl Segment {
    /// Opens an existing segment. `seal` is the spool's.
    fn open(number: u64, path: PathBuf, seal: Seal) -> io::Result<Self> {
        // The target of a symbolic link is not part of the spool and must not be changed.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)?;
        let mut start = Vec::new();
        (&file).take(VERSION.len() as u64).read_to_end(&mut start)?;
        let is_plain = start == PLAIN_VERSION;
        let (seal, header) = if is_plain {
            (Seal::PLAIN, PLAIN_VERSION.len())
        } else {
            (seal, SEGMENT_HEADER)
        };
        Ok(Self {
            number,
            seal,
            header,
            path,
            file,
        })
    }

    /// Checks the header in `bytes`, the first bytes of this file.
    pub(crate) fn check_header(&self, bytes: &[u8]) -> Header {
        let found = &bytes[..bytes.len().min(self.header)];
        let expected = if self.seal == Seal::PLAIN {
            PLAIN_VERSION.to_vec()
        } else if found.starts_with(COLUMNS_VERSION) {
            [&COLUMNS_VERSION[..], &self.seal.check_value()].concat()
        } else {
            header(&self.seal)
        };
        if expected.starts_with(found) {
            Header::Valid
        } else if found.starts_with(&expected[..VERSION.len()]) {
            Header::OtherKey
        } else if found.len() >= VERSION.len() && found[..12] == VERSION[..12] {
            Header::VersionMismatch
        } else {
            Header::Damaged
        }
    }

    /// Writes `frames` at offset `at`, in as few writes as the system allows.
    pub(crate) fn write(&self, frames: &[Vec<u8>], at: u64) -> io::Result<()> {
        let joined;
        let bytes = match frames {
            [one] => one.as_slice(),
            many => {
                joined = many.concat();
                &joined
            }
        };
        self.file.write_all_at(bytes, at)
    }

    /// Syncs the file to disk and checks that a restart would find it. If the folder was moved or
    /// emptied while the node runs, the open file still accepts writes but will never be read.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        if self.is_at_path()? {
            Ok(())
        } else {
            Err(io::Error::other(format!(
                "`{}` was replaced by another file",
                self.path.display()
            )))
        }
    }

    /// Whether this file is still the one at its path.
    fn is_at_path(&self) -> io::Result<bool> {
        Ok(FileId::of(&self.file.metadata()?) == FileId::of(&fs::metadata(&self.path)?))
    }

    /// Truncates the file to `length` bytes and syncs it.
    pub(crate) fn truncate(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.sync_data()
    }

    /// Reads `length` bytes at offset `at`.
    pub(crate) fn read(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    /// Reads the whole file.
    pub(crate) fn read_all(&self) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.file.metadata()?.len()).map_err(io::Error::other)?;
        self.read(0, length)
    }
}

/// The folder of the spool, locked by one node at a time.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
    lock: Mutex<FolderLock>,
    segments: Mutex<BTreeMap<u64, Arc<Segment>>>,
}

impl Folder {
    /// Opens or creates the folder and locks it. `fresh_identity` becomes its name if it has none.
    pub(crate) fn open(path: &Path, fresh_identity: &str) -> Result<Self, OpenSpoolError> {
        let io = |source| OpenSpoolError::Io {
            path: path.to_owned(),
            source,
        };
        let (lock, identity) = identity::claim(path, fresh_identity)?;
        let seal = Seal::keyed(identity.key);
        let mut segments = BTreeMap::new();
        for file in fs::read_dir(path).map_err(io)? {
            let path = file.map_err(io)?.path();
            let Some(number) = number_of(&path) else {
                continue;
            };
            segments.insert(
                number,
                Arc::new(Segment::open(number, path, seal).map_err(io)?),
            );
        }
        Ok(Self {
            path: path.to_owned(),
            identity,
            lock: Mutex::new(lock),
            segments: Mutex::new(segments),
        })
    }

    /// The seal of new frames.
    pub(crate) fn seal(&self) -> Seal {
        Seal::keyed(self.identity.key)
    }

    /// Every segment, oldest first.
    pub(crate) fn segments(&self) -> Vec<Arc<Segment>> {
        self.lock_segments().values().cloned().collect()
    }

    /// The highest number of a segment, including one that is missing; 0 without segments.
    pub(crate) fn last_number(&self) -> u64 {
        let last = self.lock_segments().keys().next_back().copied();
        // An error is reported by the recovery.
        let known = KnownEnds::read(&self.path)
            .ok()
            .and_then(|ends| ends.last());
        last.max(known).unwrap_or(0)
    }

    /// Bytes of the files in the folder and in the folders within it. Files that vanish meanwhile
    /// count as empty.
    pub(crate) fn bytes(&self) -> u64 {
        fn bytes_of(path: &Path, depth: u32) -> u64 {
            let files = fs::read_dir(path).into_iter().flatten().flatten();
            files
                .map(|file| match file.metadata() {
                    Ok(data) if data.is_dir() && depth > 0 => bytes_of(&file.path(), depth - 1),
                    Ok(data) if data.is_file() => data.len(),
                    _ => 0,
                })
                .sum()
        }
        bytes_of(&self.path, 1)
    }

    /// Creates a segment. Its header and its directory entry are synced to disk when this returns.
    /// A deleted folder is created again.
    pub(crate) fn create(&self, number: u64) -> io::Result<Arc<Segment>> {
        self.ensure_locked()?;
        let path = self.path.join(format!("{number:08}.seg"));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        let written = file
            .write_all(&header(&self.seal()))
            .and_then(|()| file.sync_all())
            .and_then(|()| sync_folder(&self.path));
        if let Err(error) = written {
            // On a full disk every try would leave an empty file.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        let segment = Arc::new(Segment {
            number,
            seal: self.seal(),
            header: SEGMENT_HEADER,
            path,
            file,
        });
        self.lock_segments().insert(number, segment.clone());
        Ok(segment)
    }

    /// Ensures that the folder at the path is the locked one. If the folder was deleted or replaced
    /// while the node runs, it is locked again, but only as the same spool, because the database
    /// stores the progress under its name, and only if no other node has locked it.
    fn ensure_locked(&self) -> io::Result<()> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::metadata(self.path.join(IDENTITY)) {
            Ok(named) if FileId::of(&named) == FileId::of(&lock.0.metadata()?) => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let fresh = identity::reclaim(&self.path, &self.identity).map_err(io::Error::other)?;
        let Some(fresh) = fresh else {
            return Err(io::Error::other(format!(
                "`{}` is now the spool of another database",
                self.path.display()
            )));
        };
        *lock = fresh;
        Ok(())
    }

    /// Checks that the folder has space for a commit: writes a probe file and removes it.
    pub(crate) fn probe(&self) -> io::Result<()> {
        self.ensure_locked()?;
        let path = self.path.join("probe");
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(&[0; PROBE_BYTES])?;
            file.sync_all()
        });
        fs::remove_file(&path)
            .or_else(|error| if written.is_err() { Ok(()) } else { Err(error) })?;
        written
    }

    /// Forgets a file that is not a segment, so that it is neither changed nor deleted.
    pub(crate) fn exclude(&self, number: u64) {
        self.lock_segments().remove(&number);
    }

    /// Deletes a segment of which every entry is durable in the database. If another file is at its
    /// path, that file is not deleted.
    pub(crate) fn delete(&self, number: u64) -> io::Result<()> {
        let Some(segment) = self.lock_segments().remove(&number) else {
            return Ok(());
        };
        let removed = segment.is_at_path().and_then(|named| {
            if named {
                // First, because a file without its segment means that the segment is missing.
                ends::remove(&self.path, number)?;
                fs::remove_file(&segment.path)
            } else {
                Ok(())
            }
        });
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.lock_segments().insert(number, segment);
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Releases the lock, so that another node can open the folder while references to this one
    /// remain.
    pub(crate) fn unlock(&self) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = lock.0.unlock() {
            tracing::warn!(%error, "cannot release the lock of the spool; it is released when the \
                                    process ends");
        }
    }

    fn lock_segments(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Segment>>> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn number_of(path: &Path) -> Option<u64> {
    if path.extension()? != "seg" {
        return None;
    }
    // New numbers continue after the highest one, so it must not be close to the largest integer.
    path.file_stem()?
        .to_str()?
        .parse()
        .ok()
        .filter(|number| *number < u64::MAX >> 1)
}
