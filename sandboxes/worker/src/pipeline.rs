//! Requests to one worker, of which the next is sent before the reply to the last one is read.

use std::marker::PhantomData;
use std::time::Duration;

use tracing::Instrument as _;

use crate::frame::Frame;
use crate::permit::{UntrustedReply, WorkerPermit, count_death, is_stalled};
use crate::process::{CallResult, Worker};
use crate::request::{self, WorkerRequest};
use crate::scheduler::Rank;
use crate::{WorkerError, metrics};

/// Longest frame that is sent ahead, in bytes. It fits into the buffer of a pipe behind another
/// one, so that sending it never waits for the worker.
const MAX_AHEAD: usize = 16 << 10;

/// How long the reply to a request that is no longer needed is waited for.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// A permit with which requests are sent to one worker, one after another. The worker finds the
/// next request when it has answered the last one, and does not have to wait for it: waking up an
/// idle core costs as much as a short request.
///
/// While another caller waits that has fewer workers, requests are not sent ahead, and the worker
/// is passed on between them.
///
/// Dropping it while a reply is due kills the worker.
pub struct Pipeline<'a, W: WorkerRequest> {
    permit: WorkerPermit<'a>,
    worker: Option<Worker>,
    /// The frame that was sent ahead, whose reply is due.
    sent: Option<Frame>,
    requests: PhantomData<fn(W)>,
}

impl<'a, W: WorkerRequest> Pipeline<'a, W> {
    /// Sends requests with this permit.
    #[must_use]
    pub fn new(permit: WorkerPermit<'a>) -> Self {
        Self {
            permit,
            worker: None,
            sent: None,
            requests: PhantomData,
        }
    }

    /// Sends `request` unless it was sent ahead, and also `next`, then waits for the reply to
    /// `request`. The reply to `next` is returned if the following call is for it, and discarded
    /// otherwise. `next` is not sent if it is long.
    ///
    /// If the worker dies or is preempted, `request` alone is sent to others, as by
    /// [`WorkerPermit::ask`].
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn ask(
        &mut self,
        request: &W,
        next: Option<&W>,
        timeout: Duration,
    ) -> Result<W::Reply, WorkerError> {
        let request = request::framed(request)?;
        let next = next.map(request::framed).transpose()?;
        let next = next.filter(|next| next.len() <= MAX_AHEAD && !self.permit.slot.is_due());
        let span = tracing::info_span!("worker", kind = W::KIND, bytes = request.len());
        let pool = self.permit.pool;
        tokio::select! {
            biased;
            () = pool.stopped() => Err(WorkerError::Stopping),
            reply = self.exchange(request, next, timeout).instrument(span) => reply,
        }
    }

    /// The same as [`Pipeline::ask`] for untrusted work; see [`WorkerPermit::ask_untrusted`].
    ///
    /// # Errors
    /// [`WorkerError`], also for a timeout that is not the fault of the work.
    pub async fn ask_untrusted(
        &mut self,
        request: &W,
        next: Option<&W>,
        timeout: Duration,
    ) -> Result<UntrustedReply<W::Reply>, WorkerError> {
        let mut result = self.ask(request, next, timeout).await;
        if is_stalled(&result, timeout) {
            result = self.ask(request, None, timeout).await;
        }
        UntrustedReply::of(result, timeout)
    }

    async fn exchange(
        &mut self,
        request: Frame,
        next: Option<Frame>,
        timeout: Duration,
    ) -> Result<W::Reply, WorkerError> {
        if self.sent.as_ref().is_some_and(|sent| *sent != request) {
            self.discard().await;
        }
        if self.sent.is_none() && self.permit.slot.is_due() {
            if let Some(worker) = self.worker.take() {
                self.permit.pool.keep(worker);
            }
            self.permit.slot.release();
        }
        self.permit.slot.regain(Rank::Continued).await?;
        let is_sent = self.sent.take().is_some();
        let frames: Vec<Frame> = [Some(request), next].into_iter().flatten().collect();
        // While the worker is called it belongs to this future, which kills it when it is dropped.
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.permit.pool.take()?,
        };
        match worker
            .call(
                &frames[usize::from(is_sent)..],
                timeout,
                &mut self.permit.slot,
                0,
            )
            .await
        {
            CallResult::Replied(reply) => {
                let (reply, is_reusable) = request::reply_of::<W>(reply);
                if is_reusable {
                    self.worker = Some(worker);
                    self.sent = frames.into_iter().nth(1);
                } else {
                    drop(worker);
                    self.permit.pool.replace("tainted");
                }
                reply
            }
            CallResult::TimedOut { cpu } => {
                metrics::ended("overran");
                Err(WorkerError::Overran { timeout, cpu })
            }
            CallResult::Preempted => {
                metrics::ended("preempted");
                self.permit.exchange::<W>(&frames[..1], timeout, 1).await
            }
            CallResult::Stopping => Err(WorkerError::Stopping),
            CallResult::Died(death) => {
                count_death(&death);
                self.permit.exchange::<W>(&frames[..1], timeout, 0).await
            }
        }
    }

    /// Waits for the reply to a request that is no longer needed. Without a reply, or if the worker
    /// must not be used again, the worker is killed.
    async fn discard(&mut self) {
        self.sent = None;
        let Some(mut worker) = self.worker.take() else {
            return;
        };
        let called = worker.call(&[], DISCARD_TIMEOUT, &mut self.permit.slot, 0);
        match called.await {
            CallResult::Replied(reply) => {
                let (_, is_reusable) = request::reply_of::<W>(reply);
                if is_reusable {
                    self.worker = Some(worker);
                } else {
                    drop(worker);
                    self.permit.pool.replace("tainted");
                }
            }
            CallResult::TimedOut { .. } => metrics::ended("overran"),
            CallResult::Preempted => metrics::ended("preempted"),
            CallResult::Stopping => {}
            CallResult::Died(death) => count_death(&death),
        }
    }

    /// Waits for the reply that is due, if there is one, and returns the worker and the permit.
    pub async fn finish(mut self) {
        if self.sent.is_some() {
            self.discard().await;
        }
        if let Some(worker) = self.worker.take() {
            self.permit.pool.keep(worker);
        }
    }
}

impl<W: WorkerRequest> Drop for Pipeline<'_, W> {
    fn drop(&mut self) {
        if let (Some(worker), None) = (self.worker.take(), &self.sent) {
            self.permit.pool.put_back(worker);
        }
    }
}
