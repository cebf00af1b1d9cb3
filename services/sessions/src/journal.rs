//! The journal of a session: a file of JSON lines, of which the first describes the session and
//! each other one is a call or the restoration of its state.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_core::{Hash, SessionId};
use assay_wire::sessions::{Files, LoggedCall, SessionLimits};
use serde::{Deserialize, Serialize};

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The session, as it was opened.
    Opened(Opened),
    /// A call.
    Called(Called),
    /// The state after the calls so far in another version of the image.
    Restored {
        /// Hash of the image.
        image_hash: String,
        /// The state.
        state: Option<Hash>,
    },
}

/// A session, as it was opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opened {
    pub(crate) id: SessionId,
    pub(crate) caller: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    pub(crate) language: String,
    pub(crate) image: String,
    pub(crate) image_hash: String,
    pub(crate) seed: u64,
    pub(crate) limits: SessionLimits,
    pub(crate) idle_seconds: u64,
    pub(crate) opened_us: i64,
    pub(crate) forked_from: Option<SessionId>,
    /// Files at the first call.
    #[serde(default, skip_serializing_if = "Files::is_empty")]
    pub(crate) files: Files,
}

/// A call, with the state that the session has after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Called {
    pub(crate) logged: LoggedCall,
    pub(crate) output_bytes: u64,
    pub(crate) state: Option<Hash>,
}

/// Appends to a journal and reads it.
pub(crate) struct Journal {
    place: Place,
    /// Number of complete bytes.
    length: Mutex<u64>,
}

enum Place {
    File(PathBuf),
    Memory(Mutex<Vec<u8>>),
}

impl Journal {
    /// An empty journal, in memory without a path.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub(crate) fn create(path: Option<PathBuf>) -> io::Result<Self> {
        let place = match path {
            Some(path) => {
                OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(&path)?;
                Place::File(path)
            }
            None => Place::Memory(Mutex::default()),
        };
        Ok(Self {
            place,
            length: Mutex::new(0),
        })
    }

    /// The journal in an existing file, with its lines. An incomplete line at its end, of a process
    /// that was killed while it wrote it, is removed: no reply was sent about it.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is malformed.
    pub(crate) fn open(path: PathBuf) -> io::Result<(Self, Vec<Line>)> {
        let bytes = fs::read(&path)?;
        let complete = bytes.iter().rposition(|byte| *byte == b'\n');
        let length = complete.map_or(0, |last| last + 1);
        if length < bytes.len() {
            OpenOptions::new()
                .write(true)
                .open(&path)?
                .set_len(length as u64)?;
        }
        let lines = parse(&bytes[..length])?;
        let journal = Self {
            place: Place::File(path),
            length: Mutex::new(length as u64),
        };
        Ok((journal, lines))
    }

    /// Appends a line.
    ///
    /// # Errors
    /// If it cannot be written; the journal then is as before.
    pub(crate) fn append(&self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.append_bytes(&text)
    }

    fn append_bytes(&self, text: &[u8]) -> io::Result<()> {
        let mut length = lock(&self.length);
        match &self.place {
            Place::Memory(bytes) => lock(bytes).extend_from_slice(text),
            Place::File(path) => {
                let mut file = OpenOptions::new().append(true).open(path)?;
                if let Err(error) = file.write_all(text) {
                    file.set_len(*length)?;
                    return Err(error);
                }
            }
        }
        *length += text.len() as u64;
        Ok(())
    }

    /// All lines.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn read(&self) -> io::Result<Vec<Line>> {
        parse(&self.bytes()?)
    }

    fn bytes(&self) -> io::Result<Vec<u8>> {
        match &self.place {
            Place::Memory(bytes) => Ok(lock(bytes).clone()),
            Place::File(path) => fs::read(path),
        }
    }

    /// Number of bytes.
    pub(crate) fn length(&self) -> u64 {
        *lock(&self.length)
    }

    /// Appends what another journal has after its first line.
    ///
    /// # Errors
    /// If one cannot be read or the other written.
    pub(crate) fn append_calls_of(&self, other: &Self) -> io::Result<()> {
        let bytes = other.bytes()?;
        let first = bytes.iter().position(|byte| *byte == b'\n');
        self.append_bytes(&bytes[first.map_or(0, |first| first + 1)..])
    }

    /// Deletes the file.
    pub(crate) fn delete(&self) {
        if let Place::File(path) = &self.place
            && let Err(error) = fs::remove_file(path)
        {
            tracing::warn!(path = %path.display(), %error, "cannot delete the journal of a session");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parse(bytes: &[u8]) -> io::Result<Vec<Line>> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).map_err(io::Error::from))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restored(image: &str) -> Line {
        Line::Restored {
            image_hash: image.to_owned(),
            state: Some(Hash::of(b"x")),
        }
    }

    #[test]
    fn an_incomplete_line_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let journal = Journal::create(Some(path.clone())).unwrap();
        assert!(Journal::create(Some(path.clone())).is_err());
        journal.append(&restored("1")).unwrap();
        let length = journal.length();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"restored\":{\"ima").unwrap();
        let (journal, lines) = Journal::open(path).unwrap();
        assert_eq!(lines, [restored("1")]);
        assert_eq!(journal.length(), length);
        journal.append(&restored("2")).unwrap();
        assert_eq!(journal.read().unwrap(), [restored("1"), restored("2")]);
        journal.delete();
        assert!(journal.read().is_err());
    }

    #[test]
    fn a_fork_gets_the_lines_after_the_first() {
        let first = Journal::create(None).unwrap();
        for image in ["1", "2", "3"] {
            first.append(&restored(image)).unwrap();
        }
        let second = Journal::create(None).unwrap();
        second.append(&restored("4")).unwrap();
        second.append_calls_of(&first).unwrap();
        let images = ["4", "2", "3"].map(restored);
        assert_eq!(second.read().unwrap(), images);
    }
}
