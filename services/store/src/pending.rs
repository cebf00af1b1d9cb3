//! Responsible for the entries that are recorded but not in the database yet, in the order they
//! were recorded. Memory is bounded: past the limit an entry keeps only its digest here and is read
//! back from its segment when its turn comes or a read needs it.
//!
//! A digest is about 1/250 of its entry: 5 bytes a body, some 300 bytes beside. A spool of 10 GiB
//! therefore costs 40 MiB of memory.

use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_core::record::{Entry, RequestKey};
use assay_core::{BatchId, GradeId, Hash};
use tokio::sync::Notify;

use crate::metrics;
use crate::packs::Contents;
use crate::spool::Position;
use crate::spool::segment::Segment;
use crate::totals::RunTotals;
use crate::writer::Loaded;

/// What reads need to know of an entry to tell whether it concerns them.
#[derive(Debug)]
pub(crate) struct Digest {
    pub(crate) batch: BatchId,
    pub(crate) run: Option<Arc<str>>,
    pub(crate) step: Option<i64>,
    /// Smallest and largest id of its grades.
    pub(crate) ids: Option<(GradeId, GradeId)>,
    /// What its grades add to their run, if none of them was there before.
    pub(crate) totals: RunTotals,
    pub(crate) claim: Option<RequestKey>,
    /// Whether it has events.
    pub(crate) events: bool,
    /// First four bytes of the hash of each body.
    bodies: Box<[u32]>,
}

impl Digest {
    pub(crate) fn of(entry: &Entry, contents: &Contents) -> Self {
        let ids = || entry.grades.iter().map(|grade| grade.grade);
        Self {
            batch: entry.batch,
            run: entry.run.clone(),
            step: entry.step,
            ids: ids().min().zip(ids().max()),
            totals: RunTotals::of(&entry.grades),
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

    /// Whether the entry may hold this body; one in four thousand million says yes in error.
    pub(crate) fn may_hold_body(&self, hash: Hash) -> bool {
        self.bodies.contains(&prefix(hash))
    }

    /// Whether the entry's range of ids covers this grade.
    pub(crate) fn may_hold_grade(&self, id: GradeId) -> bool {
        self.ids
            .is_some_and(|(first, last)| first <= id && id <= last)
    }
}

fn prefix(hash: Hash) -> u32 {
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// An entry that waits.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) start: Position,
    /// Where the next one starts; it is applied once the progress is this far.
    pub(crate) end: Position,
    pub(crate) digest: Digest,
    held: Option<Arc<Loaded>>,
    segment: Option<Arc<Segment>>,
}

impl Item {
    pub(crate) fn new(
        start: Position,
        end: Position,
        digest: Digest,
        loaded: Arc<Loaded>,
        segment: Option<Arc<Segment>>,
    ) -> Self {
        Self {
            start,
            end,
            digest,
            held: Some(loaded),
            segment,
        }
    }

    /// The entry, read back from its segment if it is no longer in memory.
    pub(crate) async fn load(self: &Arc<Self>) -> io::Result<Arc<Loaded>> {
        if let Some(held) = &self.held {
            return Ok(held.clone());
        }
        let item = self.clone();
        let read = tokio::task::spawn_blocking(move || item.read_back()).await;
        // If decoding a frame panics, it would panic again at the next try.
        read.unwrap_or_else(|error| Err(io::Error::new(io::ErrorKind::InvalidData, error)))
    }

    fn read_back(&self) -> io::Result<Arc<Loaded>> {
        let Some(segment) = &self.segment else {
            return Err(io::Error::other(
                "an entry without a segment is no longer in memory",
            ));
        };
        Loaded::from_frame(&segment.seal, &self.frame()?).map(Arc::new)
    }

    /// Its frame as stored in the segment; empty for an entry without a segment.
    pub(crate) fn frame(&self) -> io::Result<Vec<u8>> {
        let Some(segment) = &self.segment else {
            return Ok(Vec::new());
        };
        let length = usize::try_from(self.end.byte - self.start.byte).map_err(io::Error::other)?;
        segment.read(self.start.byte, length)
    }

    fn held_bytes(&self) -> usize {
        self.held.as_ref().map_or(0, |loaded| loaded.bytes)
    }
}

struct Inner {
    items: VecDeque<Arc<Item>>,
    held_bytes: usize,
}

/// The entries that wait, oldest first.
pub(crate) struct Pending {
    inner: Mutex<Inner>,
    limit: usize,
    arrived: Notify,
    forgotten: Notify,
}

impl Pending {
    /// Keeps at most `limit` bytes of entries in memory.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            inner: Mutex::new(Inner {
                items: VecDeque::new(),
                held_bytes: 0,
            }),
            limit,
            arrived: Notify::new(),
            forgotten: Notify::new(),
        }
    }

    /// Adds entries behind all others.
    pub(crate) fn push(&self, items: Vec<Item>) {
        let mut inner = self.lock();
        for mut item in items {
            if inner.held_bytes + item.held_bytes() > self.limit && item.segment.is_some() {
                item.held = None;
            }
            inner.held_bytes += item.held_bytes();
            inner.items.push_back(Arc::new(item));
        }
        metrics::pending(inner.items.len(), inner.held_bytes);
        drop(inner);
        self.arrived.notify_one();
    }

    /// The oldest entries, as many as come to `grades` rows and `bytes` of frames, at least one if
    /// any waits.
    pub(crate) fn oldest(&self, grades: u64, bytes: u64) -> Vec<Arc<Item>> {
        let inner = self.lock();
        let (mut rows, mut size) = (0, 0);
        inner
            .items
            .iter()
            .take_while(|item| {
                let fits = rows < grades && size < bytes;
                rows += item.digest.totals.grades.max(1);
                size += item.end.byte - item.start.byte;
                fits
            })
            .cloned()
            .collect()
    }

    /// Forgets the entries that the database has.
    pub(crate) fn forget_through(&self, progress: Position) {
        let mut inner = self.lock();
        while let Some(item) = inner.items.front()
            && item.end <= progress
        {
            inner.held_bytes -= item.held_bytes();
            inner.items.pop_front();
        }
        metrics::pending(inner.items.len(), inner.held_bytes);
        drop(inner);
        self.forgotten.notify_waiters();
    }

    /// Waits until the database has those entries with events that wait now.
    pub(crate) async fn events_forgotten(&self) {
        let last = self
            .lock()
            .items
            .iter()
            .rev()
            .find(|item| item.digest.events)
            .map(|item| item.end);
        let Some(last) = last else { return };
        loop {
            let mut forgotten = pin!(self.forgotten.notified());
            forgotten.as_mut().enable();
            if self
                .lock()
                .items
                .front()
                .is_none_or(|first| first.end > last)
            {
                return;
            }
            forgotten.await;
        }
    }

    /// The entries whose digest passes, oldest first.
    pub(crate) fn select(&self, passes: impl Fn(&Digest) -> bool) -> Vec<Arc<Item>> {
        self.lock()
            .items
            .iter()
            .filter(|item| passes(&item.digest))
            .cloned()
            .collect()
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().items.len()
    }

    /// Whether the limit is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().held_bytes >= self.limit
    }

    /// Waits until entries were added since the last call.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
