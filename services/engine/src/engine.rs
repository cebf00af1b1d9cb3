//! The pipeline of a batch in one function, and the public methods of the engine.

use std::sync::Arc;
use std::time::Duration;

use assay_core::{BatchId, GraderTable};
use assay_record::{Claim, ItemGrade, Record, RequestKey, SealedReply};
use assay_rewards::PolicyError;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;
use tracing::Instrument as _;

use crate::admission::Admission;
use crate::appeal::appeal;
use crate::charging::Charging;
use crate::compose::compose;
use crate::context::{self, BatchContext};
use crate::correct::correct;
use crate::grade::grade;
use crate::keys_in_flight::KeyLock;
use crate::names::HeldNames;
use crate::plan::{Plan, plan};
use crate::policy::{Policies, RewardPolicy};
use crate::state::{EngineParts, EngineState};
use crate::tasks::{self, BatchTasks, Received, task_pointer};
use crate::{Answer, Batch, BatchItem, EngineError, IdempotentRequest, Reply, metrics, record};

/// Longest time that replies may take after the time for grading has ended.
pub const REPLY_TIMEOUT: Duration = Duration::from_secs(1);

/// Longest time that the record may take to close.
pub const RECORD_CLOSE_TIMEOUT: Duration = Duration::from_secs(15);

/// How results are delivered.
pub enum Mode {
    /// Together, in the order of the batch.
    Whole,
    /// As they finish; each message contains the results that became available together.
    Streamed(mpsc::Sender<Reply>),
}

/// Grades batches. Cheap to clone: clones share their state.
#[derive(Clone)]
pub struct Engine {
    state: Arc<EngineState>,
    /// What is read of the record: all of it, or what one caller sees.
    record: Option<Record>,
    /// Whose share of the node work uses that is not a batch with a share of its own.
    share: Arc<str>,
}

/// The share of work that the node does for itself.
const NODE: &str = "node";

/// The parameters of one run of the pipeline, other than the batch.
struct BatchRun<'a> {
    id: BatchId,
    mode: &'a Mode,
    keyed: Option<&'a IdempotentRequest>,
    record: Option<&'a Record>,
    use_cache: bool,
}

impl Engine {
    /// Starts the worker threads.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(parts: EngineParts) -> std::io::Result<Self> {
        let record = parts.record.clone();
        Ok(Self {
            state: Arc::new(EngineState::start(parts)?),
            record,
            share: NODE.into(),
        })
    }

    /// This engine with the record as `caller` sees it: without the runs and grades of others.
    #[must_use]
    pub fn seen_by(&self, caller: &str) -> Self {
        let record = self.state.record.as_ref();
        Self {
            state: Arc::clone(&self.state),
            record: record.map(|record| record.seen_by(caller)),
            share: Arc::clone(&self.share),
        }
    }

    /// This engine with a caller whose share of the node is used by its work.
    #[must_use]
    pub fn with_share(self, share: Arc<str>) -> Self {
        Self { share, ..self }
    }

    /// Whose share of the node its work uses.
    #[must_use]
    pub fn share(&self) -> &Arc<str> {
        &self.share
    }

    /// Grades a batch. Dropping the future cancels the items that are not graded yet.
    ///
    /// # Errors
    /// [`EngineError`]: the batch was rejected, and nothing of it was graded.
    pub async fn grade(&self, batch: Batch, mode: Mode) -> Result<Reply, EngineError> {
        let id = self.new_id();
        let record = self.state.record.as_ref();
        let run = BatchRun {
            id,
            mode: &mode,
            keyed: None,
            record,
            use_cache: true,
        };
        self.run(batch, run).await.map(|(reply, _)| reply)
    }

    /// Grades a batch once under an idempotency key. Grading continues if the future is dropped, so
    /// that a repeated request gets the reply.
    ///
    /// # Errors
    /// As [`Engine::grade`]; [`EngineError::KeyReused`] if the key was used for another request;
    /// [`EngineError::Store`] if the record cannot be read.
    pub async fn grade_once(
        &self,
        keyed: IdempotentRequest,
        batch: Batch,
        mode: Mode,
    ) -> Result<Answer, EngineError> {
        let lock = loop {
            match self
                .state
                .keys_in_flight
                .try_lock(&keyed.key, keyed.request)?
            {
                KeyLock::Acquired(lock) => break lock,
                KeyLock::InFlight(mut done) => {
                    // An error means that the sender was dropped: the request is done.
                    let _ = done.changed().await;
                }
            }
        };
        let engine = self.clone();
        let grading = async move {
            let _lock = lock;
            engine.grade_locked(&keyed, batch, &mode).await
        };
        let graded = self.state.tasks.spawn(grading.in_current_span());
        graded.await.unwrap_or(Err(EngineError::ShuttingDown))
    }

    /// Whether a request under this idempotency key is in flight or recorded.
    pub async fn is_claimed(&self, key: &RequestKey) -> bool {
        if self.state.keys_in_flight.contains(key) {
            return true;
        }
        match &self.state.record {
            // If the record cannot be read, the request is treated as new.
            Some(record) => record.claim(key).await.is_ok_and(|claim| claim.is_some()),
            None => false,
        }
    }

    /// Grades a batch whose key is locked, or returns the recorded reply.
    async fn grade_locked(
        &self,
        keyed: &IdempotentRequest,
        batch: Batch,
        mode: &Mode,
    ) -> Result<Answer, EngineError> {
        let record = self.state.record.as_ref();
        let claim = match record {
            Some(record) => record
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
            None => self.new_id(),
        };
        let (reply, sealed) = self
            .run(
                batch,
                BatchRun {
                    id,
                    mode,
                    keyed: Some(keyed),
                    record,
                    use_cache: true,
                },
            )
            .await?;
        let sealed = sealed.unwrap_or_else(|| (keyed.render)(&reply));
        Ok(Answer::Fresh(reply, Some(sealed)))
    }

    /// The pipeline, in a span.
    async fn run(
        &self,
        batch: Batch,
        run: BatchRun<'_>,
    ) -> Result<(Reply, Option<SealedReply>), EngineError> {
        let span = tracing::info_span!(
            "batch",
            batch = %run.id,
            items = batch.items.len(),
            run = batch.run.as_deref(),
            step = batch.step,
        );
        self.stages(batch, run).instrument(span).await
    }

    async fn stages(
        &self,
        batch: Batch,
        run: BatchRun<'_>,
    ) -> Result<(Reply, Option<SealedReply>), EngineError> {
        // Counts the items until the last result is delivered. A reply that the client keeps longer
        // does not count.
        let admission = &self.state.admission;
        let _admitted = admission.admit(&batch.share, batch.items.len())?;
        context::check(&batch)?;
        let received = Received::now(self.state.clock.as_ref());
        let charging = Charging::admit(&batch)?;
        let checked = self
            .checked(&batch, run.record, &charging)
            .instrument(tracing::info_span!("check"))
            .await;
        let (tasks, names) = match checked {
            Ok(checked) => checked,
            Err(error) => {
                charging.reject();
                return Err(error);
            }
        };
        let context = BatchContext::of(&self.state, &batch, &tasks, names).await;
        let plan = Arc::new(plan(
            &self.state,
            run.id,
            batch,
            tasks,
            context,
            received,
            run.use_cache,
        ));
        let whole = matches!(run.mode, Mode::Whole) || plan.context.single_wave;
        let mut grading = grade(&self.state, &plan);
        let (mut reply, mut sealed, mut is_connected) = (Reply::new(&plan), None, true);
        while let Some(mut wave) = grading.next(whole).await {
            charging.spend(grading.charge());
            appeal(&self.state, &plan, &mut wave).await;
            compose(&plan, &mut wave);
            if whole {
                reply.set_summary(correct(&plan, &mut wave));
            }
            reply.push(wave);
            sealed = self
                .record_wave(&plan, &mut reply, &run, grading.is_done())
                .instrument(tracing::info_span!("record"))
                .await;
            is_connected = is_connected && self.deliver(&reply, &run).await?;
        }
        plan.context.names.release();
        charging.finish();
        metrics::batch(
            self.state
                .clock
                .monotonic()
                .saturating_sub(plan.received.monotonic),
        );
        Ok((reply, sealed))
    }

    /// The tasks of a batch, checked, and the names that it holds.
    async fn checked(
        &self,
        batch: &Batch,
        record: Option<&Record>,
        charging: &Charging,
    ) -> Result<(BatchTasks, HeldNames), EngineError> {
        let tasks = tasks::find(&self.state, batch)?;
        let grader_of = |at| tasks.spec(at).name;
        let names = self.state.names.hold(record, batch, grader_of).await?;
        let spend = |time| charging.spend(time);
        tasks::check(&self.state, &batch.share, &tasks.distinct, spend).await?;
        Ok((tasks, names))
    }

    /// Records the latest wave and marks its grades. Returns the sealed reply with the last wave.
    async fn record_wave(
        &self,
        plan: &Plan,
        reply: &mut Reply,
        run: &BatchRun<'_>,
        last: bool,
    ) -> Option<SealedReply> {
        let record = run.record?;
        // If a request is sent again before its reply is recorded, the batch runs again with the
        // same ids, and a transient failure may then have another outcome. Such failures are
        // therefore recorded with the reply, after which nothing is graded again.
        let is_deferred = |grade: &ItemGrade| {
            run.keyed.is_some() && grade.error.as_ref().is_some_and(|error| error.retryable)
        };
        let is_recorded_now = |grade: &ItemGrade| last || !is_deferred(grade);
        let length = reply.last_wave()?.len();
        let before = reply.grades().count() - length;
        let new: Vec<&ItemGrade> = reply
            .grades()
            .enumerate()
            .filter(|(at, grade)| {
                let is_of_wave = *at >= before;
                is_of_wave && is_recorded_now(grade) || last && is_deferred(grade)
            })
            .map(|(_, grade)| grade)
            .collect();
        if new.is_empty() {
            return None;
        }
        let mut entry = record::entry(&self.state.keeping, plan, new.into_iter());
        // The marks are removed if recording fails.
        reply.mark(true, is_recorded_now);
        let sealed = run
            .keyed
            .filter(|_| last)
            .map(|keyed| (keyed.render)(reply));
        let claim = run.keyed.map(|keyed| Claim {
            key: keyed.key.clone(),
            request: keyed.request,
            batch: plan.id,
            time_us: self.state.clock.unix_us(),
            reply: sealed.clone(),
        });
        entry.claim = claim.map(|claim| self.state.keeping.redactor.claim(claim));
        match record.append(Arc::new(entry)).await {
            Ok(()) => {
                plan.context.names.set_recorded();
                sealed
            }
            Err(error) => {
                tracing::error!(batch = %plan.id, %error, "cannot record the grades of a batch");
                metrics::unrecorded(length);
                reply.mark(false, is_recorded_now);
                None
            }
        }
    }

    /// Sends the latest wave to the stream and returns whether the client still reads. A client
    /// that does not read for [`Limits::delivery`](crate::Limits::delivery) is disconnected. Under
    /// an idempotency key its batch is graded all the same, so that a repeated request gets the
    /// reply.
    async fn deliver(&self, reply: &Reply, run: &BatchRun<'_>) -> Result<bool, EngineError> {
        let Mode::Streamed(sender) = run.mode else {
            return Ok(false);
        };
        match sender
            .send_timeout(reply.latest(), self.state.limits.delivery)
            .await
        {
            Ok(()) => Ok(true),
            Err(SendTimeoutError::Closed(_)) => Ok(false),
            Err(SendTimeoutError::Timeout(_)) if run.keyed.is_some() => Ok(false),
            Err(SendTimeoutError::Timeout(_)) => Err(EngineError::ClientStalled),
        }
    }

    /// Grades a batch without recording it and without using cached results.
    ///
    /// # Errors
    /// As [`Engine::grade`].
    pub async fn grade_unrecorded(&self, batch: Batch) -> Result<Reply, EngineError> {
        let id = self.new_id();
        let run = BatchRun {
            id,
            mode: &Mode::Whole,
            keyed: None,
            record: None,
            use_cache: false,
        };
        self.run(batch, run).await.map(|(reply, _)| reply)
    }

    /// Checks an item's tasks, as [`Engine::grade`] does before it grades a batch. Takes as long as
    /// the tasks require, so it must not be called on a thread of the runtime.
    ///
    /// # Errors
    /// [`EngineError::Task`] for the first invalid task, with a pointer within the item.
    pub fn check(&self, item: &BatchItem) -> Result<(), EngineError> {
        item.tasks().try_for_each(|(name, task)| {
            let task_error = |error| EngineError::Task {
                pointer: task_pointer(name),
                error,
            };
            tasks::check_one(&self.state, task).map_err(task_error)
        })
    }

    /// [Checks](Engine::check) an item on a worker thread.
    pub(crate) async fn check_on_worker(&self, item: BatchItem) -> Result<BatchItem, EngineError> {
        let engine = self.clone();
        let check = move || engine.check(&item).map(|()| item);
        let checked = self.state.workers.run(&self.share, check).await;
        checked.unwrap_or(Err(EngineError::ShuttingDown))
    }

    pub(crate) fn state(&self) -> &Arc<EngineState> {
        &self.state
    }

    /// The graders.
    #[must_use]
    pub fn graders(&self) -> &GraderTable {
        &self.state.graders
    }

    /// Parses a policy that a request contains, and checks that its judges are graders of this
    /// node.
    ///
    /// # Errors
    /// [`PolicyError`], which names the field.
    pub fn inline_policy(&self, json: &serde_json::Value) -> Result<RewardPolicy, PolicyError> {
        let policy = RewardPolicy::inline(json)?;
        policy.check_judges(&self.state.graders)?;
        Ok(policy)
    }

    /// The policies.
    #[must_use]
    pub fn policies(&self) -> &Policies {
        &self.state.policies
    }

    /// A new id of the current time that belongs to no batch, for requests and for reply formats
    /// that require an id.
    #[must_use]
    pub fn new_id(&self) -> BatchId {
        self.state.ids.batch(self.state.clock.as_ref())
    }

    /// The record, if there is one, as far as this engine [sees](Engine::seen_by) it.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// Admission of batches and bodies.
    #[must_use]
    pub fn admission(&self) -> &Arc<Admission> {
        &self.state.admission
    }

    /// Stops admitting batches and lets running ones finish within `grace`. Items that are not
    /// graded by then fail with a retryable error, and their sandboxed processes are killed.
    pub async fn drain(&self, grace: Duration) {
        if tokio::time::timeout(grace, self.state.admission.drain())
            .await
            .is_err()
        {
            let items = self.state.admission.items_in_flight();
            tracing::warn!(
                items,
                "some batches did not finish in time; their remaining items fail with a retryable \
                 error"
            );
        }
        self.state.stopping.cancel();
    }

    /// [Drains](Engine::drain) the node, stops the worker threads and closes the record. Takes at
    /// most the sum of `grace`, [`REPLY_TIMEOUT`] and [`RECORD_CLOSE_TIMEOUT`].
    pub async fn shut_down(&self, grace: Duration) {
        self.drain(grace).await;
        let replies = async {
            self.state.admission.drain().await;
            let engine = self.clone();
            // Worker threads finish their current job first. Joining them blocks, so it is not done
            // on a thread of the runtime.
            let _ = tokio::task::spawn_blocking(move || engine.state.workers.stop()).await;
            self.state.tasks.close();
            self.state.tasks.wait().await;
        };
        if tokio::time::timeout(REPLY_TIMEOUT, replies).await.is_err() {
            let items = self.state.admission.items_in_flight();
            tracing::warn!(
                items,
                "some replies were not produced in time and are not sent"
            );
        }
        let Some(record) = &self.state.record else {
            return;
        };
        let closed = tokio::time::timeout(RECORD_CLOSE_TIMEOUT, record.close()).await;
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
