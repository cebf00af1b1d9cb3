//! Tokenises inputs in order, in chunks, on a bounded number of blocking threads.

use std::ops::Range;
use std::sync::Arc;

use assay_core::Hash;
use assay_core::reward_model::{ModelError, ModelInput, Refusal, Truncate};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::cache;
use super::loaded::Loaded;
use crate::Sequence;

/// Inputs per chunk: enough to amortise the thread switch, few enough that other requests do not
/// wait long.
const PIECE: usize = 32;

/// A sequence and its cache key.
pub(super) struct Named {
    pub(super) key: Hash,
    pub(super) sequence: Sequence,
}

/// The sequences of one input with their cache keys.
pub(super) struct Read {
    pub(super) main: Named,
    pub(super) reference: Option<Named>,
}

/// Limits the tokenising threads over all requests.
pub(super) struct Readers {
    permits: Arc<Semaphore>,
    count: usize,
}

impl Readers {
    /// Creates a pool of at most `count` threads, at least one.
    pub(super) fn new(count: usize) -> Self {
        let count = count.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(count)),
            count,
        }
    }

    /// Tokenises all inputs of a request.
    ///
    /// # Errors
    /// [`ModelError::Device`] if the model panics, [`ModelError::ShuttingDown`] if the runtime is
    /// shutting down.
    pub(super) async fn read(
        &self,
        model: &Arc<Loaded>,
        inputs: Vec<ModelInput>,
        truncate: Truncate,
    ) -> Result<Vec<Result<Read, Refusal>>, ModelError> {
        let inputs: Arc<[ModelInput]> = inputs.into();
        let count = inputs.len();
        let pieces = (0..count)
            .step_by(PIECE)
            .map(|start| start..count.min(start + PIECE));
        // A request queues at most as many chunks as there are threads, so that a short request
        // does not wait for all chunks of a long one.
        let read = stream::iter(pieces)
            .map(|piece| self.piece(model, &inputs, piece, truncate))
            .buffered(self.count);
        read.try_collect::<Vec<_>>()
            .await
            .map(|pieces| pieces.into_iter().flatten().collect())
    }

    async fn piece(
        &self,
        model: &Arc<Loaded>,
        inputs: &Arc<[ModelInput]>,
        piece: Range<usize>,
        truncate: Truncate,
    ) -> Result<Vec<Result<Read, Refusal>>, ModelError> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|_| ModelError::ShuttingDown)?;
        let (reader, inputs) = (Arc::clone(model), Arc::clone(inputs));
        let reading = spawn_blocking(move || {
            let _permit = permit;
            inputs[piece]
                .iter()
                .map(|input| read(&reader, input, truncate))
                .collect()
        });
        reading.await.map_err(|error| {
            if error.is_panic() {
                let name = &model.info().name;
                ModelError::Device(format!(
                    "model `{name}` panicked while reading an input; report this error with the input"
                ))
            } else {
                ModelError::ShuttingDown
            }
        })
    }
}

fn read(model: &Loaded, input: &ModelInput, truncate: Truncate) -> Result<Read, Refusal> {
    let version = &model.info().version;
    let named = |sequence: Sequence| Named {
        key: cache::key(version, &sequence),
        sequence,
    };
    let reading = model.model.read(input, truncate)?;
    Ok(Read {
        main: named(reading.main),
        reference: reading.reference.map(named),
    })
}
