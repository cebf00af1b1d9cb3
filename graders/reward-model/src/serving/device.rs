//! The device threads: each runs batches one after the other and survives their failures.
//!
//! A batch that fails with an error, a panic or lack of memory is split in half and run again,
//! recursively, until only the offending sequence fails. If there are several devices, and one of
//! them cannot even run a sequence of the warm-up after such a failure, it leaves requests to the
//! others: it would fail faster than they succeed, and take most batches.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use assay_core::Clock;
use assay_core::reward_model::{ModelError, ModelOutput};
use tokio::sync::watch;

use super::contract::RunError;
use super::job::DeviceJob;
use super::loaded::LoadedModel;
use super::metrics;
use super::queue::{Batch, Queue};
use crate::Sequence;

/// A device and its queue.
struct Device {
    index: usize,
    name: String,
    /// Whether there are other devices.
    is_one_of_several: bool,
    queue: Arc<Queue>,
    clock: Arc<dyn Clock>,
}

/// Starts a thread for each device. They end when the queue is closed and empty. The sender of the
/// returned channel is dropped at that moment.
pub(super) fn start(
    queue: &Arc<Queue>,
    names: Vec<String>,
    clock: &Arc<dyn Clock>,
) -> std::io::Result<watch::Receiver<()>> {
    let (alive, ended) = watch::channel(());
    let alive = Arc::new(alive);
    let is_one_of_several = names.len() > 1;
    metrics::set_intact_devices(names.len());
    for (index, name) in names.into_iter().enumerate() {
        let thread_name = if is_one_of_several {
            format!("assay-device-{index}")
        } else {
            "assay-device".to_owned()
        };
        let device = Device {
            index,
            name,
            is_one_of_several,
            queue: Arc::clone(queue),
            clock: Arc::clone(clock),
        };
        let alive = Arc::clone(&alive);
        let thread = thread::Builder::new().name(thread_name);
        let spawned = thread.spawn(move || {
            device.run_batches();
            drop(alive);
        });
        if let Err(error) = spawned {
            queue.close();
            return Err(error);
        }
    }
    Ok(ended)
}

impl Device {
    fn run_batches(&self) {
        while let Some(Batch { jobs, is_trial }) = self.queue.next(self.index) {
            let tokens = jobs.iter().map(|job| job.sequence.len()).sum();
            let started = self.clock.monotonic();
            self.run_until_answered(jobs, is_trial);
            self.queue
                .batch_finished(tokens, self.clock.monotonic().saturating_sub(started));
        }
    }

    /// Runs a batch until each of its sequences is answered.
    fn run_until_answered(&self, batch: Vec<DeviceJob>, is_trial: bool) {
        let mut rest = vec![batch];
        let mut examined = is_trial || !self.is_one_of_several;
        while let Some(mut batch) = rest.pop() {
            let Some(model) = batch.first().map(|job| Arc::clone(&job.model)) else {
                continue;
            };
            let name = &model.info().name;
            let started = self.clock.monotonic();
            let tokens: usize = batch.iter().map(|job| job.sequence.len()).sum();
            let span = tracing::info_span!(
                "model",
                model = name,
                device = self.name,
                rows = batch.len(),
                tokens
            );
            let sequences: Vec<&Sequence> = batch.iter().map(|job| &job.sequence).collect();
            match span.in_scope(|| self.run(&model, &sequences)) {
                Ok(readouts) => {
                    let lengths = batch.iter().map(|job| job.sequence.len());
                    metrics::record_batch(
                        name,
                        &self.name,
                        lengths.clone(),
                        self.clock.monotonic().saturating_sub(started),
                    );
                    model
                        .counts
                        .tokens
                        .fetch_add(lengths.sum::<usize>() as u64, Ordering::Relaxed);
                    for (job, readout) in batch.iter().zip(readouts) {
                        job.answer(require_finite(readout));
                    }
                    if is_trial {
                        self.set_failed(false);
                    }
                }
                Err(failure) => {
                    metrics::record_failure(name, &self.name, failure.kind);
                    tracing::warn!(
                        model = name,
                        device = self.name,
                        rows = batch.len(),
                        tokens,
                        "batch failed: {}",
                        failure.message
                    );
                    if !examined && failure.kind != OUT_OF_MEMORY {
                        examined = true;
                        self.examine(&model);
                    }
                    if let [job] = batch.as_slice() {
                        job.answer(Err(ModelError::Device(format!(
                            "model `{name}` failed: {}",
                            failure.message
                        ))));
                    } else {
                        if failure.kind == OUT_OF_MEMORY {
                            model.shrink(tokens);
                        }
                        let second = batch.split_off(batch.len() / 2);
                        rest.extend([second, batch]);
                    }
                }
            }
        }
    }

    /// Runs a sequence of the warm-up after a batch failed, to find out whether the device failed
    /// or the batch.
    fn examine(&self, model: &LoadedModel) {
        if let Some(sequence) = model.model.warm_up(1).first()
            && let Err(failure) = self.run(model, &[sequence])
        {
            tracing::error!(
                device = self.name,
                "the device failed and serves no requests until a model is loaded: {}",
                failure.message
            );
            self.set_failed(true);
        }
    }

    fn set_failed(&self, failed: bool) {
        if self.is_one_of_several {
            metrics::set_intact_devices(self.queue.set_failed(self.index, failed));
        }
    }

    /// Runs one forward pass. Checks that it returns one readout per sequence.
    fn run(
        &self,
        model: &LoadedModel,
        sequences: &[&Sequence],
    ) -> Result<Vec<ModelOutput>, Failure> {
        let run = || model.model.run_on(self.index, sequences);
        // A model is immutable, so a panic cannot leave an inconsistent state for later batches.
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(readouts)) if readouts.len() == sequences.len() => Ok(readouts),
            Ok(Ok(readouts)) => {
                let message = format!(
                    "it returned {} readouts for {} sequences",
                    readouts.len(),
                    sequences.len()
                );
                Err(Failure {
                    kind: "error",
                    message,
                })
            }
            Ok(Err(error @ RunError::OutOfMemory)) => Err(Failure {
                kind: OUT_OF_MEMORY,
                message: error.to_string(),
            }),
            Ok(Err(error @ RunError::Device(_))) => Err(Failure {
                kind: "error",
                message: error.to_string(),
            }),
            Err(panic) => Err(Failure {
                kind: "panic",
                message: format!("it panicked: {}", panic_message(panic.as_ref())),
            }),
        }
    }
}

const OUT_OF_MEMORY: &str = "out_of_memory";

/// A failed batch.
struct Failure {
    /// Value of the metric label `kind`.
    kind: &'static str,
    message: String,
}

/// Message of a panic.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

/// Returns the readout if all its numbers are finite.
fn require_finite(readout: ModelOutput) -> Result<ModelOutput, ModelError> {
    let finite = match &readout {
        ModelOutput::Scalar(number) => number.is_finite(),
        ModelOutput::Classes(numbers)
        | ModelOutput::Labels(numbers)
        | ModelOutput::Steps(numbers)
        | ModelOutput::Embedding(numbers) => numbers.iter().all(|number| number.is_finite()),
    };
    let overflow =
        "the model returned a number that is not finite; load it with `dtype` `f32` or `bf16`";
    if finite {
        Ok(readout)
    } else {
        Err(ModelError::Device(overflow.to_owned()))
    }
}
