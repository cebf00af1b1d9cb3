//! The device thread: runs batches one after the other and survives their failures.
//!
//! A batch that fails with an error, a panic or lack of memory is split in half and run again,
//! recursively, until only the offending sequence fails.

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
use super::metrics;
use super::queue::Queue;
use crate::Sequence;

/// Starts the device thread. It ends when the queue is closed and empty. The sender of the returned
/// channel is dropped at that moment.
pub(super) fn start(
    queue: Arc<Queue>,
    clock: Arc<dyn Clock>,
) -> std::io::Result<watch::Receiver<()>> {
    let (alive, ended) = watch::channel(());
    thread::Builder::new()
        .name("assay-device".to_owned())
        .spawn(move || {
            while let Some(batch) = queue.next() {
                let tokens = batch.iter().map(|job| job.sequence.len()).sum();
                let started = clock.monotonic();
                run_until_answered(batch, clock.as_ref());
                queue.batch_finished(tokens, clock.monotonic().saturating_sub(started));
            }
            drop(alive);
        })?;
    Ok(ended)
}

/// Runs a batch until each of its sequences is answered.
fn run_until_answered(batch: Vec<DeviceJob>, clock: &dyn Clock) {
    let mut rest = vec![batch];
    while let Some(mut batch) = rest.pop() {
        let Some(model) = batch.first().map(|job| Arc::clone(&job.model)) else {
            continue;
        };
        let name = &model.info().name;
        let started = clock.monotonic();
        let tokens: usize = batch.iter().map(|job| job.sequence.len()).sum();
        let span = tracing::info_span!("model", model = name, rows = batch.len(), tokens);
        match span.in_scope(|| run(&batch)) {
            Ok(readouts) => {
                let lengths = batch.iter().map(|job| job.sequence.len());
                metrics::record_batch(
                    name,
                    lengths.clone(),
                    clock.monotonic().saturating_sub(started),
                );
                model
                    .counts
                    .tokens
                    .fetch_add(lengths.sum::<usize>() as u64, Ordering::Relaxed);
                for (job, readout) in batch.iter().zip(readouts) {
                    job.answer(require_finite(readout));
                }
            }
            Err(failure) => {
                metrics::record_failure(name, failure.kind);
                tracing::warn!(
                    model = name,
                    rows = batch.len(),
                    tokens,
                    "batch failed: {}",
                    failure.message
                );
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

const OUT_OF_MEMORY: &str = "out_of_memory";

/// A failed batch.
struct Failure {
    /// Value of the metric label `kind`.
    kind: &'static str,
    message: String,
}

/// Runs one forward pass. Checks that it returns one readout per sequence.
fn run(batch: &[DeviceJob]) -> Result<Vec<ModelOutput>, Failure> {
    let sequences: Vec<&Sequence> = batch.iter().map(|job| &job.sequence).collect();
    let Some(job) = batch.first() else {
        return Ok(Vec::new());
    };
    // A model is immutable, so a panic cannot leave an inconsistent state for later batches.
    match catch_unwind(AssertUnwindSafe(|| job.model.model.run(&sequences))) {
        Ok(Ok(readouts)) if readouts.len() == batch.len() => Ok(readouts),
        Ok(Ok(readouts)) => {
            let message = format!(
                "it returned {} readouts for {} sequences",
                readouts.len(),
                batch.len()
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
