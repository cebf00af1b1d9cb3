//! Decides which requests run. Callers share the workers fairly: a free worker goes to the waiting
//! caller that has the fewest, and a request that runs long is preempted while a caller waits that
//! has fewer workers.
//!
//! A preempted request is suspended: its worker is stopped by a signal and continues when it is the
//! request's turn again, so no work is lost. Suspended workers keep their memory. If there are as
//! many of them as requests may run, the request is restarted in another worker instead. This never
//! changes its result, because results do not depend on time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use assay_core::fair_permits::Closed;
use assay_core::{FairPermit, FairPermits};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::metrics;

/// How long a request runs before it is preempted. Short enough that other callers hardly notice
/// the delay, long enough that switching costs little: a new worker takes up to a tenth of this to
/// start.
const PROTECTED: Duration = Duration::from_secs(1);

/// How often a waiting request looks for one to preempt.
const CHECK: Duration = Duration::from_millis(200);

/// The permits of the requests of a pool and its siblings. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Scheduler(Arc<SchedulerState>);

struct SchedulerState {
    permits: FairPermits,
    /// Most requests that run at once, and most that are suspended.
    count: usize,
    preemptible: Mutex<Vec<Preemptible>>,
    suspended: AtomicUsize,
}

/// A request that runs long enough to be tracked.
struct Preemptible {
    number: u64,
    caller: Arc<str>,
    /// When it first started to run.
    started: Instant,
    /// Until when it is not preempted.
    protected: Instant,
    /// Where its preemption is announced; `None` if it was.
    announce: Option<oneshot::Sender<Preemption>>,
}

/// What happens to a preempted request.
pub(crate) enum Preemption {
    /// Its worker is stopped until the request has a permit again.
    Suspend(Suspended),
    /// Its worker is killed.
    Restart,
}

/// Counts a suspended request.
pub(crate) struct Suspended(Scheduler);

impl Drop for Suspended {
    fn drop(&mut self) {
        self.0.0.suspended.fetch_sub(1, Ordering::Relaxed);
        metrics::resumed();
    }
}

/// Tracks a running request.
pub(crate) struct Tracked {
    scheduler: Scheduler,
    number: u64,
    announced: oneshot::Receiver<Preemption>,
}

impl Tracked {
    /// Returns when the request must stop.
    pub(crate) async fn preempted(&mut self) -> Preemption {
        match (&mut self.announced).await {
            Ok(preemption) => preemption,
            // The sender is dropped only together with this.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let mut preemptible = self.scheduler.preemptible();
        preemptible.retain(|request| request.number != self.number);
    }
}

/// How long a request runs before it is preempted, if it was restarted this many times. Doubled each
/// time, so that a request of any length ends.
pub(crate) fn protected(restarts: u32) -> Duration {
    PROTECTED.saturating_mul(2_u32.saturating_pow(restarts))
}

impl Scheduler {
    /// At most `count` requests run at once, and at least one.
    pub(crate) fn new(count: usize) -> Self {
        let count = count.max(1);
        Self(Arc::new(SchedulerState {
            permits: FairPermits::new(count, count),
            count,
            preemptible: Mutex::default(),
            suspended: AtomicUsize::new(0),
        }))
    }

    /// Number of requests that could start now.
    pub(crate) fn free(&self) -> usize {
        self.0.permits.free()
    }

    /// Fails requests that wait, and later ones.
    pub(crate) fn close(&self) {
        self.0.permits.close();
    }

    /// Waits for a permit, and preempts others if they have more workers. `is_new` is false for a
    /// request that gave up its permit.
    pub(crate) async fn acquire(
        &self,
        caller: &Arc<str>,
        is_new: bool,
    ) -> Result<FairPermit, Closed> {
        let permits = &self.0.permits;
        let acquire = if is_new {
            permits.acquire(caller)
        } else {
            permits.reacquire(caller)
        };
        let mut acquire = std::pin::pin!(acquire);
        let at_once = std::future::poll_fn(|cx| Poll::Ready(acquire.as_mut().poll(cx))).await;
        if let Poll::Ready(acquired) = at_once {
            return acquired;
        }
        let _waiting = metrics::Waiting::count();
        loop {
            let check = self.preempt(Instant::now());
            tokio::select! {
                biased;
                acquired = acquire.as_mut() => return acquired,
                () = tokio::time::sleep_until(check) => {}
            }
        }
    }

    /// Tracks a request of `caller` that runs since `started`, so that it can be preempted after
    /// `protected`.
    pub(crate) fn track(&self, caller: &Arc<str>, started: Instant, protected: Instant) -> Tracked {
        let (announce, announced) = oneshot::channel();
        let mut preemptible = self.preemptible();
        let number = preemptible.last().map_or(0, |last| last.number + 1);
        preemptible.push(Preemptible {
            number,
            caller: Arc::clone(caller),
            started,
            protected,
            announce: Some(announce),
        });
        drop(preemptible);
        Tracked {
            scheduler: self.clone(),
            number,
            announced,
        }
    }

    /// Preempts a request if one should give its worker to the caller that is next. Returns when to
    /// check again.
    fn preempt(&self, now: Instant) -> Instant {
        let mut preemptible = self.preemptible();
        // One at a time: only when the permit has been passed on is it known who needs another.
        if preemptible.iter().any(|request| request.announce.is_none()) {
            return now + CHECK;
        }
        let permits = &self.0.permits;
        let Some(next) = permits.next() else {
            return now + CHECK;
        };
        let most = permits.most_held_by_others(&next.caller);
        let holds_most = |caller: &Arc<str>| *caller != next.caller && permits.held(caller) == most;
        if !is_unfair(most, next.held) {
            return now + CHECK;
        }
        let candidates = preemptible
            .iter_mut()
            .filter(|request| holds_most(&request.caller));
        let (ready, protected): (Vec<_>, Vec<_>) =
            candidates.partition(|request| request.protected <= now);
        let ready = ready.into_iter();
        let chosen = if most == 1 {
            // Callers take turns.
            ready.min_by_key(|request| request.protected)
        } else {
            // The older requests of a caller continue: they will end first.
            ready.max_by_key(|request| request.started)
        };
        let Some(chosen) = chosen else {
            let first = protected.into_iter().map(|request| request.protected).min();
            return first.unwrap_or(now + CHECK).min(now + CHECK);
        };
        if let Some(announce) = chosen.announce.take() {
            // If the request has just ended, its permit is about to be passed on all the same.
            let _ = announce.send(self.preemption());
        }
        now + CHECK
    }

    fn preemption(&self) -> Preemption {
        // Only called with the lock.
        if self.0.suspended.load(Ordering::Relaxed) == self.0.count {
            metrics::preempted("restarted");
            return Preemption::Restart;
        }
        self.0.suspended.fetch_add(1, Ordering::Relaxed);
        metrics::preempted("suspended");
        metrics::suspended();
        Preemption::Suspend(Suspended(self.clone()))
    }

    fn preemptible(&self) -> MutexGuard<'_, Vec<Preemptible>> {
        let state = &self.0.preemptible;
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a caller with `most` workers should give one to a caller with `fewest`: the difference
/// becomes smaller, or they take turns.
fn is_unfair(most: usize, fewest: usize) -> bool {
    most >= fewest + 2 || most > fewest && fewest == 0
}
