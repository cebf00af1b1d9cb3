//! Tokenises inputs in order, in chunks, on a bounded number of blocking threads.

use std::ops::Range;
use std::sync::Arc;

use assay_core::Hash;
use assay_core::reward_model::{ModelError, ModelInput, Refusal, Truncate};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::cache;
use super::loaded::LoadedModel;
use crate::Sequence;

/// Inputs per chunk: enough to amortise the thread switch, few enough that other requests do not
/// wait long.
const CHUNK: usize = 32;

/// A sequence and its cache key.
pub(super) struct KeyedSequence {
    pub(super) key: Hash,
    pub(super) sequence: Sequence,
}

/// The sequences of one input with their cache keys.
pub(super) struct KeyedInput {
    pub(super) main: KeyedSequence,
    pub(super) reference: Option<KeyedSequence>,
}

/// Limits the tokenising threads over all requests.
pub(super) struct TokeniserPool {
    permits: Arc<Semaphore>,
    count: usize,
}

impl TokeniserPool {
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
    pub(super) async fn tokenise(
        &self,
        caller: &Arc<str>,
        model: &Arc<LoadedModel>,
        inputs: Vec<ModelInput>,
        truncate: Truncate,
    ) -> Result<Vec<Result<KeyedInput, Refusal>>, ModelError> {
        let inputs: Arc<[ModelInput]> = inputs.into();
        let count = inputs.len();
        let chunks = (0..count)
            .step_by(CHUNK)
            .map(|start| start..count.min(start + CHUNK));
        // A request queues at most as many chunks as there are threads, so that a short request
        // does not wait for all chunks of a long one.
        let read = stream::iter(chunks)
            .map(|chunk| self.chunk(caller, model, &inputs, chunk, truncate))
            .buffered(self.count);
        read.try_collect::<Vec<_>>()
            .await
            .map(|chunks| chunks.into_iter().flatten().collect())
    }

    async fn chunk(
        &self,
        caller: &Arc<str>,
        model: &Arc<LoadedModel>,
        inputs: &Arc<[ModelInput]>,
        chunk: Range<usize>,
        truncate: Truncate,
    ) -> Result<Vec<Result<KeyedInput, Refusal>>, ModelError> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|_| ModelError::ShuttingDown)?;
        let (caller, reader, inputs) = (Arc::clone(caller), Arc::clone(model), Arc::clone(inputs));
        let tokenised = spawn_blocking(move || {
            let _permit = permit;
            inputs[chunk]
                .iter()
                .map(|input| tokenise(&caller, &reader, input, truncate))
                .collect()
        });
        tokenised.await.map_err(|error| {
            if error.is_panic() {
                let name = &model.info().name;
                ModelError::Device(format!(
                    "model `{name}` panicked while reading an input; report this error with the \
                     input"
                ))
            } else {
                ModelError::ShuttingDown
            }
        })
    }
}

fn tokenise(
    caller: &str,
    model: &LoadedModel,
    input: &ModelInput,
    truncate: Truncate,
) -> Result<KeyedInput, Refusal> {
    let version = &model.info().version;
    let keyed = |sequence: Sequence| KeyedSequence {
        key: cache::key(caller, version, &sequence),
        sequence,
    };
    let tokenised = model.model.read(input, truncate)?;
    Ok(KeyedInput {
        main: keyed(tokenised.main),
        reference: tokenised.reference.map(keyed),
    })
}
