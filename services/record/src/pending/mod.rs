//! Holds the entries that are recorded but not in the database yet, in the order in which they were
//! recorded. Memory is bounded: above the limit only the digest of an entry is kept, and the entry
//! is read back from its segment when it is applied.
//!
//! A digest has about 1/250 of the size of its entry: 5 bytes per body and some 200 more. A spool
//! of 10 GiB therefore uses 40 MiB of memory.

pub(crate) mod loaded_entry;
pub(crate) mod packs;

use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_core::{BatchId, GradeId, Hash};
use tokio::sync::Notify;

use self::loaded_entry::LoadedEntry;
use self::packs::Contents;
use crate::metrics;
use crate::spool::Position;
use crate::spool::segment::Segment;
use crate::{Entry, RequestKey};

/// An entry and the position after it.
pub(crate) type Applicable = (Position, Arc<LoadedEntry>);

/// What reads need to know to decide whether to wait for an entry.
#[derive(Debug)]
pub(crate) struct Digest {
    pub(crate) batch: BatchId,
    pub(crate) caller: Arc<str>,
    pub(crate) run: Option<Arc<str>>,
    pub(crate) step: Option<i64>,
    /// Smallest and largest id of its grades.
    pub(crate) ids: Option<(GradeId, GradeId)>,
    /// Number of its grades.
    pub(crate) grades: u64,
    pub(crate) claim: Option<RequestKey>,
    /// Whether it has events.
    pub(crate) events: bool,
    /// First four bytes of the hash of each body.
    bodies: Box<[u32]>,
}

impl Digest {
    pub(crate) fn of(entry: &Entry, contents: &Contents) -> Self {
        let ids = || entry.grades.iter().map(|grade| grade.row.grade.grade);
        Self {
            batch: entry.batch,
            caller: Arc::clone(&entry.caller),
            run: entry.run.clone(),
            step: entry.step,
            ids: ids().min().zip(ids().max()),
            grades: entry.grades.len() as u64,
            claim: entry.claim.as_ref().map(|claim| claim.key.clone()),
            events: !entry.events.is_empty(),
            bodies: contents
                .packs
                .iter()
                .flat_map(|pack| &pack.bodies)
                .map(|body| prefix(body.hash))
                .collect(),
        }
    }

    /// Whether the entry has grades of this run.
    pub(crate) fn has_grades_of(&self, run: &str) -> bool {
        self.run.as_deref() == Some(run) && self.grades > 0
    }

    /// Whether the entry takes storage of its caller: it has grades or a reply.
    pub(crate) fn is_held(&self) -> bool {
        self.grades > 0 || self.claim.is_some()
    }

    /// Whether the entry may contain this body. Wrong for one body in four thousand million.
    pub(crate) fn may_contain_body(&self, hash: Hash) -> bool {
        self.bodies.contains(&prefix(hash))
    }

    /// Whether the entry's range of ids includes this grade.
    pub(crate) fn may_contain_grade(&self, id: GradeId) -> bool {
        self.ids
            .is_some_and(|(first, last)| first <= id && id <= last)
    }
}

fn prefix(hash: Hash) -> u32 {
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// A pending entry.
#[derive(Debug)]
pub(crate) struct PendingEntry {
    pub(crate) start: Position,
    /// Position of the next entry. The entry is applied once the progress has reached it.
    pub(crate) end: Position,
    pub(crate) digest: Digest,
    loaded: Option<Arc<LoadedEntry>>,
    segment: Option<Arc<Segment>>,
}

impl PendingEntry {
    pub(crate) fn new(
        start: Position,
        end: Position,
        digest: Digest,
        loaded: Arc<LoadedEntry>,
        segment: Option<Arc<Segment>>,
    ) -> Self {
        Self {
            start,
            end,
            digest,
            loaded: Some(loaded),
            segment,
        }
    }

    /// The entry, read back from its segment if it is no longer in memory.
    pub(crate) async fn load(self: &Arc<Self>) -> io::Result<Arc<LoadedEntry>> {
        if let Some(loaded) = &self.loaded {
            return Ok(loaded.clone());
        }
        let entry = self.clone();
        let read = tokio::task::spawn_blocking(move || entry.read_back()).await;
        // If decoding panics, it would panic again at the next try.
        read.unwrap_or_else(|error| Err(io::Error::new(io::ErrorKind::InvalidData, error)))
    }

    fn read_back(&self) -> io::Result<Arc<LoadedEntry>> {
        let Some(segment) = &self.segment else {
            return Err(io::Error::other(
                "an entry without a segment is no longer in memory",
            ));
        };
        LoadedEntry::from_frame(&segment.seal, &self.frame()?).map(Arc::new)
    }

    /// Its frame as stored in the segment; empty for an entry without a segment.
    pub(crate) fn frame(&self) -> io::Result<Vec<u8>> {
        let Some(segment) = &self.segment else {
            return Ok(Vec::new());
        };
        let length = usize::try_from(self.size()).map_err(io::Error::other)?;
        segment.read(self.start.byte, length)
    }

    /// Size of its frame, in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.end.byte - self.start.byte
    }

    fn memory_bytes(&self) -> usize {
        self.loaded.as_ref().map_or(0, |loaded| loaded.bytes)
    }
}

struct PendingState {
    entries: VecDeque<Arc<PendingEntry>>,
    memory_bytes: usize,
}

/// The pending entries, oldest first.
pub(crate) struct Pending {
    state: Mutex<PendingState>,
    limit: usize,
    arrived: Notify,
    applied: Notify,
    awaited: Notify,
}

impl Pending {
    /// Keeps at most `limit` bytes of entries in memory.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            state: Mutex::new(PendingState {
                entries: VecDeque::new(),
                memory_bytes: 0,
            }),
            limit,
            arrived: Notify::new(),
            applied: Notify::new(),
            awaited: Notify::new(),
        }
    }

    /// Adds entries at the end.
    pub(crate) fn push(&self, entries: Vec<PendingEntry>) {
        let mut state = self.lock();
        for mut entry in entries {
            if state.memory_bytes + entry.memory_bytes() > self.limit && entry.segment.is_some() {
                entry.loaded = None;
            }
            state.memory_bytes += entry.memory_bytes();
            state.entries.push_back(Arc::new(entry));
        }
        metrics::pending(state.entries.len(), state.memory_bytes);
        drop(state);
        self.arrived.notify_one();
    }

    /// The oldest entries, up to about `grades` rows and `bytes` of frames; at least one unless
    /// there are none.
    pub(crate) fn oldest(&self, grades: u64, bytes: u64) -> Vec<Arc<PendingEntry>> {
        let state = self.lock();
        let (mut rows, mut size) = (0, 0);
        state
            .entries
            .iter()
            .take_while(|entry| {
                let fits = rows < grades && size < bytes;
                rows += entry.digest.grades.max(1);
                size += entry.size();
                fits
            })
            .cloned()
            .collect()
    }

    /// Removes the entries that are in the database.
    pub(crate) fn remove_applied(&self, progress: Position) {
        let mut state = self.lock();
        while let Some(entry) = state.entries.front()
            && entry.end <= progress
        {
            state.memory_bytes -= entry.memory_bytes();
            state.entries.pop_front();
        }
        metrics::pending(state.entries.len(), state.memory_bytes);
        drop(state);
        self.applied.notify_waiters();
    }

    /// The end of the last pending entry whose digest passes.
    pub(crate) fn last(&self, passes: impl Fn(&Digest) -> bool) -> Option<Position> {
        let state = self.lock();
        let last = state.entries.iter().rev();
        let mut last = last.filter(|entry| passes(&entry.digest));
        last.next().map(|entry| entry.end)
    }

    /// Waits until the entry that ends at `last` and those before it are in the database.
    pub(crate) async fn wait_for(&self, last: Position) {
        loop {
            let mut applied = pin!(self.applied.notified());
            applied.as_mut().enable();
            if self
                .lock()
                .entries
                .front()
                .is_none_or(|first| first.end > last)
            {
                return;
            }
            self.awaited.notify_one();
            applied.await;
        }
    }

    /// The entries whose digest passes, oldest first.
    pub(crate) fn select(&self, passes: impl Fn(&Digest) -> bool) -> Vec<Arc<PendingEntry>> {
        self.lock()
            .entries
            .iter()
            .filter(|entry| passes(&entry.digest))
            .cloned()
            .collect()
    }

    /// Number of pending entries.
    pub(crate) fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether the limit on memory is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().memory_bytes >= self.limit
    }

    /// Waits until entries were added since the last call.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Waits until a read waited for pending entries since the last call.
    pub(crate) async fn awaited(&self) {
        self.awaited.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, PendingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
