//! The way of a batch in one function, and what all batches share.

use std::sync::Arc;
use std::time::Duration;

use assay_core::record::{Claim, SealedReply};
use assay_core::store::Store;
use assay_core::{BatchId, GraderTable};
use assay_correction::PolicyError;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;

use crate::admission::Admission;
use crate::appeal::appeal;
use crate::compose::compose;
use crate::context::{self, BatchContext};
use crate::correct::correct;
use crate::grade::{grade, is_transient};
use crate::idempotency::Turn;
use crate::plan::{Plan, check, plan, task_pointer};
use crate::policy::{Policies, RewardPolicy};
use crate::record;
use crate::shared::{EngineParts, Shared};
use crate::{Answer, Batch, BatchItem, EngineError, ItemResult, Keyed, Reply, metrics};

/// How long replies may take to be produced after the time for grading has ended.
pub const LAST_REPLIES: Duration = Duration::from_secs(1);

/// How long the record may take to close.
pub const RECORD_CLOSE: Duration = Duration::from_secs(15);

/// How results go out.
pub enum Mode {
    /// All at once, in the order of the batch.
    Whole,
    /// As they finish: each message holds the results that became visible together.
    Streamed(mpsc::Sender<Reply>),
}

/// Grades batches. Cheap to clone: clones share everything.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Shared>,
}

/// What one run of the stages is asked beside the batch.
struct Run<'a> {
    id: BatchId,
    mode: &'a Mode,
    keyed: Option<&'a Keyed>,
    store: Option<&'a Arc<dyn Store>>,
    use_kept: bool,
}

impl Engine {
    /// Starts the workers.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(parts: EngineParts) -> std::io::Result<Self> {
        Ok(Self {
            inner: Arc::new(Shared::start(parts)?),
        })
    }

    /// Grades a batch. Dropping the future cancels what is not graded yet.
    ///
    /// # Errors
    /// [`EngineError`]: the batch was refused and nothing of it was graded.
    pub async fn grade(&self, batch: Batch, mode: Mode) -> Result<Reply, EngineError> {
        let id = self.inner.ids.batch(self.inner.clock.as_ref());
        let store = self.inner.store.as_ref();
        let run = Run {
            id,
            mode: &mode,
            keyed: None,
            store,
            use_kept: true,
        };
        self.run(batch, run).await.map(|(reply, _)| reply)
    }

    /// Grades a batch once under an idempotency key. The grading goes on when the future is
    /// dropped, so that the request, sent again, finds its answer.
    ///
    /// # Errors
    /// As [`Engine::grade`]; [`EngineError::KeyReused`] when the key belongs to another request;
    /// [`EngineError::Store`] when the record cannot say whether the key was used.
    pub async fn grade_once(
        &self,
        keyed: Keyed,
        batch: Batch,
        mode: Mode,
    ) -> Result<Answer, EngineError> {
        let turn = loop {
            match self.inner.in_flight.turn(&keyed)? {
                Turn::Mine(turn) => break turn,
                Turn::Wait(mut done) => {
                    // An error means that the sender is gone: the request is done.
                    let _ = done.changed().await;
                }
            }
        };
        let engine = self.clone();
        let graded = self.inner.tasks.spawn(async move {
            let _turn = turn;
            engine.grade_claimed(&keyed, batch, &mode).await
        });
        graded.await.unwrap_or(Err(EngineError::ShuttingDown))
    }

    async fn grade_claimed(
        &self,
        keyed: &Keyed,
        batch: Batch,
        mode: &Mode,
    ) -> Result<Answer, EngineError> {
        let store = self.inner.store.as_ref();
        let claim = match store {
            Some(store) => store
                .claim(&keyed.key)
                .await
                .map_err(|error| EngineError::Store(error.to_string()))?,
            None => None,
        };
        let id = match claim {
            Some(claim) if claim.request != keyed.request => return Err(EngineError::KeyReused),
            Some(Claim {
                reply: Some(reply), ..
            }) => return Ok(Answer::Again(reply)),
            Some(claim) => claim.batch,
            None => self.inner.ids.batch(self.inner.clock.as_ref()),
        };
        let (reply, sealed) = self
            .run(
                batch,
                Run {
                    id,
                    mode,
                    keyed: Some(keyed),
                    store,
                    use_kept: true,
                },
            )
            .await?;
        let sealed = sealed.unwrap_or_else(|| (keyed.render)(&reply));
        Ok(Answer::Fresh(reply, Some(sealed)))
    }

    /// The way of a batch.
    async fn run(
        &self,
        batch: Batch,
        run: Run<'_>,
    ) -> Result<(Reply, Option<SealedReply>), EngineError> {
        // Held until the last result is handed over; what a reply keeps alive after that is the
        // client's business.
        let _admitted = self.inner.admission.admit(batch.items.len())?;
        context::check(&batch)?;
        let mut plan = plan(&self.inner, batch, run.id, run.use_kept).await?;
        plan.around = BatchContext::of(&self.inner, &plan).await;
        let plan = Arc::new(plan);
        let whole = matches!(run.mode, Mode::Whole) || plan.around.at_once;
        let mut finished = grade(&self.inner, &plan);
        let (mut reply, mut sealed, mut listening) = (Reply::new(&plan), None, true);
        while let Some(wave) = finished.next(whole).await {
            let wave = appeal(&self.inner, &plan, wave).await;
            let wave = compose(&plan, wave);
            let wave = if whole { correct(&plan, wave) } else { wave };
            reply.push(Arc::new(wave));
            sealed = self
                .record(&plan, &mut reply, &run, finished.is_done())
                .await;
            listening = listening && self.deliver(&plan, &reply, &run).await?;
        }
        metrics::batch(self.inner.clock.monotonic().saturating_sub(plan.admitted));
        Ok((reply, sealed))
    }

    /// Makes the latest wave durable and marks it so; seals the reply with the last one.
    async fn record(
        &self,
        plan: &Plan,
        reply: &mut Reply,
        run: &Run<'_>,
        last: bool,
    ) -> Option<SealedReply> {
        let store = run.store?;
        let wave = reply.pop()?;
        // If a request is sent again before its reply is recorded, the batch runs again with the
        // same ids, and a transient failure may then have another outcome. So it is recorded with
        // the reply, after which nothing is graded again.
        let waits = |result: &ItemResult| run.keyed.is_some() && is_transient(&result.outcome);
        let waited: Vec<ItemResult> = reply
            .results()
            .filter(|result| last && !result.recorded && waits(result))
            .cloned()
            .collect();
        let mut wave = Arc::unwrap_or_clone(wave);
        // Rendered as it will be once it is durable; when it does not get there, nothing rendered
        // is used.
        wave.iter_mut()
            .for_each(|result| result.recorded = last || !waits(result));
        let wave = Arc::new(wave);
        reply.push(Arc::clone(&wave));
        if !last && wave.iter().all(waits) {
            return None;
        }
        let sealed = run
            .keyed
            .filter(|_| last)
            .map(|keyed| (keyed.render)(reply));
        let claim = run.keyed.map(|keyed| Claim {
            key: keyed.key.clone(),
            request: keyed.request,
            batch: plan.id,
            time_us: self.inner.clock.unix_us(),
            reply: sealed.clone(),
        });
        let rows = waited
            .iter()
            .chain(wave.iter().filter(|result| result.recorded));
        let entry = record::entry(plan, rows, claim);
        match store.record(Arc::new(entry)).await {
            Ok(()) => sealed,
            Err(error) => {
                tracing::error!(batch = %plan.id, %error, "grades were not recorded");
                metrics::unrecorded(wave.len());
                let mut wave = Arc::unwrap_or_clone(wave);
                wave.iter_mut().for_each(|result| result.recorded = false);
                reply.pop();
                reply.push(Arc::new(wave));
                None
            }
        }
    }

    /// Hands the latest wave to the stream and says whether anyone still listens. A client that
    /// does not read for as long as [`Limits`](crate::Limits) say gives its place up; under a key
    /// its batch is finished nevertheless, and found when it asks again.
    async fn deliver(
        &self,
        plan: &Arc<Plan>,
        reply: &Reply,
        run: &Run<'_>,
    ) -> Result<bool, EngineError> {
        let (Mode::Streamed(sender), Some(wave)) = (run.mode, reply.last_wave()) else {
            return Ok(false);
        };
        let mut part = Reply::new(plan);
        part.push(Arc::clone(wave));
        match sender.send_timeout(part, self.inner.limits.delivery).await {
            Ok(()) => Ok(true),
            Err(SendTimeoutError::Closed(_)) => Ok(false),
            Err(SendTimeoutError::Timeout(_)) if run.keyed.is_some() => Ok(false),
            Err(SendTimeoutError::Timeout(_)) => Err(EngineError::ClientStalled),
        }
    }

    /// Grades a batch for inspection: nothing is recorded, nothing comes from the cache of
    /// outcomes.
    ///
    /// # Errors
    /// As [`Engine::grade`].
    pub async fn grade_apart(&self, batch: Batch) -> Result<Reply, EngineError> {
        let id = self.inner.ids.batch(self.inner.clock.as_ref());
        let run = Run {
            id,
            mode: &Mode::Whole,
            keyed: None,
            store: None,
            use_kept: false,
        };
        self.run(batch, run).await.map(|(reply, _)| reply)
    }

    /// Looks at the shape of an item's tasks, as [`Engine::grade`] does before it admits a batch.
    ///
    /// # Errors
    /// [`EngineError::Task`] of the first, whose pointer is that within the item.
    pub fn check(&self, item: &BatchItem) -> Result<(), EngineError> {
        item.tasks().try_for_each(|(name, task)| {
            let wrong = |error| EngineError::Task {
                pointer: task_pointer(name),
                error,
            };
            check(&self.inner, task).map(drop).map_err(wrong)
        })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner
    }

    /// The graders.
    #[must_use]
    pub fn graders(&self) -> &GraderTable {
        &self.inner.graders
    }

    /// A policy that a request writes out, its judges found among the graders.
    ///
    /// # Errors
    /// [`PolicyError`], which names the field.
    pub fn inline_policy(&self, json: &serde_json::Value) -> Result<RewardPolicy, PolicyError> {
        let policy = RewardPolicy::inline(json)?;
        policy.check_judges(&self.inner.graders)?;
        Ok(policy)
    }

    /// The policies.
    #[must_use]
    pub fn policies(&self) -> &Policies {
        &self.inner.policies
    }

    /// A fresh id that names no batch, dated now: for replies in formats that have one.
    #[must_use]
    pub fn fresh_id(&self) -> BatchId {
        self.inner.ids.batch(self.inner.clock.as_ref())
    }

    /// The record, when there is one.
    #[must_use]
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        self.inner.store.as_ref()
    }

    /// The doors.
    #[must_use]
    pub fn admission(&self) -> &Arc<Admission> {
        &self.inner.admission
    }

    /// Stops admitting batches and lets running ones finish within `grace`. Items that are not
    /// graded by then fail with a retryable error, and their sandboxed processes are killed.
    pub async fn drain(&self, grace: Duration) {
        if tokio::time::timeout(grace, self.inner.admission.drain())
            .await
            .is_err()
        {
            let items = self.inner.admission.items_in_flight();
            tracing::warn!(
                items,
                "some batches did not finish in time; their remaining items fail with a retryable \
                 error"
            );
        }
        self.inner.stopping.cancel();
    }

    /// [Drains](Engine::drain), stops the workers and closes the record. Takes at most the sum of
    /// `grace`, [`LAST_REPLIES`] and [`RECORD_CLOSE`].
    pub async fn shut_down(&self, grace: Duration) {
        self.drain(grace).await;
        let replies = async {
            self.inner.admission.drain().await;
            let engine = self.clone();
            // Workers finish their current item. Joining them blocks, so it is done off the
            // runtime.
            let _ = tokio::task::spawn_blocking(move || engine.inner.workers.stop()).await;
            self.inner.tasks.close();
            self.inner.tasks.wait().await;
        };
        if tokio::time::timeout(LAST_REPLIES, replies).await.is_err() {
            let items = self.inner.admission.items_in_flight();
            tracing::warn!(
                items,
                "some replies were not produced in time and are not sent"
            );
        }
        let Some(store) = &self.inner.store else {
            return;
        };
        let closed = tokio::time::timeout(RECORD_CLOSE, store.close()).await;
        match closed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "cannot close the record; acknowledged entries are kept \
                    in the spool");
            }
            Err(_) => tracing::error!(
                "the record did not close in time; acknowledged entries are kept in the spool"
            ),
        }
    }
}
