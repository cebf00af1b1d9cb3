//! Permits that callers share fairly. A permit goes to the waiting caller that holds the fewest,
//! and among equals to the one that has not received one for longest. The requests of one caller
//! are served by rank, and in the order of their arrival. Work in the
//! [background](crate::background) that holds a permit gets another one only if no other work
//! waits.

use std::collections::{BTreeMap, HashSet};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::background::is_background;

/// A number of permits for all callers, and a maximum for each. Cheap to clone: clones share the
/// permits.
#[derive(Clone)]
pub struct FairPermits(Arc<PermitQueue>);

struct PermitQueue {
    /// Most permits that one caller holds.
    per_caller: usize,
    state: Mutex<QueueState>,
    /// Number of waiting requests, for readers without the lock. Written under the lock.
    waiting: AtomicUsize,
}

struct QueueState {
    /// While a permit is free, every waiting caller holds its maximum.
    free: usize,
    is_closed: bool,
    /// The callers that hold permits or wait for them, and no others.
    callers: BTreeMap<Arc<str>, CallerShare>,
    /// The tickets of requests that have a permit and do not know it yet.
    granted: HashSet<u64>,
    /// The next ticket, and the next turn of a caller.
    next: u64,
}

/// The permits of one caller.
struct CallerShare {
    held: usize,
    /// When it started to wait or, if later, last received a permit.
    turn: u64,
    waiting: BTreeMap<Place, Waker>,
}

/// The place of a request among those of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    rank: u8,
    ticket: u64,
}

/// The permits were closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the permits are closed")]
pub struct Closed;

/// The caller that receives the next permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextCaller {
    /// Its name.
    pub caller: Arc<str>,
    /// Number of permits that it holds.
    pub held: usize,
}

impl FairPermits {
    /// `count` permits, of which one caller holds at most `per_caller`; at least one each.
    #[must_use]
    pub fn new(count: usize, per_caller: usize) -> Self {
        Self(Arc::new(PermitQueue {
            per_caller: per_caller.max(1),
            state: Mutex::new(QueueState {
                free: count.max(1),
                is_closed: false,
                callers: BTreeMap::new(),
                granted: HashSet::new(),
                next: 0,
            }),
            waiting: AtomicUsize::new(0),
        }))
    }

    /// Waits for a permit. Dropping the future gives up the place in the queue.
    pub fn acquire(&self, caller: &Arc<str>) -> Acquire {
        self.acquire_ranked(caller, 0)
    }

    /// The same. Requests of a lower rank are served before others of the same caller.
    pub fn acquire_ranked(&self, caller: &Arc<str>, rank: u8) -> Acquire {
        Acquire {
            queue: Arc::clone(&self.0),
            caller: Arc::clone(caller),
            progress: Progress::Unqueued { rank },
        }
    }

    /// Fails all waiting and later requests. Permits that are held stay valid.
    pub fn close(&self) {
        let mut wakers = Vec::new();
        let mut state = self.0.state();
        state.is_closed = true;
        for share in state.callers.values_mut() {
            wakers.extend(std::mem::take(&mut share.waiting).into_values());
        }
        state.callers.retain(|_, share| share.held > 0);
        self.0.waiting.store(0, Ordering::Relaxed);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Number of free permits.
    #[must_use]
    pub fn free(&self) -> usize {
        self.0.state().free
    }

    /// Number of waiting requests.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    /// The caller that receives the next permit; `None` if no permit is waited for.
    #[must_use]
    pub fn next(&self) -> Option<NextCaller> {
        let state = self.0.state();
        let caller = state.next_caller(self.0.per_caller)?;
        let held = state.held(&caller);
        Some(NextCaller { caller, held })
    }

    /// Number of permits that a caller holds.
    #[must_use]
    pub fn held(&self, caller: &str) -> usize {
        self.0.state().held(caller)
    }

    /// The largest number of permits that one caller other than this one holds.
    #[must_use]
    pub fn most_held_by_others(&self, caller: &str) -> usize {
        let state = self.0.state();
        let others = state.callers.iter().filter(|(name, _)| ***name != *caller);
        others.map(|(_, share)| share.held).max().unwrap_or(0)
    }
}

impl PermitQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a permit back and passes it on.
    fn release(&self, mut state: MutexGuard<'_, QueueState>, caller: &Arc<str>) {
        state.free += 1;
        if let Some(share) = state.callers.get_mut(caller) {
            share.held -= 1;
        }
        state.forget_idle(caller);
        let mut wakers = Vec::new();
        while let Some(waker) = state.grant(self.per_caller) {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            wakers.push(waker);
        }
        // Without the lock, because a waker may run arbitrary code.
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl QueueState {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn held(&self, caller: &str) -> usize {
        self.callers.get(caller).map_or(0, |share| share.held)
    }

    fn share(&mut self, caller: &Arc<str>) -> &mut CallerShare {
        self.callers
            .entry(Arc::clone(caller))
            .or_insert_with(|| CallerShare {
                held: 0,
                turn: 0,
                waiting: BTreeMap::new(),
            })
    }

    fn forget_idle(&mut self, caller: &Arc<str>) {
        let is_idle = |share: &CallerShare| share.held == 0 && share.waiting.is_empty();
        if self.callers.get(caller).is_some_and(is_idle) {
            self.callers.remove(caller);
        }
    }

    /// Takes a free permit.
    fn take(&mut self, caller: &Arc<str>, per_caller: usize) -> bool {
        let is_free = self.free > 0 && self.held(caller) < per_caller;
        if is_free {
            self.free -= 1;
            self.share(caller).held += 1;
        }
        is_free
    }

    fn next_caller(&self, per_caller: usize) -> Option<Arc<str>> {
        let waiting = |share: &CallerShare| !share.waiting.is_empty() && share.held < per_caller;
        let callers = self.callers.iter().filter(|(_, share)| waiting(share));
        let next = callers.min_by_key(|(caller, share)| {
            let gives_way = share.held > 0 && is_background(caller);
            (gives_way, share.held, share.turn)
        });
        next.map(|(caller, _)| Arc::clone(caller))
    }

    /// Gives a free permit to the next request, and returns what wakes it.
    fn grant(&mut self, per_caller: usize) -> Option<Waker> {
        if self.free == 0 {
            return None;
        }
        let caller = self.next_caller(per_caller)?;
        let turn = self.number();
        let share = self.share(&caller);
        let (place, waker) = share.waiting.pop_first()?;
        share.held += 1;
        share.turn = turn;
        self.free -= 1;
        self.granted.insert(place.ticket);
        Some(waker)
    }
}

/// Waits for a permit.
#[must_use = "a permit is only requested when the future is polled"]
pub struct Acquire {
    queue: Arc<PermitQueue>,
    caller: Arc<str>,
    progress: Progress,
}

#[derive(Clone, Copy)]
enum Progress {
    Unqueued { rank: u8 },
    Queued(Place),
    Done,
}

impl Acquire {
    fn done(&mut self, result: Result<(), Closed>) -> Poll<Result<FairPermit, Closed>> {
        self.progress = Progress::Done;
        Poll::Ready(result.map(|()| FairPermit {
            queue: Arc::clone(&self.queue),
            caller: Arc::clone(&self.caller),
        }))
    }
}

impl Future for Acquire {
    type Output = Result<FairPermit, Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let queue = Arc::clone(&this.queue);
        let mut state = queue.state();
        let place = match this.progress {
            Progress::Done => return Poll::Pending,
            Progress::Unqueued { .. } if state.is_closed => return this.done(Err(Closed)),
            Progress::Unqueued { .. } if state.take(&this.caller, queue.per_caller) => {
                return this.done(Ok(()));
            }
            Progress::Unqueued { rank } => {
                queue.waiting.fetch_add(1, Ordering::Relaxed);
                let ticket = state.number();
                Place { rank, ticket }
            }
            Progress::Queued(place) if state.granted.remove(&place.ticket) => {
                return this.done(Ok(()));
            }
            Progress::Queued(_) if state.is_closed => return this.done(Err(Closed)),
            Progress::Queued(place) => place,
        };
        this.progress = Progress::Queued(place);
        let share = state.share(&this.caller);
        if share.waiting.is_empty() {
            share.turn = place.ticket;
        }
        // A waker may run arbitrary code when it is dropped, so the replaced one outlives the lock.
        let replaced = share.waiting.insert(place, cx.waker().clone());
        drop(state);
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Progress::Queued(place) = self.progress else {
            return;
        };
        let mut state = self.queue.state();
        if state.granted.remove(&place.ticket) {
            self.queue.release(state, &self.caller);
            return;
        }
        let share = state.callers.get_mut(&self.caller);
        // A waker may run arbitrary code when it is dropped, so it outlives the lock.
        let waker = share.and_then(|share| share.waiting.remove(&place));
        if waker.is_some() {
            self.queue.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        state.forget_idle(&self.caller);
        drop(state);
    }
}

/// A permit, which returns to the queue when it is dropped.
#[derive(Debug)]
pub struct FairPermit {
    queue: Arc<PermitQueue>,
    caller: Arc<str>,
}

impl FairPermit {
    /// Whether a caller that holds fewer permits than the owner of this one waits, or any other
    /// work if the owner is in the background and holds several.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        if self.queue.waiting.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let state = self.queue.state();
        let held = state.held(&self.caller);
        let next = state.next_caller(self.queue.per_caller);
        let gives_way = held > 1 && is_background(&self.caller);
        next.is_some_and(|next| {
            let is_before = state.held(&next) < held || gives_way && !is_background(&next);
            next != self.caller && is_before
        })
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.queue.release(self.queue.state(), &self.caller);
    }
}

impl std::fmt::Debug for PermitQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PermitQueue").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
