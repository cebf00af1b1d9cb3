//! Inputs become tokens: on threads that may block, in pieces, a bounded number at once, in order.

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

/// Inputs that one thread reads at a time: enough to be worth a switch, few enough to let others
/// have their turn.
const PIECE: usize = 32;

/// A sequence and its name in the cache.
pub(super) struct Named {
    pub(super) key: Hash,
    pub(super) sequence: Sequence,
}

/// What was read of one input.
pub(super) struct Read {
    pub(super) main: Named,
    pub(super) reference: Option<Named>,
}

/// The threads that read, shared by all requests.
pub(super) struct Readers {
    permits: Arc<Semaphore>,
    count: usize,
}

impl Readers {
    /// At most `count` threads, at least one.
    pub(super) fn new(count: usize) -> Self {
        let count = count.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(count)),
            count,
        }
    }

    /// Reads all inputs of a request.
    ///
    /// # Errors
    /// [`ModelError::Device`] when the model panics, [`ModelError::ShuttingDown`] when there are no
    /// threads any more.
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
        // No more pieces than threads stand in line, so that a long request does not push a short
        // one back by all of its length.
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
                    "the model `{name}` panicked while it read an input; report it with the input"
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
