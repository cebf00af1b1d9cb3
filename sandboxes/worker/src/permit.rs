//! Permits to run requests, and how one request is run: on a worker, and on another one if the
//! first dies or is preempted.

use std::slice;
use std::time::Duration;

use tracing::Instrument as _;

use crate::confine::{self, Confinement};
use crate::frame::Frame;
use crate::metrics::{self, ended};
use crate::pool::WorkerPool;
use crate::process::CallResult;
use crate::request::{self, WorkerRequest};
use crate::scheduler::Rank;
use crate::slot::Slot;
use crate::{Death, WorkerError};

/// How long a worker may take to report its confinement.
const CONFINEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Workers that receive a request before it fails. A worker may die because the system is out of
/// memory or an operator kills processes. After several in a row another attempt is unlikely to
/// succeed.
const MAX_ATTEMPTS: usize = 3;

/// The reply to untrusted work, which may itself be the reason why there is none.
#[derive(Debug)]
pub enum UntrustedReply<R> {
    /// The reply.
    Answered(R),
    /// The request used more processor time than its timeout.
    Overran,
}

/// A permit to run one request at a time. Between requests, and while a long one runs, its slot can
/// be passed to another caller and regained.
pub struct WorkerPermit<'a> {
    pub(crate) pool: &'a WorkerPool,
    pub(crate) slot: Slot,
}

impl WorkerPool {
    /// Waits for a permit, at most for `timeout`. With a permit, requests can be sent one after
    /// another. The permits are shared fairly by the callers of
    /// [`measured`](assay_core::worker_use::measured).
    ///
    /// # Errors
    /// [`WorkerError::Busy`] on a timeout, [`WorkerError::Stopping`].
    pub async fn acquire(&self, timeout: Duration) -> Result<WorkerPermit<'_>, WorkerError> {
        let acquired = tokio::time::timeout(timeout, Slot::acquire(self.scheduler())).await;
        let slot = acquired.unwrap_or(Err(WorkerError::Busy))?;
        Ok(WorkerPermit { pool: self, slot })
    }

    /// Waits for a permit, then does the same as [`WorkerPermit::ask`].
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn ask<W: WorkerRequest>(
        &self,
        request: &W,
        timeout: Duration,
    ) -> Result<W::Reply, WorkerError> {
        let mut permit = self.acquire(Duration::MAX).await?;
        permit.ask(request, timeout).await
    }

    /// Waits for a permit, then does the same as [`WorkerPermit::ask_untrusted`].
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn ask_untrusted<W: WorkerRequest>(
        &self,
        request: &W,
        timeout: Duration,
    ) -> Result<UntrustedReply<W::Reply>, WorkerError> {
        let mut permit = self.acquire(Duration::MAX).await?;
        permit.ask_untrusted(request, timeout).await
    }

    /// How the workers of this pool are confined.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn confinement(&self) -> Result<Confinement, WorkerError> {
        let confinement = self
            .ask(&confine::ConfinementRequest, CONFINEMENT_TIMEOUT)
            .await?;
        metrics::confined(confinement);
        Ok(confinement)
    }
}

impl WorkerPermit<'_> {
    /// Sends a request to a worker and returns its reply. `timeout` limits the processor time of
    /// each attempt; a worker that makes almost no progress for that long in wall time is killed,
    /// too.
    ///
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
        let request = slice::from_ref(&request);
        let pool = self.pool;
        if self.slot.is_due() {
            self.slot.release();
        }
        tokio::select! {
            biased;
            () = pool.stopped() => Err(WorkerError::Stopping),
            reply = self.exchange::<W>(request, timeout, 0).instrument(span) => reply,
        }
    }

    /// The same as [`WorkerPermit::ask`] for untrusted work. The processor time says whether the
    /// work is too slow or the machine stalls it; if the machine stalls it, tries once more.
    ///
    /// # Errors
    /// [`WorkerError`], also for a timeout that is not the fault of the work.
    pub async fn ask_untrusted<W: WorkerRequest>(
        &mut self,
        request: &W,
        timeout: Duration,
    ) -> Result<UntrustedReply<W::Reply>, WorkerError> {
        let mut result = self.ask(request, timeout).await;
        if is_stalled(&result, timeout) {
            result = self.ask(request, timeout).await;
        }
        UntrustedReply::of(result, timeout)
    }

    /// Sends a request to a worker, and to another one if that worker dies or is preempted.
    /// `restarts` is how often it was preempted before.
    pub(crate) async fn exchange<W: WorkerRequest>(
        &mut self,
        request: &[Frame],
        timeout: Duration,
        mut restarts: u32,
    ) -> Result<W::Reply, WorkerError> {
        let mut deaths: Vec<Death> = Vec::new();
        loop {
            self.slot.regain(Rank::Continued).await?;
            let mut worker = self.pool.take()?;
            match worker
                .call(request, timeout, &mut self.slot, restarts)
                .await
            {
                CallResult::Replied(reply) => {
                    let (reply, is_reusable) = request::reply_of::<W>(reply);
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

/// Whether a worker was killed before it had used its timeout.
pub(crate) fn is_stalled<R>(result: &Result<R, WorkerError>, timeout: Duration) -> bool {
    matches!(result, Err(WorkerError::Overran { cpu, .. }) if *cpu < timeout)
}

impl<R> UntrustedReply<R> {
    /// The result of the last attempt.
    pub(crate) fn of(
        result: Result<R, WorkerError>,
        timeout: Duration,
    ) -> Result<Self, WorkerError> {
        match result {
            Ok(reply) => Ok(Self::Answered(reply)),
            // A worker that used less was stalled by the machine.
            Err(WorkerError::Overran { cpu, .. }) if cpu >= timeout => Ok(Self::Overran),
            Err(error) => Err(error),
        }
    }
}

/// Counts and logs a worker that died during a request.
pub(crate) fn count_death(death: &Death) {
    tracing::warn!(%death, "a worker died during a request");
    ended(if death.is_crash() { "crashed" } else { "died" });
}
