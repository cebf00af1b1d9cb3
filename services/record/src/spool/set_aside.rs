//! Stores the entries that the database rejected: one file for each in the spool's folder, with its
//! frame and the reason. The writer decides what is set aside, and the operator decides when it is
//! applied. Damaged parts of segments are stored in the same form.
//!
//! A file is synced to disk before the progress moves past its entry. After a crash between the
//! two, the entry is retried; if it is rejected again, the same file is written, because its name
//! is the entry's position.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::folder::sync_folder;
use super::frame::{self, Seal};
use super::position::Position;
use super::segment::Folder;
use crate::pending::loaded_entry::LoadedEntry;

/// Name of the folder within the spool's folder.
pub(super) const FOLDER: &str = "set-aside";

/// Extension of the files.
pub(super) const EXTENSION: &str = "entry";

/// The first line of a file, a JSON object; the frame follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetAsideNote {
    /// Why the entry was rejected.
    pub(crate) reason: String,
    /// Its batch; `None` if the frame cannot be decoded.
    pub(crate) batch: Option<String>,
    /// Number of its grades.
    pub(crate) grades: u64,
    /// When it was set aside, in microseconds since the Unix epoch.
    pub(crate) time_us: i64,
    /// Whether these are damaged or missing bytes of a segment, which no database can apply.
    #[serde(default)]
    pub(crate) lost: bool,
}

/// An entry that is set aside.
#[derive(Debug)]
pub(crate) struct SetAsideFile {
    /// Name of the file without its extension.
    pub(crate) name: String,
    pub(crate) note: SetAsideNote,
    /// Bytes of the frame.
    pub(crate) bytes: u64,
    pub(crate) path: PathBuf,
}

/// The files of one spool.
pub(crate) struct SetAsideFolder {
    path: PathBuf,
    seal: Seal,
}

impl SetAsideFolder {
    pub(crate) fn of(folder: &Folder) -> Self {
        Self {
            path: folder.path.join(FOLDER),
            seal: folder.seal(),
        }
    }

    /// The files of the spool in this folder, for counting and listing only.
    pub(crate) fn at(spool: &Path) -> Self {
        Self {
            path: spool.join(FOLDER),
            seal: Seal::PLAIN,
        }
    }

    /// Writes the frame of the entry that starts at `start`. It is synced to disk when this
    /// returns.
    pub(crate) fn insert(
        &self,
        start: Position,
        note: &SetAsideNote,
        frame: &[u8],
    ) -> io::Result<()> {
        if !self.path.is_dir() {
            fs::create_dir_all(&self.path)?;
            self.path.parent().map_or(Ok(()), sync_folder)?;
        }
        let path = self.path.join(format!("{}.{EXTENSION}", name(start)));
        let unfinished = path.with_extension("part");
        let written = write(&unfinished, note, frame).and_then(|()| fs::rename(&unfinished, &path));
        if let Err(error) = written {
            // On a full disk the file would take space that the next try needs.
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        sync_folder(&self.path)
    }

    /// Removes the file of the entry that starts at `start`; returns whether there was one.
    pub(crate) fn remove(&self, start: Position) -> io::Result<bool> {
        self.delete(&self.path.join(format!("{}.{EXTENSION}", name(start))))
    }

    /// Removes the file of an entry that was applied and is durable in the database.
    pub(crate) fn remove_file(&self, file: &SetAsideFile) -> io::Result<()> {
        self.delete(&file.path).map(|_| ())
    }

    fn delete(&self, path: &Path) -> io::Result<bool> {
        match fs::remove_file(path) {
            Ok(()) => sync_folder(&self.path).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Start positions of the entries at or after `progress`: they are still in the spool and will
    /// be retried.
    pub(crate) fn starts_from(&self, progress: Position) -> io::Result<BTreeSet<Position>> {
        let starts = self.paths()?.into_iter().filter_map(|path| {
            let (segment, byte) = path.file_stem()?.to_str()?.split_once('-')?;
            Some(Position {
                segment: segment.parse().ok()?,
                byte: byte.parse().ok()?,
            })
        });
        Ok(starts.filter(|start| *start >= progress).collect())
    }

    /// Number of entries that are set aside.
    pub(crate) fn count(&self) -> io::Result<u64> {
        Ok(self.paths()?.len() as u64)
    }

    /// The entries in the order of their names, which is the order in which they were recorded.
    pub(crate) fn list(&self) -> io::Result<Vec<SetAsideFile>> {
        self.paths()?
            .into_iter()
            .map(|path| {
                let (note, frame) = read(&path)?;
                let name = path
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                Ok(SetAsideFile {
                    name,
                    note,
                    bytes: frame.len() as u64,
                    path,
                })
            })
            .collect()
    }

    /// The entry in the file at `path`.
    pub(crate) fn load(&self, path: &Path) -> io::Result<LoadedEntry> {
        let (_, frame) = read(path)?;
        // Entries from segments written before frames had a key have a checksum without one.
        let seal = if frame::measure(&Seal::PLAIN, &frame).is_some() {
            Seal::PLAIN
        } else {
            self.seal
        };
        LoadedEntry::from_frame(&seal, &frame)
    }

    fn paths(&self) -> io::Result<Vec<PathBuf>> {
        let files = match fs::read_dir(&self.path) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let paths = files
            .map(|file| Ok(file?.path()))
            .collect::<io::Result<Vec<PathBuf>>>()?;
        let is_entry = |path: &PathBuf| {
            path.extension()
                .is_some_and(|extension| extension == EXTENSION)
        };
        let mut entries: Vec<PathBuf> = paths.into_iter().filter(is_entry).collect();
        entries.sort();
        Ok(entries)
    }
}

fn name(start: Position) -> String {
    format!("{:08}-{:010}", start.segment, start.byte)
}

fn write(path: &Path, note: &SetAsideNote, frame: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut head = serde_json::to_vec(note)?;
    head.push(b'\n');
    file.write_all(&head)?;
    file.write_all(frame)?;
    file.sync_all()
}

fn read(path: &Path) -> io::Result<(SetAsideNote, Vec<u8>)> {
    let mut bytes = fs::read(path)?;
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let note = serde_json::from_slice(&bytes[..end]).map_err(|error| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("`{}` is not a set-aside entry: {error}", path.display()),
        )
    })?;
    Ok((note, bytes.split_off((end + 1).min(bytes.len()))))
}
