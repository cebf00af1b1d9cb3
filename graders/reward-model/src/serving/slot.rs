//! A slot: a name, its current model and the state of its loads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use assay_core::Clock;
use assay_core::reward_model::{ModelError, ModelState, ModelStatus};
use tokio::sync::Notify;

use super::loaded::{LoadedModel, ModelCounters};
use crate::ModelOptions;

/// Source and options of a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Origin {
    pub(super) source: String,
    pub(super) options: ModelOptions,
}

pub(super) struct Slot {
    name: String,
    pub(super) counts: Arc<ModelCounters>,
    current: ArcSwapOption<LoadedModel>,
    state: Mutex<State>,
    changed: Notify,
    /// Locked by the running load: loads of one name run one after the other.
    pub(super) load_lock: Mutex<()>,
}

#[derive(Default)]
struct State {
    /// Origin of the loaded model, or of the last failed load if there is none.
    origin: Option<Origin>,
    last_error: Option<String>,
    /// Number of loads that have begun and not ended.
    pending_loads: usize,
    /// Whether the name was removed.
    removed: bool,
}

/// No model is loaded: the error, and whether a load is pending.
struct Unavailable {
    error: ModelError,
    loading: bool,
}

impl Slot {
    pub(super) fn new(name: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            counts: Arc::default(),
            current: ArcSwapOption::empty(),
            state: Mutex::default(),
            changed: Notify::new(),
            load_lock: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a load. Until it ends, requests with a timeout wait for the model.
    pub(super) fn begin_load(&self) {
        self.lock().pending_loads += 1;
    }

    /// Origin of a load: what the load declares, completed from the previous origin.
    ///
    /// # Errors
    /// [`ModelError::NotLoadable`] if no source is known.
    pub(super) fn resolve_origin(
        &self,
        source: Option<String>,
        options: Option<ModelOptions>,
    ) -> Result<Origin, ModelError> {
        let previous = self.lock().origin.clone();
        let (previous_source, previous_options) = previous.map_or((None, None), |origin| {
            (Some(origin.source), Some(origin.options))
        });
        let no_source = || {
            let name = &self.name;
            ModelError::NotLoadable(format!(
                "no model `{name}` has been loaded yet; set `source` to a directory or `org/name`"
            ))
        };
        let source = source.or(previous_source).ok_or_else(no_source)?;
        Ok(Origin {
            source,
            options: options.or(previous_options).unwrap_or_default(),
        })
    }

    /// Ends a load. A loaded model replaces the current one. After a failure the error is recorded
    /// and the current model stays.
    ///
    /// # Errors
    /// [`ModelError::NotLoadable`] if the load failed or the name was removed meanwhile.
    pub(super) fn finish_load(
        &self,
        origin: Option<Origin>,
        outcome: Result<Arc<LoadedModel>, ModelError>,
    ) -> Result<Arc<LoadedModel>, ModelError> {
        let mut state = self.lock();
        state.pending_loads -= 1;
        let outcome = match outcome {
            Ok(_) if state.removed => Err(ModelError::NotLoadable(format!(
                "model `{}` was unloaded while it was loading",
                self.name
            ))),
            Ok(loaded) => {
                state.origin = origin;
                state.last_error = None;
                self.current.store(Some(Arc::clone(&loaded)));
                Ok(loaded)
            }
            Err(error) => {
                state.last_error = Some(error.to_string());
                if self.current.load().is_none() {
                    state.origin = origin.or(state.origin.take());
                }
                Err(error)
            }
        };
        drop(state);
        self.changed.notify_waiters();
        outcome
    }

    /// Ends a load that was not tried. The current model and its state stay as they are.
    pub(super) fn abandon_load(&self) {
        self.lock().pending_loads -= 1;
        self.changed.notify_waiters();
    }

    /// Checks that the version of the current model starts with `expected`.
    ///
    /// # Errors
    /// [`ModelError::VersionMismatch`].
    pub(super) fn require_version(&self, expected: String) -> Result<(), ModelError> {
        let current = self.current.load_full();
        let version = current.map_or_else(String::new, |loaded| loaded.info().version.clone());
        if !expected.is_empty() && version.starts_with(&expected) {
            return Ok(());
        }
        Err(ModelError::VersionMismatch {
            name: self.name.clone(),
            version: if version.is_empty() {
                "none".to_owned()
            } else {
                version
            },
            expected,
        })
    }

    /// Marks the name as removed.
    pub(super) fn mark_removed(&self) {
        self.lock().removed = true;
        self.changed.notify_waiters();
    }

    /// The model, if it is loaded.
    ///
    /// # Errors
    /// [`ModelError::Unavailable`], [`ModelError::Unknown`].
    pub(super) fn model(&self) -> Result<Arc<LoadedModel>, ModelError> {
        self.current_model()
            .map_err(|unavailable| unavailable.error)
    }

    fn current_model(&self) -> Result<Arc<LoadedModel>, Unavailable> {
        if let Some(loaded) = self.current.load_full() {
            return Ok(loaded);
        }
        let state = self.lock();
        // The model may have been stored before the lock was taken, but cannot be while the lock is
        // held.
        if let Some(loaded) = self.current.load_full() {
            return Ok(loaded);
        }
        let name = &self.name;
        if state.removed {
            let error = ModelError::Unknown(format!("model `{name}` has been unloaded"));
            return Err(Unavailable {
                error,
                loading: false,
            });
        }
        let loading = state.pending_loads > 0;
        let error = ModelError::Unavailable(match &state.last_error {
            _ if loading => {
                format!("model `{name}` is loading; retry, or set a timeout to wait")
            }
            Some(error) => format!("model `{name}` failed to load: {error}"),
            None => format!("model `{name}` is not loaded"),
        });
        Err(Unavailable { error, loading })
    }

    /// The model, once it is loaded. Waits for a pending load until `deadline`, or not at all if
    /// there is no deadline.
    ///
    /// # Errors
    /// As [`Slot::model`].
    pub(super) async fn wait_for_model(
        &self,
        deadline: Option<Duration>,
        clock: &dyn Clock,
    ) -> Result<Arc<LoadedModel>, ModelError> {
        loop {
            let changed = self.changed.notified();
            let error = match self.current_model() {
                Ok(loaded) => return Ok(loaded),
                Err(Unavailable {
                    error,
                    loading: false,
                }) => return Err(error),
                Err(Unavailable {
                    error,
                    loading: true,
                }) => error,
            };
            let remaining = deadline.map_or(Duration::ZERO, |deadline| {
                deadline.saturating_sub(clock.monotonic())
            });
            if remaining.is_zero() || tokio::time::timeout(remaining, changed).await.is_err() {
                return Err(error);
            }
        }
    }

    pub(super) fn status(&self, default: bool) -> ModelStatus {
        let state = self.lock();
        let loaded = self.current.load_full();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ModelStatus {
            name: self.name.clone(),
            state: match loaded {
                Some(_) => ModelState::Ready,
                None if state.pending_loads > 0 => ModelState::Loading,
                None => ModelState::Failed,
            },
            problem: state.last_error.clone(),
            info: loaded.map(|loaded| Arc::clone(loaded.info())),
            default,
            scored: count(&self.counts.scored),
            tokens: count(&self.counts.tokens),
            waiting_tokens: count(&self.counts.waiting),
        }
    }
}
