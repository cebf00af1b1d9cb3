//! Loads models. A model is loaded on its own thread while the previous one serves requests, and
//! replaces it after the warm-up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::thread;

use assay_core::reward_model::{ModelError, ModelInfo, ModelLoad};
use serde_json::Value;
use tokio::sync::oneshot;

use super::loaded::LoadedModel;
use super::queue::DeviceRequest;
use super::server::ModelServer;
use super::slot::{Origin, Slot};
use super::{device, metrics};
use crate::{ModelOptions, Sequence};

/// Caller name of warm-up sequences.
const CALLER: &str = "warm-up";

/// Loads a model under a name. Loading continues if the returned future is dropped.
///
/// # Errors
/// [`ModelError::NotLoadable`], [`ModelError::Unknown`], [`ModelError::ShuttingDown`].
pub(super) async fn load(
    server: Arc<ModelServer>,
    name: String,
    load: ModelLoad,
) -> Result<Arc<ModelInfo>, ModelError> {
    if server.queue.is_closed() {
        return Err(ModelError::ShuttingDown);
    }
    let ModelLoad {
        source,
        options,
        expected_version,
    } = load;
    let options = options.map(parse_options).transpose()?;
    let slot = server.registry.begin_load(&name, source.is_some())?;
    let (result_sender, outcome) = oneshot::channel();
    let thread = thread::Builder::new().name("assay-model-load".to_owned());
    let loading = {
        let slot = Arc::clone(&slot);
        move || {
            let request = Request {
                source,
                options,
                expected_version,
            };
            let outcome = load_and_replace(&server, &name, &slot, request);
            if outcome.is_ok() {
                metrics::register_label(&name);
            }
            metrics::record_load(&name, outcome.is_ok());
            match &outcome {
                Ok(info) => {
                    tracing::info!(
                        model = name,
                        version = info.version,
                        source = info.source,
                        "model loaded"
                    );
                }
                Err(error) => tracing::warn!(model = name, "model failed to load: {error}"),
            }
            // The requester may have dropped the future.
            let _ = result_sender.send(outcome);
        }
    };
    if let Err(error) = thread.spawn(loading) {
        let error = ModelError::NotLoadable(format!("cannot start a thread to load it: {error}"));
        return slot
            .finish_load(None, Err(error))
            .map(|loaded| Arc::clone(loaded.info()));
    }
    outcome.await.unwrap_or(Err(ModelError::ShuttingDown))
}

/// A load, with parsed options.
struct Request {
    source: Option<String>,
    options: Option<ModelOptions>,
    expected_version: Option<String>,
}

/// Parses the options of a load.
fn parse_options(options: serde_json::Map<String, Value>) -> Result<ModelOptions, ModelError> {
    ModelOptions::read(options).map_err(|error| ModelError::NotLoadable(error.to_string()))
}

/// Loads a model and replaces the current one, after earlier loads of the same name have ended.
fn load_and_replace(
    server: &ModelServer,
    name: &str,
    slot: &Slot,
    request: Request,
) -> Result<Arc<ModelInfo>, ModelError> {
    let _guard = slot
        .load_lock
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(expected) = request.expected_version
        && let Err(error) = slot.require_version(expected)
    {
        slot.abandon_load();
        return Err(error);
    }
    let (origin, outcome) = match slot.resolve_origin(request.source, request.options) {
        Ok(origin) => {
            let outcome = load_and_warm_up(server, name, slot, &origin);
            (Some(origin), outcome)
        }
        Err(error) => (None, Err(error)),
    };
    slot.finish_load(origin, outcome)
        .map(|loaded| Arc::clone(loaded.info()))
}

/// Loads and warms up a model.
fn load_and_warm_up(
    server: &ModelServer,
    name: &str,
    slot: &Slot,
    origin: &Origin,
) -> Result<Arc<LoadedModel>, ModelError> {
    let loading = || {
        let model = server.loader.load(name, &origin.source, &origin.options)?;
        let sequences = model.warm_up(server.batch_tokens);
        Ok((model, sequences))
    };
    // Unwind safe: the result of a loader is not shared before it is complete.
    let (model, sequences) = catch_unwind(AssertUnwindSafe(loading))
        .unwrap_or_else(|panic| {
            Err(format!(
                "the loader panicked: {}",
                device::panic_message(panic.as_ref())
            ))
        })
        .map_err(ModelError::NotLoadable)?;
    let loaded = Arc::new(LoadedModel::new(
        model,
        Arc::clone(&slot.counts),
        server.batch_tokens,
    ));
    warm_up(server, &loaded, sequences)?;
    Ok(loaded)
}

fn warm_up(
    server: &ModelServer,
    loaded: &Arc<LoadedModel>,
    sequences: Vec<Sequence>,
) -> Result<(), ModelError> {
    if sequences.is_empty() {
        return Ok(());
    }
    let request = DeviceRequest {
        caller: Arc::from(CALLER),
        model: Arc::clone(loaded),
        deadline: None,
        sequences,
    };
    let mut ticket = server.queue.admit_trial(&request)?;
    loop {
        match ticket.next_blocking() {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(()),
            Err(ModelError::Device(problem)) => {
                return Err(ModelError::NotLoadable(format!(
                    "the warm-up failed: {problem}"
                )));
            }
            Err(error) => return Err(error),
        }
    }
}
