//! The public methods of the engine.

use std::sync::Arc;
use std::time::Duration;

use assay_core::{BatchId, Clock, GraderTable, Hash};
use assay_record::{Claim, Record, RecordError, RequestKey, SealedReply};
use assay_rewards::PolicyError;
use assay_rewards::channel::Ledger;
use tracing::Instrument as _;

use crate::admission::Admission;
use crate::keys_in_flight::KeyLock;
use crate::policy::{Policies, RewardPolicy};
use crate::stages;
use crate::stages::options::PipelineOptions;
use crate::stages::tasks::{self, task_pointer};
use crate::state::{EngineParts, EngineState};
use crate::{
    Answer, Batch, BatchItem, EngineError, IdempotentRequest, Mode, Redactor, Reply, Totals,
};

/// Longest time that replies may take after the time for grading has ended.
pub const REPLY_TIMEOUT: Duration = Duration::from_secs(1);

/// Longest time that the record may take to close.
pub const RECORD_CLOSE_TIMEOUT: Duration = Duration::from_secs(15);

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
        let options = PipelineOptions {
            id,
            mode: &mode,
            keyed: None,
            record,
            use_cache: true,
            has_rewards: true,
        };
        let (reply, _) = self.run(batch, options).await?;
        Ok(reply)
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

    /// The recorded reply to a request with this idempotency key, if its hash is `request`.
    pub async fn recorded_reply(&self, key: &RequestKey, request: Hash) -> Option<SealedReply> {
        let claim = self.state.record.as_ref()?.claim(key).await.ok()??;
        claim.reply.filter(|_| claim.request == request)
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
        let store = |error: RecordError| EngineError::Store(error.to_string());
        let id = keyed
            .repeated
            .map_or_else(|| self.new_id(), |repeated| repeated.batch);
        let Some(record) = record else {
            let reply = self.run_keyed(keyed, batch, mode, id).await?;
            return Ok(reply);
        };
        let hold = record.hold(&keyed.key, keyed.request, id);
        let hold = hold.await.map_err(store)?;
        let graded = match record.claim(&keyed.key).await {
            Ok(Some(claim)) if claim.request != keyed.request => Err(EngineError::KeyReused),
            Ok(Some(Claim {
                reply: Some(reply), ..
            })) => Ok(Answer::Again(reply)),
            Ok(Some(claim)) => self.run_keyed(keyed, batch, mode, claim.batch).await,
            Ok(None) => self.run_keyed(keyed, batch, mode, hold.batch()).await,
            Err(error) => Err(store(error)),
        };
        // With grades in a spool, other nodes must not use another batch: the hold keeps it.
        let may_be_spooled = matches!(
            graded,
            Ok(Answer::Fresh(..)) | Err(EngineError::NotCommitted(_) | EngineError::Store(_))
        );
        if !may_be_spooled {
            hold.release().await;
        }
        graded
    }

    /// Grades a batch with the id `id` under a key that is locked.
    async fn run_keyed(
        &self,
        keyed: &IdempotentRequest,
        batch: Batch,
        mode: &Mode,
        id: BatchId,
    ) -> Result<Answer, EngineError> {
        let record = self.state.record.as_ref();
        let options = PipelineOptions {
            id,
            mode,
            keyed: Some(keyed),
            record,
            use_cache: true,
            has_rewards: true,
        };
        let (reply, sealed) = self.run(batch, options).await?;
        let sealed = sealed.unwrap_or_else(|| (keyed.render)(&reply));
        Ok(Answer::Fresh(reply, Some(sealed)))
    }

    /// Runs the stages. The future is boxed, because it is large and deeply nested.
    async fn run(
        &self,
        batch: Batch,
        options: PipelineOptions<'_>,
    ) -> Result<(Reply, Option<SealedReply>), EngineError> {
        Box::pin(stages::run(&self.state, batch, options)).await
    }

    /// Grades a batch for its verdicts, without recording it and without using cached results.
    /// Items without a gold need no policy that labels them.
    ///
    /// # Errors
    /// As [`Engine::grade`].
    pub async fn grade_unrecorded(&self, batch: Batch) -> Result<Reply, EngineError> {
        let id = self.new_id();
        let options = PipelineOptions {
            id,
            mode: &Mode::Whole,
            keyed: None,
            record: None,
            use_cache: false,
            has_rewards: false,
        };
        let (reply, _) = self.run(batch, options).await?;
        Ok(reply)
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
    ///
    /// # Errors
    /// As [`Engine::check`]; [`EngineError::ShuttingDown`].
    pub async fn check_on_worker(&self, item: BatchItem) -> Result<BatchItem, EngineError> {
        let engine = self.clone();
        self.on_worker(move || engine.check(&item).map(|()| item))
            .await?
    }

    /// Runs `work` on a worker thread, as part of the share of this engine.
    ///
    /// # Errors
    /// [`EngineError::ShuttingDown`] if the threads are stopped, or if the work panicked.
    pub async fn on_worker<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let done = self.state.workers.run(&self.share, work).await;
        done.ok_or(EngineError::ShuttingDown)
    }

    pub(crate) fn state(&self) -> &Arc<EngineState> {
        &self.state
    }

    /// The source of time.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.state.clock.as_ref()
    }

    /// Replaces texts before they are stored.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.state.keeping.redactor
    }

    /// The current counts and error rates of all channels, read from the record.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn channels(&self, record: &Record) -> Result<Arc<Ledger>, RecordError> {
        self.state.channel_cache.read(record.channels()).await
    }

    /// The counts and error rates with which a batch would be graded now: those that were read in
    /// the last seconds.
    pub async fn recent_channels(&self) -> Arc<Ledger> {
        let record = self.state.record.as_ref();
        self.state.channel_cache.current(record).await
    }

    /// Counts of finished items since the node started.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.state.totals.read()
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
