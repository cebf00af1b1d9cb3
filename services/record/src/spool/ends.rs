//! How far each segment is synced: a file `NNNNNNNN.end` beside the segment. After a crash it
//! distinguishes bytes that were acknowledged and are gone from an append that was not finished.
//!
//! The file is written after each sync of its segment and before the acknowledgement, without a
//! sync of its own, for which replies would have to wait. It survives the end of the process; after
//! a power loss it may be missing or older than its segment, but never newer. A file that is not
//! valid counts as missing.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::position::Position;

const EXTENSION: &str = "end";

/// Bytes of a file: the length of the segment and a checksum.
const BYTES: usize = 16;

/// The file of the segment to which entries are appended.
#[derive(Debug)]
pub(super) struct EndFile {
    number: u64,
    file: File,
}

impl EndFile {
    pub(super) fn create(spool: &Path, number: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(path_of(spool, number))?;
        Ok(Self { number, file })
    }

    /// Records that the segment is synced up to `length` bytes.
    pub(super) fn write(&self, length: u64) -> io::Result<()> {
        self.file.write_all_at(&encode(self.number, length), 0)
    }
}

/// What is known of how far the segments of a spool were written.
#[derive(Debug, Default)]
pub(crate) struct KnownEnds {
    synced: BTreeMap<u64, u64>,
}

/// How far a segment was written, at least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KnownEnd {
    pub(crate) byte: u64,
    /// Whether this is the progress of the database, and the segment may have been copied before
    /// the database by a backup: a segment that ends with a whole frame may then be shorter.
    pub(crate) may_be_copied: bool,
}

impl KnownEnds {
    /// Reads the files of a spool.
    pub(crate) fn read(spool: &Path) -> io::Result<Self> {
        let mut synced = BTreeMap::new();
        for file in fs::read_dir(spool)? {
            let path = file?.path();
            let Some(number) = number_of(&path) else {
                continue;
            };
            match fs::read(&path) {
                Ok(bytes) => {
                    let length = decode(number, &bytes);
                    synced.extend(length.map(|length| (number, length)));
                }
                // Deleted by the node, with its segment.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { synced })
    }

    /// The number of the last segment that was synced.
    pub(crate) fn last(&self) -> Option<u64> {
        self.synced.keys().next_back().copied()
    }

    /// Whether it is known how far the segment `number` is synced.
    pub(crate) fn contains(&self, number: u64) -> bool {
        self.synced.contains_key(&number)
    }

    /// How far the segment `number` was written; nothing if the database, whose progress is
    /// `progress`, has everything that is known of.
    pub(crate) fn of(&self, number: u64, progress: Position) -> KnownEnd {
        match self.synced.get(&number) {
            Some(byte) if at(number, *byte) > progress => KnownEnd {
                byte: *byte,
                may_be_copied: false,
            },
            None if number == progress.segment => KnownEnd {
                byte: progress.byte,
                may_be_copied: true,
            },
            _ => KnownEnd::default(),
        }
    }

    /// Segments other than `present` with entries after `progress`, and their lengths.
    pub(crate) fn missing(&self, present: &[u64], progress: Position) -> Vec<(u64, u64)> {
        let absent = self
            .synced
            .iter()
            .filter(|(number, byte)| !present.contains(number) && at(**number, **byte) > progress);
        absent.map(|(number, byte)| (*number, *byte)).collect()
    }
}

impl KnownEnd {
    /// Whether a segment of `length` bytes is too short. `is_whole` means that it has its header
    /// and ends with a valid frame.
    pub(crate) fn exceeds(self, length: usize, is_whole: bool) -> bool {
        self.byte > length as u64 && !(self.may_be_copied && is_whole)
    }
}

/// Path of the file of the segment `number`.
pub(super) fn path_of(spool: &Path, number: u64) -> PathBuf {
    spool.join(format!("{number:08}.{EXTENSION}"))
}

/// The number of the segment to which a file belongs; `None` if it is another file.
pub(super) fn number_of(path: &Path) -> Option<u64> {
    let extension = path.extension()?;
    let number: u64 = path.file_stem()?.to_str()?.parse().ok()?;
    // As for segments, the next number must not be close to the largest integer.
    (extension == EXTENSION && number < u64::MAX >> 1).then_some(number)
}

/// Removes the file of a segment.
pub(super) fn remove(spool: &Path, number: u64) -> io::Result<()> {
    match fs::remove_file(path_of(spool, number)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn at(segment: u64, byte: u64) -> Position {
    Position { segment, byte }
}

fn encode(number: u64, length: u64) -> [u8; BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&length.to_le_bytes());
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&length.to_le_bytes());
    bytes[8..].copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    bytes
}

fn decode(number: u64, bytes: &[u8]) -> Option<u64> {
    let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    (encode(number, length) == *bytes).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_valid_files() {
        let folder = tempfile::tempdir().unwrap();
        EndFile::create(folder.path(), 3)
            .unwrap()
            .write(70)
            .unwrap();
        let bytes = fs::read(path_of(folder.path(), 3)).unwrap();
        fs::write(path_of(folder.path(), 4), &bytes).unwrap();
        fs::write(path_of(folder.path(), 5), &bytes[..9]).unwrap();
        fs::write(path_of(folder.path(), 6), []).unwrap();
        let ends = KnownEnds::read(folder.path()).unwrap();
        assert_eq!((ends.last(), ends.synced.len()), (Some(3), 1));
    }

    #[test]
    fn nothing_is_missing_that_the_database_has() {
        let folder = tempfile::tempdir().unwrap();
        EndFile::create(folder.path(), 3)
            .unwrap()
            .write(70)
            .unwrap();
        let ends = KnownEnds::read(folder.path()).unwrap();
        assert_eq!(ends.missing(&[], at(3, 69)), [(3, 70)]);
        assert_eq!(ends.missing(&[3], at(3, 69)), []);
        assert_eq!(ends.missing(&[], at(3, 70)), []);
        assert_eq!(ends.of(3, at(4, 0)), KnownEnd::default());
        assert!(ends.of(3, at(2, 0)).exceeds(69, true));
        assert!(!ends.of(4, at(4, 90)).exceeds(80, true));
        assert!(ends.of(4, at(4, 90)).exceeds(80, false));
    }
}
