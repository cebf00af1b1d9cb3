//! A name, the model behind it, and how it came there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use assay_core::Clock;
use assay_core::reward_model::{ModelError, ModelState, ModelStatus};
use tokio::sync::Notify;

use super::loaded::{Counts, Loaded};
use crate::ModelOptions;

/// Where a model comes from.
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
    /// Held by the load under way: they come one after the other.
    pub(super) turn: Mutex<()>,
}

#[derive(Default)]
struct State {
    /// Of the model that is loaded, or else of the one that failed.
    origin: Option<Origin>,
    problem: Option<String>,
    /// Loads that have begun and not ended.
    coming: usize,
    /// Whether the name was given up.
    gone: bool,
}

/// No model, and whether one may come.
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

    /// A load begins: until it ends, the name is waited for.
    pub(super) fn begin(&self) {
        self.lock().coming += 1;
    }

    /// What a load is about: what it says, and for the rest what is known already.
    ///
    /// # Errors
    /// [`ModelError::NotLoadable`] where nothing says where the model is.
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
                "no model `{name}` was loaded yet; name its `source`, a directory or `org/name`"
            ))
        };
        let source = source.or(known).ok_or_else(nowhere)?;
        Ok(Origin {
            source,
            options: options.or(kept).unwrap_or_default(),
        })
    }

    /// A load ends: its model takes the place of the present one, or its problem is noted and the
    /// present one stays.
    ///
    /// # Errors
    /// [`ModelError::NotLoadable`] with the problem, or since the name was given up meanwhile.
    pub(super) fn end(
        &self,
        origin: Option<Origin>,
        outcome: Result<Arc<Loaded>, ModelError>,
    ) -> Result<Arc<Loaded>, ModelError> {
        let mut state = self.lock();
        state.coming -= 1;
        let outcome = match outcome {
            Ok(_) if state.gone => Err(ModelError::NotLoadable(format!(
                "the model `{}` was taken away while it was loading",
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

    /// The name is given up.
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
        // It may have arrived before the lock was taken, and cannot while it is held.
        if let Some(loaded) = self.current.load_full() {
            return Ok(loaded);
        }
        let name = &self.name;
        if state.gone {
            let error = ModelError::Unknown(format!("there is no model `{name}` any more"));
            return Err(Absent {
                error,
                coming: false,
            });
        }
        let coming = state.coming > 0;
        let error = ModelError::Unavailable(match &state.problem {
            _ if coming => {
                format!("the model `{name}` is being loaded; ask again, or with timeout")
            }
            Some(problem) => format!("the model `{name}` failed to load: {problem}"),
            None => format!("the model `{name}` is not loaded"),
        });
        Err(Absent { error, coming })
    }

    /// The model, once it is loaded; waits for one that is coming until `deadline`, and without one
    /// not at all.
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
