//! Both ends of the queue: the job that the device answers, and the ticket that receives the
//! answers.

use std::sync::Arc;
use std::time::Duration;

use assay_core::reward_model::{ModelError, ModelOutput};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::loaded::LoadedModel;
use super::queue::Queue;
use crate::Sequence;

/// Index of a sequence in its request, and its readout or error.
pub(super) type Answer = (usize, Result<ModelOutput, ModelError>);

/// A sequence to run on the device.
pub(super) struct DeviceJob {
    pub(super) sequence: Sequence,
    pub(super) model: Arc<LoadedModel>,
    /// Index among the sequences of its request.
    pub(super) index: usize,
    pub(super) answers: UnboundedSender<Answer>,
    pub(super) deadline: Option<Duration>,
    pub(super) admitted: Duration,
}

impl DeviceJob {
    /// Sends the answer. The receiver may have been dropped.
    pub(super) fn answer(&self, answer: Result<ModelOutput, ModelError>) {
        let _ = self.answers.send((self.index, answer));
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
    pub(super) fn new(
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
