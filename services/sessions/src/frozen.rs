//! The states of all sessions: frozen bytes by their hash, in memory up to a budget, and in files.
//!
//! Sessions whose calls left the same bytes share them, as forks do, and as do sessions that ran
//! the same calls. A state is deleted with its last user.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_core::Hash;
use bytes::Bytes;

use crate::metrics::StateCounts;

/// Extension of a file that is not complete.
const PARTIAL: &str = "partial";

/// States with the number of sessions that use each.
pub(crate) struct FrozenStates {
    folder: Option<PathBuf>,
    memory_bytes: u64,
    disk_bytes: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    states: BTreeMap<Hash, State>,
    /// The states in memory, by when they were used.
    order: BTreeMap<u64, Hash>,
    next_turn: u64,
    memory_bytes: u64,
    file_bytes: u64,
}

struct State {
    users: usize,
    bytes: u64,
    memory: Option<InMemory>,
    has_file: bool,
}

struct InMemory {
    turn: u64,
    bytes: Bytes,
}

/// Why a state is not kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// A budget is used up: its setting.
    #[error("the states of all sessions use `sessions.{0}`; end some, or raise it")]
    Full(&'static str),
    /// A file cannot be written.
    #[error("cannot write the state of a session: {0}")]
    File(#[from] io::Error),
}

/// Why a state that should be kept cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MissingState {
    /// There is no such state.
    #[error("its state is missing")]
    Unknown,
    /// Its file cannot be read.
    #[error("the file of its state cannot be read: {0}")]
    File(#[from] io::Error),
    /// Its file has other bytes.
    #[error("the file of its state is damaged")]
    Damaged,
}

impl FrozenStates {
    pub(crate) fn new(folder: Option<PathBuf>, memory_bytes: u64, disk_bytes: u64) -> Self {
        Self {
            folder,
            memory_bytes,
            disk_bytes,
            kept: Mutex::default(),
        }
    }

    /// Keeps a state for one more session, and returns its hash once its file is written.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is kept.
    pub(crate) fn put(&self, bytes: &Bytes) -> Result<Hash, StoreError> {
        let hash = Hash::of(bytes);
        let turn = {
            let mut kept = self.kept();
            if let Some(state) = kept.states.get_mut(&hash) {
                state.users += 1;
                let is_written = state.has_file;
                kept.touch(&hash, Some(bytes));
                if is_written {
                    kept.evict(self.memory_bytes);
                    return Ok(hash);
                }
            } else {
                self.add(&mut kept, hash, bytes)?;
            }
            kept.next_turn
        };
        let Some(folder) = &self.folder else {
            return Ok(hash);
        };
        if let Err(error) = write(&path(folder, &hash), turn, bytes) {
            self.release(&hash);
            return Err(error.into());
        }
        let mut kept = self.kept();
        if let Some(state) = kept.states.get_mut(&hash) {
            state.has_file = true;
        }
        kept.evict(self.memory_bytes);
        Ok(hash)
    }

    /// Adds a state with one user, in memory.
    fn add(&self, kept: &mut Kept, hash: Hash, bytes: &Bytes) -> Result<(), StoreError> {
        let length = bytes.len() as u64;
        let (used, limit, setting) = match self.folder {
            Some(_) => (kept.file_bytes, self.disk_bytes, "disk_bytes"),
            None => (kept.memory_bytes, self.memory_bytes, "memory_bytes"),
        };
        if used.saturating_add(length) > limit {
            return Err(StoreError::Full(setting));
        }
        kept.insert(hash, length, false);
        kept.touch(&hash, Some(bytes));
        if self.folder.is_some() {
            kept.file_bytes += length;
        }
        Ok(())
    }

    /// The bytes of a state that the calling session uses.
    ///
    /// # Errors
    /// [`MissingState`].
    pub(crate) fn get(&self, hash: &Hash) -> Result<Bytes, MissingState> {
        if let Some(bytes) = self.in_memory(hash) {
            return Ok(bytes);
        }
        let read = self.read(hash);
        let mut kept = self.kept();
        let bytes = match read {
            Ok(bytes) => Bytes::from(bytes),
            Err(error) => {
                // The next session that has the same state writes it again.
                if let Some(state) = kept.states.get_mut(hash) {
                    state.has_file = false;
                }
                return Err(error);
            }
        };
        kept.touch(hash, Some(&bytes));
        kept.evict(self.memory_bytes);
        Ok(bytes)
    }

    fn read(&self, hash: &Hash) -> Result<Vec<u8>, MissingState> {
        let folder = self.folder.as_ref().ok_or(MissingState::Unknown)?;
        let bytes = fs::read(path(folder, hash))?;
        if Hash::of(&bytes) == *hash {
            Ok(bytes)
        } else {
            Err(MissingState::Damaged)
        }
    }

    /// The bytes of a state if they are in memory.
    pub(crate) fn in_memory(&self, hash: &Hash) -> Option<Bytes> {
        let mut kept = self.kept();
        kept.touch(hash, None);
        let memory = kept.states.get(hash)?.memory.as_ref()?;
        Some(memory.bytes.clone())
    }

    /// Whether a state is in memory, and its size; `None` if it is not kept.
    pub(crate) fn place(&self, hash: &Hash) -> Option<(bool, u64)> {
        let kept = self.kept();
        let state = kept.states.get(hash)?;
        Some((state.memory.is_some(), state.bytes))
    }

    /// Counts one more user of a state.
    pub(crate) fn retain(&self, hash: &Hash) {
        if let Some(state) = self.kept().states.get_mut(hash) {
            state.users += 1;
        }
    }

    /// Counts one more user of the state in a file that an earlier process wrote; `false` if there
    /// is no such file.
    pub(crate) fn adopt(&self, hash: &Hash) -> bool {
        let Some(folder) = &self.folder else {
            return false;
        };
        let mut kept = self.kept();
        if let Some(state) = kept.states.get_mut(hash) {
            state.users += 1;
            return true;
        }
        let Ok(file) = fs::metadata(path(folder, hash)) else {
            return false;
        };
        kept.insert(*hash, file.len(), true);
        kept.file_bytes += file.len();
        true
    }

    /// Counts one user less, and deletes a state without users.
    pub(crate) fn release(&self, hash: &Hash) {
        let mut kept = self.kept();
        let Some(state) = kept.states.get_mut(hash) else {
            return;
        };
        state.users = state.users.saturating_sub(1);
        if state.users > 0 {
            return;
        }
        kept.remove(hash, self.folder.is_some());
        // Under the lock: another session may write the same state next.
        if let Some(folder) = &self.folder {
            delete(&path(folder, hash));
        }
    }

    /// Deletes files that belong to no state: of interrupted calls of an earlier process.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(crate) fn sweep(&self) -> io::Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let known: BTreeSet<String> = {
            let kept = self.kept();
            kept.states.keys().map(Hash::to_string).collect()
        };
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(OsStr::to_str);
            if !name.is_some_and(|name| known.contains(name)) {
                delete(&path);
            }
        }
        Ok(())
    }

    pub(crate) fn counts(&self) -> StateCounts {
        let kept = self.kept();
        StateCounts {
            in_memory: kept.order.len(),
            memory_bytes: kept.memory_bytes,
            only_in_files: kept.states.len() - kept.order.len(),
            file_bytes: kept.file_bytes,
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn insert(&mut self, hash: Hash, bytes: u64, has_file: bool) {
        let state = State {
            users: 1,
            bytes,
            memory: None,
            has_file,
        };
        self.states.insert(hash, state);
    }

    fn remove(&mut self, hash: &Hash, has_files: bool) {
        self.drop_memory(hash);
        if let Some(state) = self.states.remove(hash)
            && has_files
        {
            self.file_bytes = self.file_bytes.saturating_sub(state.bytes);
        }
    }

    /// Makes a state the one that was used last, in memory if its bytes are given.
    fn touch(&mut self, hash: &Hash, bytes: Option<&Bytes>) {
        let Some(state) = self.states.get_mut(hash) else {
            return;
        };
        let turn = self.next_turn;
        match (&mut state.memory, bytes) {
            (Some(memory), _) => {
                self.order.remove(&memory.turn);
                memory.turn = turn;
            }
            (None, Some(bytes)) => {
                let bytes = bytes.clone();
                state.memory = Some(InMemory { turn, bytes });
                self.memory_bytes += state.bytes;
            }
            (None, None) => return,
        }
        self.order.insert(turn, *hash);
        self.next_turn += 1;
    }

    fn drop_memory(&mut self, hash: &Hash) {
        let Some(state) = self.states.get_mut(hash) else {
            return;
        };
        if let Some(memory) = state.memory.take() {
            self.order.remove(&memory.turn);
            self.memory_bytes = self.memory_bytes.saturating_sub(state.bytes);
        }
    }

    /// Drops the states that were used least recently from memory, if they are in files.
    fn evict(&mut self, budget: u64) {
        let mut excess = self.memory_bytes.saturating_sub(budget);
        if excess == 0 {
            return;
        }
        let mut dropped = Vec::new();
        for hash in self.order.values() {
            if excess == 0 {
                break;
            }
            if let Some(state) = self.states.get(hash).filter(|state| state.has_file) {
                dropped.push(*hash);
                excess = excess.saturating_sub(state.bytes);
            }
        }
        for hash in dropped {
            self.drop_memory(&hash);
        }
    }
}

fn path(folder: &Path, hash: &Hash) -> PathBuf {
    folder.join(hash.to_string())
}

/// Writes a file so that it is complete or missing. It is not synced: the hash shows a file that a
/// power failure damaged, and the calls of its session then run again.
/// `turn` distinguishes writers of the same state.
fn write(path: &Path, turn: u64, bytes: &[u8]) -> io::Result<()> {
    let partial = path.with_extension(format!("{turn}.{PARTIAL}"));
    let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        delete(&partial);
    }
    written
}

fn delete(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "cannot delete the state of a session");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(folder: &Path, memory_bytes: u64) -> FrozenStates {
        FrozenStates::new(Some(folder.to_owned()), memory_bytes, 1_000)
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn states_beyond_the_budget_are_in_files_only() {
        let folder = tempfile::tempdir().unwrap();
        let states = states(folder.path(), 250);
        let hashes = [1, 2, 3].map(|byte| states.put(&vec![byte; 100].into()).unwrap());
        let in_memory = |hash| states.place(hash).unwrap().0;
        assert_eq!(hashes.each_ref().map(in_memory), [false, true, true]);
        assert_eq!(*states.get(&hashes[0]).unwrap(), [1; 100]);
        // The second was used least recently.
        assert_eq!(hashes.each_ref().map(in_memory), [true, false, true]);
        assert!(states.in_memory(&hashes[2]).is_some());
        assert_eq!(*states.get(&hashes[1]).unwrap(), [2; 100]);
        assert_eq!(hashes.each_ref().map(in_memory), [false, true, true]);
        let counts = StateCounts {
            in_memory: 2,
            memory_bytes: 200,
            only_in_files: 1,
            file_bytes: 300,
        };
        assert_eq!(states.counts(), counts);
    }

    #[test]
    fn equal_states_are_kept_once_until_the_last_user_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let states = states(folder.path(), 1_000);
        let hash = states.put(&b"same"[..].into()).unwrap();
        assert_eq!(states.put(&b"same"[..].into()).unwrap(), hash);
        states.retain(&hash);
        assert_eq!(files(folder.path()), 1);
        states.release(&hash);
        states.release(&hash);
        assert_eq!(*states.get(&hash).unwrap(), *b"same");
        states.release(&hash);
        assert_eq!(files(folder.path()), 0);
        assert!(states.get(&hash).is_err());
        assert_eq!(states.counts(), StateCounts::default());
    }

    #[test]
    fn rejects_states_beyond_the_budget_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let states = states(folder.path(), 0);
        let first = states.put(&vec![1; 900].into()).unwrap();
        let error = states.put(&vec![2; 200].into()).unwrap_err();
        assert!(error.to_string().contains("sessions.disk_bytes"), "{error}");
        states.release(&first);
        states.put(&vec![2; 200].into()).unwrap();
    }

    #[test]
    fn without_a_folder_memory_is_the_budget() {
        let states = FrozenStates::new(None, 150, 0);
        let first = states.put(&vec![1; 100].into()).unwrap();
        let error = states.put(&vec![2; 100].into()).unwrap_err();
        assert!(error.to_string().contains("sessions.memory_bytes"));
        assert_eq!(*states.get(&first).unwrap(), [1; 100]);
        states.release(&first);
        states.put(&vec![2; 100].into()).unwrap();
    }

    #[test]
    fn finds_damaged_files_and_deletes_unknown_ones() {
        let folder = tempfile::tempdir().unwrap();
        let hash = states(folder.path(), 0).put(&vec![7; 100].into()).unwrap();
        fs::write(folder.path().join("unknown"), "x").unwrap();
        let states = states(folder.path(), 0);
        assert!(states.adopt(&hash) && !states.adopt(&Hash::of(b"other")));
        states.sweep().unwrap();
        assert_eq!(files(folder.path()), 1);
        assert_eq!(*states.get(&hash).unwrap(), [7; 100]);
        fs::write(path(folder.path(), &hash), [7; 99]).unwrap();
        assert!(matches!(states.get(&hash), Err(MissingState::Damaged)));
        assert_eq!(states.put(&vec![7; 100].into()).unwrap(), hash);
        let next = FrozenStates::new(Some(folder.path().to_owned()), 0, 1_000);
        assert!(next.adopt(&hash), "the file is written again");
        assert_eq!(*next.get(&hash).unwrap(), [7; 100]);
    }
}
