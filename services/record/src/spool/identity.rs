//! Locks, reads and writes the file `identity`, which contains the name and the key of the spool.
//!
//! The name also occurs in the database and in logs. The key is secret and is stored only in this
//! file; see [`Seal`].
//!
//! [`Seal`]: super::frame::Seal

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::OpenSpoolError;
use super::folder::sync_folder;

/// Name of the file.
pub(super) const IDENTITY: &str = "identity";

/// The identity of a spool.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Name of this spool in the table `spool_progress`.
    pub(crate) name: String,
    pub(crate) key: [u8; 32],
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The lock of a spool's folder, which only one node may use at a time.
#[derive(Debug)]
pub(super) struct FolderLock(pub(super) File);

impl Drop for FolderLock {
    /// Releases the lock even if a child process that is being started still shares the file:
    /// otherwise the lock would remain until the child has closed it.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The contents of the file; a spool of an earlier release has no key.
struct IdentityFile {
    name: String,
    key: Option<[u8; 32]>,
}

/// Creates the folder if necessary, locks it and reads its identity; missing parts of the identity
/// are created.
pub(super) fn claim(
    path: &Path,
    fresh_name: &str,
) -> Result<(FolderLock, Identity), OpenSpoolError> {
    let io = |source| OpenSpoolError::Io {
        path: path.to_owned(),
        source,
    };
    let (lock, found) = open(path)?;
    let (name, key) = found.map_or((fresh_name.to_owned(), None), |found| {
        (found.name, found.key)
    });
    if let Some(key) = key {
        return Ok((lock, Identity { name, key }));
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| io(io::Error::other(error.to_string())))?;
    let identity = Identity { name, key };
    write(&lock, path, &identity).map_err(io)?;
    Ok((lock, identity))
}

/// Locks the folder again for the node that used it before; `None` if it now belongs to another
/// spool.
pub(super) fn reclaim(
    path: &Path,
    identity: &Identity,
) -> Result<Option<FolderLock>, OpenSpoolError> {
    let (lock, found) = open(path)?;
    if found.as_ref().is_some_and(|found| {
        found.name != identity.name || found.key.is_some_and(|key| key != identity.key)
    }) {
        return Ok(None);
    }
    write(&lock, path, identity).map_err(|source| OpenSpoolError::Io {
        path: path.to_owned(),
        source,
    })?;
    Ok(Some(lock))
}

/// The name of the spool in this folder, without locking it.
pub(super) fn read_name_of(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path.join(IDENTITY))?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The key of the spool in this folder, without locking it.
pub(super) fn read_key_of(path: &Path) -> io::Result<[u8; 32]> {
    let text = fs::read_to_string(path.join(IDENTITY))?;
    let key = text.lines().nth(1).map(str::trim).and_then(read_key);
    key.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the identity has no key"))
}

fn open(path: &Path) -> Result<(FolderLock, Option<IdentityFile>), OpenSpoolError> {
    let io = |source| OpenSpoolError::Io {
        path: path.to_owned(),
        source,
    };
    fs::create_dir_all(path).map_err(io)?;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    let lock = options.open(path.join(IDENTITY)).map_err(io)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(OpenSpoolError::InUse {
                path: path.to_owned(),
            });
        }
        Err(TryLockError::Error(source)) => return Err(io(source)),
    }
    let mut lock = FolderLock(lock);
    let mut text = String::new();
    lock.0.read_to_string(&mut text).map_err(io)?;
    let mut lines = text.lines().map(str::trim);
    let name = lines.next().unwrap_or_default().to_owned();
    let key = lines.next().and_then(read_key);
    let found = if name.is_empty() {
        None
    } else {
        Some(IdentityFile { name, key })
    };
    Ok((lock, found))
}

/// Writes the whole file. The name is written first and does not change, so an interrupted write
/// leaves at worst an incomplete key, with which no frame was written.
fn write(lock: &FolderLock, path: &Path, identity: &Identity) -> io::Result<()> {
    let mut text = format!("{}\n", identity.name);
    for byte in identity.key {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('\n');
    lock.0.write_all_at(text.as_bytes(), 0)?;
    lock.0.set_len(text.len() as u64)?;
    lock.0.sync_all()?;
    sync_folder(path)?;
    match path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        Some(parent) => sync_folder(parent),
        None => Ok(()),
    }
}

fn read_key(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    let mut key = [0; 32];
    if digits.len() != 2 * key.len() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(key)
}
