//! Decides which requests run. Callers share the workers fairly: a free worker goes to the waiting
//! caller that has the fewest, and a request that runs long is preempted while a caller waits that
//! has fewer workers.
//!
//! A preempted request is suspended: its worker is stopped by a signal and continues when it is the
//! request's turn again, so no work is lost. Suspended workers keep their memory. If there are as
//! many of them as requests may run, the request is restarted in another worker instead. Neither
//! changes its result, because results do not depend on time.

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
    requests: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    /// In the order of their numbers.
    preemptible: Vec<Preemptible>,
    /// The callers of the suspended requests.
    suspended: Vec<Arc<str>>,
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
pub(crate) struct Suspended {
    scheduler: Scheduler,
    caller: Arc<str>,
}

impl Drop for Suspended {
    fn drop(&mut self) {
        let suspended = &mut self.scheduler.requests().suspended;
        if let Some(at) = suspended.iter().position(|caller| *caller == self.caller) {
            suspended.swap_remove(at);
        }
        metrics::resumed();
    }
}

/// Which requests of a caller get a permit first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    /// They keep memory meanwhile.
    Suspended,
    /// Work that has begun.
    Continued,
    New,
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
        let mut requests = self.scheduler.requests();
        requests
            .preemptible
            .retain(|request| request.number != self.number);
    }
}

/// How long a request runs before it is preempted, if it was restarted this many times. Doubled
/// each time, so that a request of any length ends.
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
            requests: Mutex::default(),
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

    /// Waits for a permit, and preempts others if they have more workers.
    pub(crate) async fn acquire(
        &self,
        caller: &Arc<str>,
        rank: Rank,
    ) -> Result<FairPermit, Closed> {
        let acquire = self.0.permits.acquire_ranked(caller, rank as u8);
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
        let preemptible = &mut self.requests().preemptible;
        let number = preemptible.last().map_or(0, |last| last.number + 1);
        preemptible.push(Preemptible {
            number,
            caller: Arc::clone(caller),
            started,
            protected,
            announce: Some(announce),
        });
        Tracked {
            scheduler: self.clone(),
            number,
            announced,
        }
    }

    /// Preempts a request if one should give its worker to the caller that is next. Returns when to
    /// check again.
    fn preempt(&self, now: Instant) -> Instant {
        let mut requests = self.requests();
        let Requests {
            preemptible,
            suspended,
        } = &mut *requests;
        // One at a time: only when the permit has been passed on is it known who needs another.
        if preemptible.iter().any(|request| request.announce.is_none()) {
            return now + CHECK;
        }
        let permits = &self.0.permits;
        let Some(next) = permits.next() else {
            return now + CHECK;
        };
        let most = permits.most_held_by_others(&next.caller);
        if !is_unfair(most, next.held) {
            return now + CHECK;
        }
        let holds_most = |caller: &Arc<str>| *caller != next.caller && permits.held(caller) == most;
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
        let Some((chosen, announce)) = chosen.and_then(|chosen| {
            let announce = chosen.announce.take()?;
            Some((chosen, announce))
        }) else {
            let first = protected.into_iter().map(|request| request.protected).min();
            return first.unwrap_or(now + CHECK).min(now + CHECK);
        };
        // A suspended request of the next caller is served first, so their number will not grow.
        let preemption = if suspended.len() < self.0.count || suspended.contains(&next.caller) {
            metrics::suspended();
            suspended.push(Arc::clone(&chosen.caller));
            Preemption::Suspend(Suspended {
                scheduler: self.clone(),
                caller: Arc::clone(&chosen.caller),
            })
        } else {
            metrics::restarted();
            Preemption::Restart
        };
        drop(requests);
        // If the request has just ended, its permit is about to be passed on all the same.
        let _ = announce.send(preemption);
        now + CHECK
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        let requests = &self.0.requests;
        requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a caller with `most` workers should give one to a caller with `fewest`: the difference
/// becomes smaller, or they take turns.
fn is_unfair(most: usize, fewest: usize) -> bool {
    most >= fewest + 2 || most > fewest && fewest == 0
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Waker};

    use super::*;

    type Acquiring<'a> = Pin<Box<dyn Future<Output = Result<FairPermit, Closed>> + 'a>>;

    /// A scheduler whose permits are held by these callers. Their requests run since this second.
    fn busy(running: &[(&str, u64)], now: Instant) -> (Scheduler, Vec<(FairPermit, Tracked)>) {
        let scheduler = Scheduler::new(running.len());
        let track = |&(caller, second): &(&str, u64)| {
            let caller = caller.into();
            let started = now + Duration::from_secs(second);
            let permit = poll(&mut Box::pin(scheduler.0.permits.acquire(&caller)));
            let tracked = scheduler.track(&caller, started, started + protected(0));
            (permit.unwrap().unwrap(), tracked)
        };
        let running = running.iter().map(track).collect();
        (scheduler, running)
    }

    fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        match Pin::new(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    /// A request that waits. It looks for requests to preempt only when it is polled again.
    fn waiting<'a>(scheduler: &'a Scheduler, caller: &str, rank: Rank) -> Acquiring<'a> {
        let caller: Arc<str> = caller.into();
        let mut waiting = Box::pin(scheduler.0.permits.acquire_ranked(&caller, rank as u8));
        assert!(poll(&mut waiting).is_none());
        waiting
    }

    /// Which running requests are preempted, and whether they are suspended.
    fn preempted(running: &mut [(FairPermit, Tracked)]) -> Vec<Option<bool>> {
        let running = running.iter_mut();
        let preempted = running.map(|(_, tracked)| match tracked.announced.try_recv() {
            Ok(Preemption::Suspend(suspended)) => {
                // It stays suspended.
                std::mem::forget(suspended);
                Some(true)
            }
            Ok(Preemption::Restart) => Some(false),
            Err(_) => None,
        });
        preempted.collect()
    }

    #[test]
    fn preempts_the_latest_unprotected_request_of_the_largest_caller() {
        let now = Instant::now();
        let at = |second| now + Duration::from_secs(second);
        let (scheduler, mut running) = busy(&[("a", 0), ("a", 1), ("a", 5), ("b", 2)], now);
        assert_eq!(scheduler.preempt(at(9)), at(9) + CHECK, "nobody waits");
        let _waiting = waiting(&scheduler, "c", Rank::New);
        assert_eq!(scheduler.preempt(now), now + CHECK);
        let soon = at(1) - CHECK / 2;
        assert_eq!(scheduler.preempt(soon), at(1), "when the protection ends");
        assert_eq!(preempted(&mut running), [None; 4]);
        scheduler.preempt(at(5));
        assert_eq!(preempted(&mut running), [None, Some(true), None, None]);
        // Not another one until the permit was passed on.
        scheduler.preempt(at(20));
        assert_eq!(preempted(&mut running), [None; 4]);
    }

    #[test]
    fn callers_with_a_fair_share_are_not_preempted() {
        let now = Instant::now();
        let late = now + Duration::from_secs(100);
        let (scheduler, mut running) = busy(&[("a", 0), ("a", 0), ("b", 0)], now);
        let own = waiting(&scheduler, "a", Rank::New);
        scheduler.preempt(late);
        drop(own);
        let _other = waiting(&scheduler, "b", Rank::New);
        scheduler.preempt(late);
        assert_eq!(preempted(&mut running), [None; 3]);
    }

    #[test]
    fn callers_with_one_worker_take_turns() {
        let now = Instant::now();
        let (scheduler, mut running) = busy(&[("a", 1), ("b", 0)], now);
        let _waiting = waiting(&scheduler, "c", Rank::New);
        scheduler.preempt(now + Duration::from_secs(10));
        assert_eq!(preempted(&mut running), [None, Some(true)]);
    }

    #[test]
    fn requests_are_restarted_only_if_more_would_be_suspended() {
        let now = Instant::now();
        let late = now + Duration::from_secs(10);
        let (scheduler, mut running) = busy(&[("a", 0)], now);
        let suspended = Arc::from("b");
        scheduler.requests().suspended.push(suspended);
        let resumes = waiting(&scheduler, "b", Rank::Suspended);
        scheduler.preempt(late);
        assert_eq!(preempted(&mut running), [Some(true)]);
        drop(resumes);
        scheduler.requests().suspended.pop();
        let _new = waiting(&scheduler, "c", Rank::New);
        running[0].1 = scheduler.track(&"a".into(), now, now);
        scheduler.preempt(late);
        assert_eq!(preempted(&mut running), [Some(false)]);
    }

    #[test]
    fn restarted_requests_are_protected_twice_as_long() {
        let seconds = [0, 1, 2, 10].map(|restarts| protected(restarts).as_secs());
        assert_eq!(seconds, [1, 2, 4, 1_024]);
        assert!(protected(u32::MAX) > Duration::from_secs(1 << 31));
    }
}
