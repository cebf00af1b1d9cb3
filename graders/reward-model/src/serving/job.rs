//! A job of the device and the channel of its answer.

use std::sync::Arc;
use std::time::Duration;

use assay_core::reward_model::{ModelError, ModelOutput};
use tokio::sync::mpsc::UnboundedSender;

use super::loaded::LoadedModel;
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
