//! The bounded queue of the device: admission, deadlines and selection of the next batch.
//!
//! The bound is in tokens, which determine memory and time. A request is admitted with all its
//! sequences or none.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_core::Clock;
use assay_core::reward_model::ModelError;
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;

use super::former::{Budget, Window};
use super::lanes::{Lanes, Waiting};
use super::loaded::Loaded;
use super::metrics;
use super::ticket::{Job, Ticket};
use crate::Sequence;

/// Maximum delay suggested to callers of a full queue.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// A request for the device.
pub(super) struct Order {
    pub(super) caller: Arc<str>,
    pub(super) model: Arc<Loaded>,
    /// Deadline on the clock of the queue.
    pub(super) deadline: Option<Duration>,
    /// The sequences to run, at least one.
    pub(super) sequences: Vec<Sequence>,
}

pub(super) struct Queue {
    most_tokens: usize,
    batch_rows: usize,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    ready: Condvar,
    idle: Notify,
}

struct State {
    lanes: Lanes<Job>,
    window: Window<Job>,
    /// Whether the device is running a batch.
    running: bool,
    closed: bool,
    /// Throughput in tokens per second, smoothed over batches. 0 before the first batch.
    pace: f64,
}

impl State {
    fn tokens(&self) -> usize {
        self.lanes.tokens() + self.window.tokens()
    }

    fn is_idle(&self) -> bool {
        !self.running && self.window.first().is_none() && self.lanes.is_empty()
    }

    fn retry_after(&self) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "an estimate in whole seconds")]
        let backlog = self.tokens() as f64;
        let seconds = if self.pace > 0.0 {
            (backlog / self.pace).ceil()
        } else {
            1.0
        };
        Duration::from_secs_f64(seconds.clamp(1.0, LONGEST_RETRY.as_secs_f64()))
    }

    fn overloaded(&self) -> ModelError {
        ModelError::Overloaded {
            waiting: self.tokens() as u64,
            retry_after: self.retry_after(),
        }
    }
}

/// Subtracts a sequence that left the queue from the waiting tokens of its model.
fn left(waiting: &Waiting<Job>) {
    waiting
        .what
        .model
        .counts
        .waiting
        .fetch_sub(waiting.tokens as u64, Ordering::Relaxed);
}

impl Queue {
    pub(super) fn new(most_tokens: usize, batch: Budget, clock: Arc<dyn Clock>) -> Arc<Self> {
        let state = State {
            lanes: Lanes::default(),
            window: Window::new(batch),
            running: false,
            closed: false,
            pace: 0.0,
        };
        Arc::new(Self {
            most_tokens,
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
    pub(super) fn knock(&self) -> Result<(), ModelError> {
        let state = self.lock();
        if state.closed {
            return Err(ModelError::ShuttingDown);
        }
        if state.tokens() >= self.most_tokens {
            return Err(state.overloaded());
        }
        Ok(())
    }

    /// Admits a request if all of it fits in the queue. A request that would not fit in an empty
    /// queue is always rejected as too large: a permanent error must not depend on load.
    ///
    /// # Errors
    /// [`ModelError::TooLarge`], [`ModelError::Overloaded`], [`ModelError::ShuttingDown`].
    pub(super) fn admit(self: &Arc<Self>, order: Order) -> Result<Ticket, ModelError> {
        let tokens: usize = order.sequences.iter().map(Sequence::len).sum();
        if tokens > self.most_tokens {
            return Err(ModelError::TooLarge {
                tokens: tokens as u64,
                limit: self.most_tokens as u64,
            });
        }
        let state = self.lock();
        if state.tokens().saturating_add(tokens) > self.most_tokens && !state.closed {
            return Err(state.overloaded());
        }
        self.enter(state, order)
    }

    /// Admits internal work regardless of the limit.
    ///
    /// # Errors
    /// [`ModelError::ShuttingDown`].
    pub(super) fn admit_own(self: &Arc<Self>, order: Order) -> Result<Ticket, ModelError> {
        self.enter(self.lock(), order)
    }

    fn enter(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        order: Order,
    ) -> Result<Ticket, ModelError> {
        if state.closed {
            return Err(ModelError::ShuttingDown);
        }
        let Order {
            caller,
            model,
            deadline,
            sequences,
        } = order;
        let admitted = self.clock.monotonic();
        let (answers, receiver) = unbounded_channel();
        let missing = sequences.len();
        let jobs = sequences.into_iter().enumerate().map(|(place, sequence)| {
            let tokens = sequence.len();
            let (model, answers) = (Arc::clone(&model), answers.clone());
            (
                tokens,
                Job {
                    sequence,
                    model,
                    place,
                    answers,
                    deadline,
                    admitted,
                },
            )
        });
        let before = state.tokens();
        let number = state.lanes.push(&caller, jobs);
        let tokens = state.tokens();
        model
            .counts
            .waiting
            .fetch_add((tokens - before) as u64, Ordering::Relaxed);
        drop(state);
        metrics::waiting(tokens);
        self.ready.notify_one();
        Ok(Ticket::new(
            Arc::clone(self),
            caller,
            number,
            receiver,
            missing,
        ))
    }

    /// Waits for and returns the next batch, all of one model. Sequences past their deadline are
    /// answered with an error and not run. Returns `None` when the queue is closed and empty.
    pub(super) fn next(&self) -> Option<Vec<Job>> {
        let mut state = self.lock();
        let batch = loop {
            let State { lanes, window, .. } = &mut *state;
            window.fill(lanes);
            let now = self.clock.monotonic();
            let late = window.take(|waiting| {
                waiting
                    .what
                    .deadline
                    .is_some_and(|deadline| deadline <= now)
            });
            if !late.is_empty() {
                for waiting in &late {
                    left(waiting);
                    waiting.what.answer(Err(ModelError::Expired));
                }
                continue;
            }
            if let Some(first) = window.first() {
                let budget = Budget {
                    tokens: first.what.model.batch_tokens(),
                    rows: self.batch_rows,
                };
                break window.form(budget, |one, other| Arc::ptr_eq(&one.model, &other.model));
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
        metrics::waiting(tokens);
        let now = self.clock.monotonic();
        for waiting in &batch {
            left(waiting);
            metrics::queued(
                &waiting.what.model.info().name,
                now.saturating_sub(waiting.what.admitted),
            );
        }
        Some(batch.into_iter().map(|waiting| waiting.what).collect())
    }

    /// Records that the device finished a batch of `tokens` in `duration`.
    pub(super) fn done(&self, tokens: usize, span: Duration) {
        let mut state = self.lock();
        state.running = false;
        #[expect(
            clippy::cast_precision_loss,
            reason = "token counts are far below 2^53"
        )]
        let latest = tokens as f64 / span.as_secs_f64().max(1e-6);
        state.pace = if state.pace > 0.0 {
            0.7 * state.pace + 0.3 * latest
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
        let mut removed: Vec<_> = state.lanes.remove(caller, number).into();
        removed.extend(state.window.take(|waiting| waiting.ticket == number));
        if state.is_idle() {
            self.idle.notify_waiters();
        }
        let tokens = state.tokens();
        // The removed jobs are dropped outside the lock because they may own the last reference to
        // a model.
        drop(state);
        metrics::waiting(tokens);
        removed.iter().for_each(left);
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
    pub(super) fn clear(&self) {
        loop {
            let mut state = self.lock();
            let State { lanes, window, .. } = &mut *state;
            window.fill(lanes);
            let cleared = window.take(|_| true);
            drop(state);
            if cleared.is_empty() {
                metrics::waiting(0);
                return;
            }
            for waiting in &cleared {
                left(waiting);
                waiting.what.answer(Err(ModelError::ShuttingDown));
            }
        }
    }
}
