//! What the node knows of channels: read from the record every few seconds, so that replicas of one
//! record know the same and a restart forgets nothing. A batch sees one state from beginning to
//! end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_core::store::{Store, StoreError};
use assay_correction::channel::{Ledger, Settings};

/// How the node keeps its knowledge of channels.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelSettings {
    /// How rates are estimated.
    pub estimate: Settings,
    /// Time after which counts are read again.
    pub refresh: Duration,
}

impl Default for ChannelSettings {
    fn default() -> Self {
        Self {
            estimate: Settings::default(),
            refresh: Duration::from_secs(5),
        }
    }
}

/// The latest state of all channels.
pub(crate) struct Known {
    settings: ChannelSettings,
    state: Mutex<State>,
}

struct State {
    ledger: Arc<Ledger>,
    /// When it was read, on the monotonic clock; `None` before the first time.
    read: Option<Duration>,
}

impl Known {
    pub(crate) fn new(settings: ChannelSettings) -> Self {
        let ledger = Arc::new(Ledger::new(Default::default(), settings.estimate.clone()));
        Self {
            settings,
            state: Mutex::new(State { ledger, read: None }),
        }
    }

    /// The state, read again when it is too old. A record that cannot be read leaves the state as
    /// it was: grading goes on.
    pub(crate) async fn current(
        &self,
        store: Option<&Arc<dyn Store>>,
        now: Duration,
    ) -> Arc<Ledger> {
        let Some(store) = store else {
            return Arc::clone(&self.lock().ledger);
        };
        {
            let mut state = self.lock();
            let fresh = state
                .read
                .is_some_and(|read| now.saturating_sub(read) < self.settings.refresh);
            if fresh {
                return Arc::clone(&state.ledger);
            }
            // One batch reads; those that come meanwhile go on with what was known.
            if state.read.is_some() {
                state.read = Some(now);
            }
        }
        match self.read(store.as_ref(), now).await {
            Ok(ledger) => ledger,
            Err(error) => {
                tracing::warn!(%error, "the counts of channels cannot be read: rates stay as they \
                                        were");
                Arc::clone(&self.lock().ledger)
            }
        }
    }

    /// The state as the record has it now.
    pub(crate) async fn read(
        &self,
        store: &dyn Store,
        now: Duration,
    ) -> Result<Arc<Ledger>, StoreError> {
        let (counts, settings) = (store.channels().await?, self.settings.estimate.clone());
        // Many channels take a while: the runtime's threads are for others meanwhile.
        let made =
            tokio::task::spawn_blocking(move || Arc::new(Ledger::new(counts, settings))).await;
        let ledger = made.map_err(|error| StoreError::Inconsistent(error.to_string()))?;
        *self.lock() = State {
            ledger: Arc::clone(&ledger),
            read: Some(now),
        };
        Ok(ledger)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
