//! The bounded queue of the device: admission, deadlines and selection of the next batch.
//!
//! The bound is in tokens, which determine memory and time. A request is admitted with all its
//! sequences or none.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_core::Clock;
use assay_core::reward_model::{ModelError, ModelOutput};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::batcher::{Budget, Window};
use super::fair_queue::{FairQueue, WaitingSequence};
use super::job::{Answer, DeviceJob};
use super::loaded::LoadedModel;
use super::metrics;
use crate::Sequence;

/// Maximum delay suggested to callers of a full queue.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// A request for the device.
pub(super) struct DeviceRequest {
    pub(super) caller: Arc<str>,
    pub(super) model: Arc<LoadedModel>,
    /// Deadline on the clock of the queue.
    pub(super) deadline: Option<Duration>,
    /// The sequences to run, at least one.
    pub(super) sequences: Vec<Sequence>,
}

impl DeviceRequest {
    /// The tiles of each sequence that other sequences may share.
    fn tiles(&self) -> Vec<Vec<u64>> {
        let shares = self.model.model.shares_prefixes();
        let tiles = |sequence: &Sequence| {
            if shares {
                sequence.tile_hashes()
            } else {
                Vec::new()
            }
        };
        self.sequences.iter().map(tiles).collect()
    }
}

pub(super) struct Queue {
    max_tokens: usize,
    batch_rows: usize,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    ready: Condvar,
    idle: Notify,
}

struct State {
    fair_queue: FairQueue<DeviceJob>,
    window: Window<DeviceJob>,
    /// Whether the device is running a batch.
    running: bool,
    closed: bool,
    /// Throughput in tokens per second, smoothed over batches. 0 before the first batch.
    tokens_per_second: f64,
}

impl State {
    fn tokens(&self) -> usize {
        self.fair_queue.tokens() + self.window.tokens()
    }

    fn is_idle(&self) -> bool {
        !self.running && self.window.first().is_none() && self.fair_queue.is_empty()
    }

    fn retry_after(&self) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "an estimate in whole seconds")]
        let backlog = self.tokens() as f64;
        let seconds = if self.tokens_per_second > 0.0 {
            (backlog / self.tokens_per_second).ceil()
        } else {
            1.0
        };
        Duration::from_secs_f64(seconds.clamp(1.0, MAX_RETRY_AFTER.as_secs_f64()))
    }

    fn overloaded(&self) -> ModelError {
        ModelError::Overloaded {
            waiting: self.tokens() as u64,
            retry_after: self.retry_after(),
        }
    }
}

/// Subtracts a sequence that left the queue from the waiting tokens of its model.
fn subtract_waiting(waiting: &WaitingSequence<DeviceJob>) {
    waiting
        .payload
        .model
        .counts
        .waiting
        .fetch_sub(waiting.tokens as u64, Ordering::Relaxed);
}

impl Queue {
    pub(super) fn new(max_tokens: usize, batch: Budget, clock: Arc<dyn Clock>) -> Arc<Self> {
        let state = State {
            fair_queue: FairQueue::default(),
            window: Window::new(batch),
            running: false,
            closed: false,
            tokens_per_second: 0.0,
        };
        Arc::new(Self {
            max_tokens,
            batch_rows: batch.rows,
            clock,
            state: Mutex::new(state),
            ready: Condvar::new(),
            idle: Notify::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rejects a request early, before it is tokenised, if the queue is full or closed.
    ///
    /// # Errors
    /// [`ModelError::ShuttingDown`], [`ModelError::Overloaded`].
    pub(super) fn check_capacity(&self) -> Result<(), ModelError> {
        let state = self.lock();
        if state.closed {
            return Err(ModelError::ShuttingDown);
        }
        if state.tokens() >= self.max_tokens {
            return Err(state.overloaded());
        }
        Ok(())
    }

    /// Admits a request if all of it fits in the queue. A request that would not fit in an empty
    /// queue is always rejected as too large: a permanent error must not depend on load.
    ///
    /// # Errors
    /// [`ModelError::TooLarge`], [`ModelError::Overloaded`], [`ModelError::ShuttingDown`].
    pub(super) fn admit(self: &Arc<Self>, request: DeviceRequest) -> Result<Ticket, ModelError> {
        let tokens: usize = request.sequences.iter().map(Sequence::len).sum();
        if tokens > self.max_tokens {
            return Err(ModelError::TooLarge {
                tokens: tokens as u64,
                limit: self.max_tokens as u64,
            });
        }
        let tiles = request.tiles();
        let state = self.lock();
        if state.tokens().saturating_add(tokens) > self.max_tokens && !state.closed {
            return Err(state.overloaded());
        }
        self.enqueue(state, request, tiles)
    }

    /// Admits internal work regardless of the limit.
    ///
    /// # Errors
    /// [`ModelError::ShuttingDown`].
    pub(super) fn admit_internal(
        self: &Arc<Self>,
        request: DeviceRequest,
    ) -> Result<Ticket, ModelError> {
        let tiles = request.tiles();
        self.enqueue(self.lock(), request, tiles)
    }

    fn enqueue(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        request: DeviceRequest,
        tiles: Vec<Vec<u64>>,
    ) -> Result<Ticket, ModelError> {
        if state.closed {
            return Err(ModelError::ShuttingDown);
        }
        let DeviceRequest {
            caller,
            model,
            deadline,
            sequences,
        } = request;
        let admitted = self.clock.monotonic();
        let (answers, receiver) = unbounded_channel();
        let remaining = sequences.len();
        let tiled = sequences.into_iter().zip(tiles).enumerate();
        let jobs = tiled.map(|(index, (sequence, tiles))| {
            let tokens = sequence.len();
            let (model, answers) = (Arc::clone(&model), answers.clone());
            (
                tokens,
                tiles,
                DeviceJob {
                    sequence,
                    model,
                    index,
                    answers,
                    deadline,
                    admitted,
                },
            )
        });
        let before = state.tokens();
        let number = state.fair_queue.push(&caller, jobs);
        let tokens = state.tokens();
        model
            .counts
            .waiting
            .fetch_add((tokens - before) as u64, Ordering::Relaxed);
        drop(state);
        metrics::set_waiting_tokens(tokens);
        self.ready.notify_one();
        Ok(Ticket::new(
            Arc::clone(self),
            caller,
            number,
            receiver,
            remaining,
        ))
    }

    /// Waits for and returns the next batch, all of one model. Sequences past their deadline are
    /// answered with an error and not run. Returns `None` when the queue is closed and empty.
    pub(super) fn next(&self) -> Option<Vec<DeviceJob>> {
        let mut state = self.lock();
        let batch = loop {
            let State {
                fair_queue, window, ..
            } = &mut *state;
            window.fill(fair_queue);
            let now = self.clock.monotonic();
            let expired = window.take(|waiting| {
                waiting
                    .payload
                    .deadline
                    .is_some_and(|deadline| deadline <= now)
            });
            if !expired.is_empty() {
                for waiting in &expired {
                    subtract_waiting(waiting);
                    waiting.payload.answer(Err(ModelError::Expired));
                }
                continue;
            }
            if let Some(first) = window.first() {
                let budget = Budget {
                    tokens: first.payload.model.batch_tokens(),
                    rows: self.batch_rows,
                };
                break window
                    .next_batch(budget, |one, other| Arc::ptr_eq(&one.model, &other.model));
            }
            if state.is_idle() {
                self.idle.notify_waiters();
            }
            if state.closed {
                return None;
            }
            state = self
                .ready
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        state.running = true;
        let tokens = state.tokens();
        drop(state);
        metrics::set_waiting_tokens(tokens);
        let now = self.clock.monotonic();
        for waiting in &batch {
            subtract_waiting(waiting);
            metrics::record_queue_time(
                &waiting.payload.model.info().name,
                now.saturating_sub(waiting.payload.admitted),
            );
        }
        Some(batch.into_iter().map(|waiting| waiting.payload).collect())
    }

    /// Records that the device finished a batch of `tokens` in `duration`.
    pub(super) fn batch_finished(&self, tokens: usize, duration: Duration) {
        let mut state = self.lock();
        state.running = false;
        #[expect(
            clippy::cast_precision_loss,
            reason = "token counts are far below 2^53"
        )]
        let latest = tokens as f64 / duration.as_secs_f64().max(1e-6);
        state.tokens_per_second = if state.tokens_per_second > 0.0 {
            0.7 * state.tokens_per_second + 0.3 * latest
        } else {
            latest
        };
        if state.is_idle() {
            self.idle.notify_waiters();
        }
    }

    /// Removes the waiting sequences of a request. Returns whether there were any.
    pub(super) fn remove(&self, caller: &Arc<str>, number: u64) -> bool {
        let mut state = self.lock();
        let mut removed: Vec<_> = state.fair_queue.remove(caller, number).into();
        removed.extend(state.window.take(|waiting| waiting.ticket == number));
        if state.is_idle() {
            self.idle.notify_waiters();
        }
        let tokens = state.tokens();
        // The removed jobs are dropped outside the lock because they may own the last reference to
        // a model.
        drop(state);
        metrics::set_waiting_tokens(tokens);
        removed.iter().for_each(subtract_waiting);
        !removed.is_empty()
    }

    /// Returns whether the queue rejects all requests.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Rejects all further requests. Waiting sequences stay in the queue.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.ready.notify_all();
    }

    /// Waits until no sequence is waiting or running.
    pub(super) async fn drained(&self) {
        loop {
            let idle = self.idle.notified();
            if self.lock().is_idle() {
                return;
            }
            idle.await;
        }
    }

    /// Answers all waiting sequences with [`ModelError::ShuttingDown`].
    pub(super) fn reject_all(&self) {
        loop {
            let mut state = self.lock();
            let State {
                fair_queue, window, ..
            } = &mut *state;
            window.fill(fair_queue);
            let cleared = window.take(|_| true);
            drop(state);
            if cleared.is_empty() {
                metrics::set_waiting_tokens(0);
                return;
            }
            for waiting in &cleared {
                subtract_waiting(waiting);
                waiting.payload.answer(Err(ModelError::ShuttingDown));
            }
        }
    }
}

/// A request in the queue. Dropping it removes the sequences that have not run yet.
pub(super) struct Ticket {
    queue: Arc<Queue>,
    caller: Arc<str>,
    number: u64,
    answers: UnboundedReceiver<Answer>,
    remaining: usize,
}

impl Ticket {
    /// Creates the ticket of an admitted request that expects `remaining` answers.
    fn new(
        queue: Arc<Queue>,
        caller: Arc<str>,
        number: u64,
        answers: UnboundedReceiver<Answer>,
        remaining: usize,
    ) -> Self {
        Self {
            queue,
            caller,
            number,
            answers,
            remaining,
        }
    }

    /// Removes the sequences that have not run yet. Returns whether there were any.
    pub(super) fn cancel(&self) -> bool {
        self.queue.remove(&self.caller, self.number)
    }

    /// Waits for the next answer, in any order. `None` after the last.
    ///
    /// # Errors
    /// The error of the first sequence that failed.
    pub(super) async fn next(&mut self) -> Result<Option<(usize, ModelOutput)>, ModelError> {
        if self.remaining == 0 {
            return Ok(None);
        }
        let answer = self.answers.recv().await;
        self.receive(answer)
    }

    /// Like [`Ticket::next`], for threads that may block.
    pub(super) fn next_blocking(&mut self) -> Result<Option<(usize, ModelOutput)>, ModelError> {
        if self.remaining == 0 {
            return Ok(None);
        }
        let answer = self.answers.blocking_recv();
        self.receive(answer)
    }

    fn receive(
        &mut self,
        answer: Option<Answer>,
    ) -> Result<Option<(usize, ModelOutput)>, ModelError> {
        let lost = || ModelError::Device("the device did not answer a sequence".to_owned());
        let (index, readout) = answer.ok_or_else(lost)?;
        self.remaining -= 1;
        Ok(Some((index, readout?)))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.remaining > 0 {
            self.cancel();
        }
    }
}
