//! The two ends of a sequence's way through the queue: the job that the device answers, and the
//! ticket that hears of it.

use std::sync::Arc;
use std::time::Duration;

use assay_core::reward_model::{ModelError, Readout};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::loaded::Loaded;
use super::queue::Queue;
use crate::Sequence;

/// A place in a request, and what the model said there.
pub(super) type Answer = (usize, Result<Readout, ModelError>);

/// A sequence on its way to the device.
pub(super) struct Job {
    pub(super) sequence: Sequence,
    pub(super) model: Arc<Loaded>,
    /// Its place among the sequences of its request.
    pub(super) place: usize,
    pub(super) answers: UnboundedSender<Answer>,
    pub(super) deadline: Option<Duration>,
    pub(super) admitted: Duration,
}

impl Job {
    /// Answers. Nobody may be listening any more.
    pub(super) fn answer(&self, answer: Result<Readout, ModelError>) {
        let _ = self.answers.send((self.place, answer));
    }
}

/// A request in the queue. Dropping it takes what has not run yet out.
pub(super) struct Ticket {
    queue: Arc<Queue>,
    caller: Arc<str>,
    number: u64,
    answers: UnboundedReceiver<Answer>,
    missing: usize,
}

impl Ticket {
    /// The ticket of a request that was admitted under a number, with `missing` answers to come.
    pub(super) fn new(
        queue: Arc<Queue>,
        caller: Arc<str>,
        number: u64,
        answers: UnboundedReceiver<Answer>,
        missing: usize,
    ) -> Self {
        Self {
            queue,
            caller,
            number,
            answers,
            missing,
        }
    }

    /// Takes what has not run yet out. Returns whether there was anything.
    pub(super) fn give_up(&self) -> bool {
        self.queue.remove(&self.caller, self.number)
    }

    /// The next answer, in no order; `None` after the last.
    ///
    /// # Errors
    /// The first sequence that failed.
    pub(super) async fn next(&mut self) -> Result<Option<(usize, Readout)>, ModelError> {
        if self.missing == 0 {
            return Ok(None);
        }
        let answer = self.answers.recv().await;
        self.took(answer)
    }

    /// As [`Ticket::next`], on a thread that may block.
    pub(super) fn next_blocking(&mut self) -> Result<Option<(usize, Readout)>, ModelError> {
        if self.missing == 0 {
            return Ok(None);
        }
        let answer = self.answers.blocking_recv();
        self.took(answer)
    }

    fn took(&mut self, answer: Option<Answer>) -> Result<Option<(usize, Readout)>, ModelError> {
        let lost =
            || ModelError::Device("the device dropped a sequence without an answer".to_owned());
        let (place, readout) = answer.ok_or_else(lost)?;
        self.missing -= 1;
        Ok(Some((place, readout?)))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.missing > 0 {
            self.give_up();
        }
    }
}
