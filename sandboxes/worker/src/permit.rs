//! Permits to run requests, and how one request is run: on a worker, and on another one if the first
//! dies or is preempted.

use std::sync::Arc;
use std::time::Duration;

use assay_core::FairPermit;
use assay_core::worker_use::{self, WorkerTime};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::metrics::ended;
use crate::pool::WorkerPool;
use crate::process::CallResult;
use crate::request::{self, WorkerRequest};
use crate::scheduler::{Rank, Tracked};
use crate::{Death, WorkerError};

/// Workers that receive a request before it fails. A worker may die because the system is out of
/// memory or an operator kills processes. After several in a row another attempt is unlikely to
/// succeed.
const MAX_ATTEMPTS: usize = 3;

/// How long short requests can follow each other while a caller waits that has fewer workers. Much
/// longer than switching to another worker takes.
const SLICE: Duration = Duration::from_millis(10);

/// The result of untrusted work that may itself be the reason why there is no reply.
#[derive(Debug)]
pub enum Settled<R> {
    /// The reply.
    Answered(R),
    /// The request exceeded its timeout twice, and had the processor most of the time.
    Overran,
}

/// A permit to run one request at a time. When it is dropped, the next waiter gets it. Between
/// requests, and while a long one runs, it can be passed to another caller and regained.
pub struct WorkerPermit<'a> {
    pool: &'a WorkerPool,
    caller: Arc<str>,
    /// `None` while another caller has it.
    turn: Option<Turn>,
}

/// The time during which a permit is held.
struct Turn {
    since: Instant,
    permit: FairPermit,
}

impl Drop for Turn {
    fn drop(&mut self) {
        worker_use::add(WorkerTime {
            occupied: self.since.elapsed(),
            ..WorkerTime::default()
        });
    }
}

impl<'a> WorkerPermit<'a> {
    /// Waits for a permit.
    pub(crate) async fn acquire(
        pool: &'a WorkerPool,
        caller: Arc<str>,
    ) -> Result<Self, WorkerError> {
        let turn = Some(Turn::wait(pool, &caller, Rank::New).await?);
        Ok(Self { pool, caller, turn })
    }

    /// The pool that issued it.
    pub(crate) fn pool(&self) -> &'a WorkerPool {
        self.pool
    }

    /// Passes the permit on until [`Self::regain`].
    pub(crate) fn release(&mut self) {
        self.turn = None;
    }

    /// Waits for the permit if it was passed on.
    pub(crate) async fn regain(&mut self, rank: Rank) -> Result<(), WorkerError> {
        if self.turn.is_none() {
            self.turn = Some(Turn::wait(self.pool, &self.caller, rank).await?);
        }
        Ok(())
    }

    /// Whether the permit should be passed on before the next request.
    pub(crate) fn is_due(&self) -> bool {
        let is_due = |turn: &Turn| turn.permit.is_owed() && turn.since.elapsed() >= SLICE;
        self.turn.as_ref().is_some_and(is_due)
    }

    /// Tracks a request that runs since `started`, so that it can be preempted after `protected`.
    pub(crate) fn track(&self, started: Instant, protected: Instant) -> Tracked {
        let scheduler = self.pool.scheduler();
        scheduler.track(&self.caller, started, protected)
    }

    /// Sends a request to a worker and returns its reply. `timeout` applies to each attempt, from
    /// the time when a worker receives the request, without the time during which it is suspended.
    /// If the worker dies, the request is sent to another one, at most three times in all. Dropping
    /// the future kills the worker that runs the request.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn ask<W: WorkerRequest>(
        &mut self,
        request: &W,
        timeout: Duration,
    ) -> Result<W::Reply, WorkerError> {
        let request = request::framed(request)?;
        let span = tracing::info_span!("worker", kind = W::KIND, bytes = request.len());
        let pool = self.pool;
        if self.is_due() {
            self.release();
        }
        tokio::select! {
            biased;
            () = pool.stopped() => Err(WorkerError::Stopping),
            reply = self.exchange::<W>(&request, timeout, 0).instrument(span) => reply,
        }
    }

    /// The same as [`WorkerPermit::ask`] for untrusted work: on a timeout, tries once more and
    /// decides by the processor time whether the work or the machine is too slow.
    ///
    /// # Errors
    /// [`WorkerError`], also for a timeout that is not the fault of the work.
    pub async fn settle<W: WorkerRequest>(
        &mut self,
        request: &W,
        timeout: Duration,
    ) -> Result<Settled<W::Reply>, WorkerError> {
        let mut result = self.ask(request, timeout).await;
        if matches!(result, Err(WorkerError::Overran { .. })) {
            result = self.ask(request, timeout).await;
        }
        Settled::of(result, timeout)
    }

    /// Sends a framed request to a worker, and to another one if that worker dies or is preempted.
    /// `restarts` is how often it was preempted before.
    pub(crate) async fn exchange<W: WorkerRequest>(
        &mut self,
        request: &[u8],
        timeout: Duration,
        mut restarts: u32,
    ) -> Result<W::Reply, WorkerError> {
        let mut deaths: Vec<Death> = Vec::new();
        loop {
            self.regain(Rank::Continued).await?;
            let mut worker = self.pool.take()?;
            match worker.call(request, timeout, self, restarts).await {
                CallResult::Replied(reply) => {
                    let (reply, is_reusable) = request::reply_of::<W>(&reply);
                    if is_reusable {
                        self.pool.keep(worker);
                    } else {
                        drop(worker);
                        self.pool.replace("tainted");
                    }
                    return reply;
                }
                CallResult::TimedOut { cpu } => {
                    ended("overran");
                    return Err(WorkerError::Overran { timeout, cpu });
                }
                CallResult::Preempted => {
                    ended("preempted");
                    restarts = restarts.saturating_add(1);
                }
                CallResult::Stopping => return Err(WorkerError::Stopping),
                CallResult::Died(death) => {
                    count_death(&death);
                    deaths.push(death);
                    if deaths.len() == MAX_ATTEMPTS {
                        // A crash is reported only if every worker crashed. Otherwise the request
                        // may not be the cause.
                        let other = deaths
                            .iter()
                            .position(|death| !death.is_crash())
                            .unwrap_or_default();
                        return Err(WorkerError::Died(deaths.swap_remove(other)));
                    }
                }
            }
        }
    }
}

impl Turn {
    async fn wait(pool: &WorkerPool, caller: &Arc<str>, rank: Rank) -> Result<Self, WorkerError> {
        let begun = Instant::now();
        let acquired = pool.scheduler().acquire(caller, rank).await;
        let since = Instant::now();
        worker_use::add(WorkerTime {
            waited: since - begun,
            ..WorkerTime::default()
        });
        // The permits are closed only when the pool or a sibling stops.
        let permit = acquired.map_err(|_| WorkerError::Stopping)?;
        Ok(Self { since, permit })
    }
}

impl<R> Settled<R> {
    /// The result of the second attempt after a timeout, or of the first one.
    pub(crate) fn of(
        result: Result<R, WorkerError>,
        timeout: Duration,
    ) -> Result<Self, WorkerError> {
        match result {
            Ok(reply) => Ok(Self::Answered(reply)),
            // A worker that had less than half of the processor was slowed down by the machine.
            Err(WorkerError::Overran { cpu, .. }) if cpu > timeout / 2 => Ok(Self::Overran),
            Err(error) => Err(error),
        }
    }
}

/// Counts and logs a worker that died during a request.
pub(crate) fn count_death(death: &Death) {
    tracing::warn!(%death, "a worker died during a request");
    ended(if death.is_crash() { "crashed" } else { "died" });
}
