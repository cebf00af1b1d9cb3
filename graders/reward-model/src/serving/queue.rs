//! The bounded queue of the devices: admission, deadlines and selection of the next batch. All
//! devices take batches from the same queue.
//!
//! The bound is in tokens, which determine memory and time. A request is admitted with all its
//! sequences or none.

use std::collections::VecDeque;
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

/// A request for a device.
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
    /// Batches of trials for each device, which run before those of the queue.
    trials: Vec<VecDeque<Vec<DeviceJob>>>,
    /// Whether each device failed. It then runs only trials, unless all devices failed.
    failed: Vec<bool>,
    /// Number of devices that are running a batch.
    running: usize,
    closed: bool,
    /// Throughput of one device in tokens per second, smoothed over batches. 0 before the first
    /// batch.
    tokens_per_second: f64,
}

/// A batch of one model.
pub(super) struct Batch {
    pub(super) jobs: Vec<DeviceJob>,
    /// Whether it is part of a trial rather than of requests.
    pub(super) is_trial: bool,
}

impl State {
    fn tokens(&self) -> usize {
        self.fair_queue.tokens() + self.window.tokens()
    }

    fn is_idle(&self) -> bool {
        self.running == 0
            && self.window.first().is_none()
            && self.fair_queue.is_empty()
            && self.trials.iter().all(VecDeque::is_empty)
    }

    /// Number of devices that run batches of requests.
    fn serving(&self) -> usize {
        let intact = self.failed.iter().filter(|failed| !**failed).count();
        if intact == 0 {
            self.failed.len()
        } else {
            intact
        }
    }

    /// Whether a device runs batches of requests.
    fn serves(&self, device: usize) -> bool {
        !self.failed[device] || self.failed.iter().all(|failed| *failed)
    }

    fn retry_after(&self) -> Duration {
        let backlog = self.tokens() as f64;
        let tokens_per_second = self.tokens_per_second * self.serving() as f64;
        let seconds = if tokens_per_second > 0.0 {
            (backlog / tokens_per_second).ceil()
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
    /// Creates an empty queue for this number of devices, at least one.
    pub(super) fn new(
        max_tokens: usize,
        batch: Budget,
        devices: usize,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let state = State {
            fair_queue: FairQueue::default(),
            window: Window::new(batch),
            trials: std::iter::repeat_with(VecDeque::new)
                .take(devices)
                .collect(),
            failed: vec![false; devices],
            running: 0,
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

    /// Admits the sequences of a request as a trial on each device, regardless of the limit and
    /// before waiting requests. The ticket returns an answer for each sequence and device.
    ///
    /// # Errors
    /// [`ModelError::ShuttingDown`].
    pub(super) fn admit_trial(
        self: &Arc<Self>,
        request: &DeviceRequest,
    ) -> Result<Ticket, ModelError> {
        let tiles = request.tiles();
        let admitted = self.clock.monotonic();
        let (answers, receiver) = unbounded_channel();
        let budget = Budget {
            tokens: request.model.batch_tokens(),
            rows: self.batch_rows,
        };
        let mut state = self.lock();
        if state.closed {
            return Err(ModelError::ShuttingDown);
        }
        for trials in &mut state.trials {
            let jobs = request.sequences.iter().zip(&tiles).enumerate();
            let jobs = jobs.map(|(index, (sequence, tiles))| {
                let job = DeviceJob {
                    sequence: sequence.clone(),
                    model: Arc::clone(&request.model),
                    index,
                    answers: answers.clone(),
                    deadline: request.deadline,
                    admitted,
                };
                (sequence.len(), tiles.clone(), job)
            });
            let mut queue = FairQueue::default();
            queue.push(&request.caller, jobs);
            let mut window = Window::new(budget);
            loop {
                window.fill(&mut queue);
                let batch = window.next_batch(budget, |_, _| true);
                if batch.is_empty() {
                    break;
                }
                trials.push_back(batch.into_iter().map(|waiting| waiting.payload).collect());
            }
        }
        let remaining = request.sequences.len() * state.trials.len();
        drop(state);
        self.ready.notify_all();
        let caller = Arc::clone(&request.caller);
        Ok(Ticket::new(
            Arc::clone(self),
            caller,
            None,
            receiver,
            remaining,
        ))
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
        // A device that failed may be waiting too, so one notification could be lost.
        self.ready.notify_all();
        Ok(Ticket::new(
            Arc::clone(self),
            caller,
            Some(number),
            receiver,
            remaining,
        ))
    }

    /// Waits for and returns the next batch for a device. Sequences past their deadline are
    /// answered with an error and not run. Returns `None` when the queue is closed and empty.
    pub(super) fn next(&self, device: usize) -> Option<Batch> {
        let mut state = self.lock();
        let batch = loop {
            if let Some(jobs) = state.trials[device].pop_front() {
                let is_trial = true;
                break Batch { jobs, is_trial };
            }
            let serves = state.serves(device);
            let State {
                fair_queue, window, ..
            } = &mut *state;
            if serves {
                window.fill(fair_queue);
            }
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
            if let Some(first) = window.first().filter(|_| serves) {
                let budget = Budget {
                    tokens: first.payload.model.batch_tokens(),
                    rows: self.batch_rows,
                };
                let waiting =
                    window.next_batch(budget, |one, other| Arc::ptr_eq(&one.model, &other.model));
                waiting.iter().for_each(subtract_waiting);
                break Batch {
                    jobs: waiting.into_iter().map(|waiting| waiting.payload).collect(),
                    is_trial: false,
                };
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
        state.running += 1;
        let tokens = state.tokens();
        drop(state);
        metrics::set_waiting_tokens(tokens);
        let now = self.clock.monotonic();
        for job in &batch.jobs {
            metrics::record_queue_time(&job.model.info().name, now.saturating_sub(job.admitted));
        }
        Some(batch)
    }

    /// Records whether a device failed. Waiting requests are left to the other devices while it
    /// does, unless all failed. Returns the number of devices that did not fail.
    pub(super) fn set_failed(&self, device: usize, failed: bool) -> usize {
        let mut state = self.lock();
        state.failed[device] = failed;
        let intact = state.failed.iter().filter(|failed| !**failed).count();
        drop(state);
        self.ready.notify_all();
        intact
    }

    /// Records that a device finished a batch of `tokens` in `duration`.
    pub(super) fn batch_finished(&self, tokens: usize, duration: Duration) {
        let mut state = self.lock();
        state.running = state.running.saturating_sub(1);
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
            let trials: Vec<_> = state.trials.iter_mut().flat_map(std::mem::take).collect();
            drop(state);
            for job in trials.iter().flatten() {
                job.answer(Err(ModelError::ShuttingDown));
            }
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
    /// Number in the queue. `None` for a trial, which cannot be cancelled.
    number: Option<u64>,
    answers: UnboundedReceiver<Answer>,
    remaining: usize,
}

impl Ticket {
    /// Creates the ticket of an admitted request that expects `remaining` answers.
    fn new(
        queue: Arc<Queue>,
        caller: Arc<str>,
        number: Option<u64>,
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
        self.number
            .is_some_and(|number| self.queue.remove(&self.caller, number))
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
