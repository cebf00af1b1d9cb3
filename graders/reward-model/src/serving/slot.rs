//! A slot: a name, its current model and the state of its loads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use assay_core::Clock;
use assay_core::reward_model::{ModelError, ModelState, ModelStatus};
use tokio::sync::Notify;

use super::loaded::{Counts, Loaded};
use crate::ModelOptions;

/// Source and options of a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Origin {
    pub(super) source: String,
    pub(super) options: ModelOptions,
}

pub(super) struct Slot {
    name: String,
    pub(super) counts: Arc<Counts>,
    current: ArcSwapOption<Loaded>,
    state: Mutex<State>,
    settled: Notify,
    /// Locked by the running load: loads of one name run one after the other.
    pub(super) turn: Mutex<()>,
}

#[derive(Default)]
struct State {
    /// Origin of the loaded model, or of the last failed load if there is none.
    origin: Option<Origin>,
    problem: Option<String>,
    /// Number of loads that have begun and not ended.
    coming: usize,
    /// Whether the name was removed.
    gone: bool,
}

/// No model is loaded: the error, and whether a load is pending.
struct Absent {
    error: ModelError,
    coming: bool,
}

impl Slot {
    pub(super) fn new(name: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            counts: Arc::default(),
            current: ArcSwapOption::empty(),
            state: Mutex::default(),
            settled: Notify::new(),
            turn: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a load. Until it ends, requests with a timeout wait for the model.
    pub(super) fn begin(&self) {
        self.lock().coming += 1;
    }

    /// Origin of a load: what the load declares, completed from the previous origin.
    ///
    /// # Errors
    /// [`ModelError::NotLoadable`] if no source is known.
    pub(super) fn origin(
        &self,
        source: Option<String>,
        options: Option<ModelOptions>,
    ) -> Result<Origin, ModelError> {
        let present = self.lock().origin.clone();
        let (known, kept) = present.map_or((None, None), |origin| {
            (Some(origin.source), Some(origin.options))
        });
        let nowhere = || {
            let name = &self.name;
            ModelError::NotLoadable(format!(
                "no model `{name}` has been loaded yet; set `source` to a directory or `org/name`"
            ))
        };
        let source = source.or(known).ok_or_else(nowhere)?;
        Ok(Origin {
            source,
            options: options.or(kept).unwrap_or_default(),
        })
    }

    /// Ends a load. A loaded model replaces the current one. After a failure the error is recorded
    /// and the current model stays.
    ///
    /// # Errors
    /// [`ModelError::NotLoadable`] if the load failed or the name was removed meanwhile.
    pub(super) fn end(
        &self,
        origin: Option<Origin>,
        outcome: Result<Arc<Loaded>, ModelError>,
    ) -> Result<Arc<Loaded>, ModelError> {
        let mut state = self.lock();
        state.coming -= 1;
        let outcome = match outcome {
            Ok(_) if state.gone => Err(ModelError::NotLoadable(format!(
                "model `{}` was unloaded while it was loading",
                self.name
            ))),
            Ok(loaded) => {
                state.origin = origin;
                state.problem = None;
                self.current.store(Some(Arc::clone(&loaded)));
                Ok(loaded)
            }
            Err(error) => {
                state.problem = Some(error.to_string());
                if self.current.load().is_none() {
                    state.origin = origin.or(state.origin.take());
                }
                Err(error)
            }
        };
        drop(state);
        self.settled.notify_waiters();
        outcome
    }

    /// Marks the name as removed.
    pub(super) fn give_up(&self) {
        self.lock().gone = true;
        self.settled.notify_waiters();
    }

    /// The model, if it is loaded.
    ///
    /// # Errors
    /// [`ModelError::Unavailable`], [`ModelError::Unknown`].
    pub(super) fn model(&self) -> Result<Arc<Loaded>, ModelError> {
        self.present().map_err(|absent| absent.error)
    }

    fn present(&self) -> Result<Arc<Loaded>, Absent> {
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
        if state.gone {
            let error = ModelError::Unknown(format!("model `{name}` has been unloaded"));
            return Err(Absent {
                error,
                coming: false,
            });
        }
        let coming = state.coming > 0;
        let error = ModelError::Unavailable(match &state.problem {
            _ if coming => {
                format!("model `{name}` is loading; retry, or set a timeout to wait")
            }
            Some(problem) => format!("model `{name}` failed to load: {problem}"),
            None => format!("model `{name}` is not loaded"),
        });
        Err(Absent { error, coming })
    }

    /// The model, once it is loaded. Waits for a pending load until `deadline`, or not at all if
    /// there is no deadline.
    ///
    /// # Errors
    /// As [`Slot::model`].
    pub(super) async fn model_by(
        &self,
        deadline: Option<Duration>,
        clock: &dyn Clock,
    ) -> Result<Arc<Loaded>, ModelError> {
        loop {
            let settled = self.settled.notified();
            let error = match self.present() {
                Ok(loaded) => return Ok(loaded),
                Err(Absent {
                    error,
                    coming: false,
                }) => return Err(error),
                Err(Absent {
                    error,
                    coming: true,
                }) => error,
            };
            let left = deadline.map_or(Duration::ZERO, |deadline| {
                deadline.saturating_sub(clock.monotonic())
            });
            if left.is_zero() || tokio::time::timeout(left, settled).await.is_err() {
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
                None if state.coming > 0 => ModelState::Loading,
                None => ModelState::Failed,
            },
            problem: state.problem.clone(),
            info: loaded.map(|loaded| Arc::clone(loaded.info())),
            default,
            scored: count(&self.counts.scored),
            tokens: count(&self.counts.tokens),
            waiting_tokens: count(&self.counts.waiting),
        }
    }
}
