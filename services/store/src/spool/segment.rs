//! Responsible for the files of the spool: the folder with its lock and identity, and the segments in it. Decides neither what is
//! written nor when; the committing thread and the recovery do.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::OpenSpoolError;

/// First bytes of every segment: what it is, and the version of its frames. A changed layout of the rows needs a new version here.
pub(crate) const SEGMENT_HEADER: &[u8; 16] = b"assay spool 0002";

/// Name of the file that is the folder's lock and holds its identity.
const IDENTITY: &str = "identity";

/// Where in the spool: a segment's number and a byte of it. Positions sort in the order of appending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) segment: u64,
    pub(crate) byte: u64,
}

/// Tells one file from another while it is open: after that, its number may be given to a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn of(file: &Metadata) -> Self {
        Self { device: file.dev(), inode: file.ino() }
    }
}

/// One file of frames. Its handle stays open while anything still needs to read from it, whether or not it has been deleted.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    path: PathBuf,
    file: File,
}

impl Segment {
    /// Appends `frames` at `at`, in as few writes as the system allows.
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

    /// Waits until what was written is on the disk, and makes sure that it would be found again: a folder moved away or emptied under
    /// a running node leaves a file that takes writes and that no start will ever read.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        if self.is_named()? {
            Ok(())
        } else {
            Err(io::Error::other(format!("`{}` was replaced by another file", self.path.display())))
        }
    }

    /// Whether this file is still what its path names.
    fn is_named(&self) -> io::Result<bool> {
        Ok(FileId::of(&self.file.metadata()?) == FileId::of(&fs::metadata(&self.path)?))
    }

    /// Cuts the file off at `length`.
    pub(crate) fn truncate(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.sync_data()
    }

    /// `length` bytes from `at`.
    pub(crate) fn read(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    /// The whole file.
    pub(crate) fn read_all(&self) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.file.metadata()?.len()).map_err(io::Error::other)?;
        self.read(0, length)
    }
}

/// The spool's folder, held by one node at a time.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Names this spool in the database's table of progress.
    pub(crate) identity: String,
    lock: Mutex<File>,
    segments: Mutex<BTreeMap<u64, Arc<Segment>>>,
}

impl Folder {
    /// Opens or creates the folder and locks it. `fresh_identity` names it if it has no name yet.
    pub(crate) fn open(path: &Path, fresh_identity: &str) -> Result<Self, OpenSpoolError> {
        let io = |source| OpenSpoolError::Io { path: path.to_owned(), source };
        let (lock, identity) = claim_folder(path, fresh_identity)?;
        let mut segments = BTreeMap::new();
        for file in fs::read_dir(path).map_err(io)? {
            let path = file.map_err(io)?.path();
            let Some(number) = number_of(&path) else {
                continue;
            };
            let file = OpenOptions::new().read(true).write(true).open(&path).map_err(io)?;
            segments.insert(number, Arc::new(Segment { number, path, file }));
        }
        Ok(Self { path: path.to_owned(), identity, lock: Mutex::new(lock), segments: Mutex::new(segments) })
    }

    /// Every segment, oldest first.
    pub(crate) fn segments(&self) -> Vec<Arc<Segment>> {
        self.lock_segments().values().cloned().collect()
    }

    /// Starts a segment. Both its header and its name are on the disk when this returns. A folder that is gone is made again.
    pub(crate) fn create(&self, number: u64) -> io::Result<Arc<Segment>> {
        self.hold()?;
        let path = self.path.join(format!("{number:08}.seg"));
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let written =
            file.write_all(SEGMENT_HEADER).and_then(|()| file.sync_all()).and_then(|()| sync_folder(&self.path));
        if let Err(error) = written {
            // On a full disk every try would leave an empty file behind.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        let segment = Arc::new(Segment { number, path, file });
        self.lock_segments().insert(number, segment.clone());
        Ok(segment)
    }

    /// Makes sure that the folder at the path is the one whose lock is held. If it was deleted or replaced under the running node, it is
    /// claimed anew: only as the same spool, since the database keeps the progress under that name, and only if nobody else has it.
    fn hold(&self) -> io::Result<()> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::metadata(self.path.join(IDENTITY)) {
            Ok(named) if FileId::of(&named) == FileId::of(&lock.metadata()?) => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (fresh, identity) = claim_folder(&self.path, &self.identity).map_err(io::Error::other)?;
        if identity != self.identity {
            return Err(io::Error::other(format!("`{}` is now the spool of another database", self.path.display())));
        }
        *lock = fresh;
        Ok(())
    }

    /// Deletes a segment whose every frame is durable elsewhere. Another file that took its place is not this node's to delete.
    pub(crate) fn delete(&self, number: u64) -> io::Result<()> {
        let Some(segment) = self.lock_segments().remove(&number) else {
            return Ok(());
        };
        let removed = segment.is_named().and_then(|named| if named { fs::remove_file(&segment.path) } else { Ok(()) });
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.lock_segments().insert(number, segment);
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Lets another node open the folder, whoever still holds a reference to this.
    pub(crate) fn unlock(&self) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = lock.unlock() {
            tracing::warn!(%error, "the lock of the spool could not be released before the process ends");
        }
    }

    fn lock_segments(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Segment>>> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates the folder if need be, locks it and reads or writes its identity.
fn claim_folder(path: &Path, fresh_identity: &str) -> Result<(File, String), OpenSpoolError> {
    let io = |source| OpenSpoolError::Io { path: path.to_owned(), source };
    fs::create_dir_all(path).map_err(io)?;
    let mut lock =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path.join(IDENTITY)).map_err(io)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(OpenSpoolError::InUse { path: path.to_owned() });
        }
        Err(TryLockError::Error(source)) => return Err(io(source)),
    }
    let mut identity = String::new();
    lock.read_to_string(&mut identity).map_err(io)?;
    let identity = identity.trim().to_owned();
    if !identity.is_empty() {
        return Ok((lock, identity));
    }
    lock.write_all(fresh_identity.as_bytes()).map_err(io)?;
    lock.sync_all().map_err(io)?;
    sync_folder(path).map_err(io)?;
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        sync_folder(parent).map_err(io)?;
    }
    Ok((lock, fresh_identity.to_owned()))
}

/// Makes the names in a folder durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn number_of(path: &Path) -> Option<u64> {
    if path.extension()? != "seg" {
        return None;
    }
    path.file_stem()?.to_str()?.parse().ok()
}
