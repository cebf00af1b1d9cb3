//! Caches the counts of channels, which are read from the record every few seconds. Replicas that
//! share a record therefore agree, and a restart loses nothing. A batch uses one state from start
//! to end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_record::store::{Store, StoreError};
use assay_rewards::channel::{Ledger, Settings};

/// How error rates of channels are estimated and how often their counts are read.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelSettings {
    /// How rates are estimated.
    pub estimate: Settings,
    /// Age after which the cached counts are read again.
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

/// The last state of all channels that was read.
pub(crate) struct ChannelCache {
    settings: ChannelSettings,
    cached: Mutex<CachedLedger>,
}

struct CachedLedger {
    ledger: Arc<Ledger>,
    /// When it was read, on the monotonic clock; `None` before the first read.
    read_at: Option<Duration>,
}

impl ChannelCache {
    pub(crate) fn new(settings: ChannelSettings) -> Self {
        let ledger = Arc::new(Ledger::new(Default::default(), settings.estimate.clone()));
        Self {
            settings,
            cached: Mutex::new(CachedLedger {
                ledger,
                read_at: None,
            }),
        }
    }

    /// Returns the cached state, and reads it again if it is too old. If the record cannot be read,
    /// the cached state is returned, so that grading continues.
    pub(crate) async fn current(
        &self,
        store: Option<&Arc<dyn Store>>,
        now: Duration,
    ) -> Arc<Ledger> {
        let Some(store) = store else {
            return Arc::clone(&self.lock().ledger);
        };
        {
            let mut cached = self.lock();
            let is_fresh = cached
                .read_at
                .is_some_and(|read_at| now.saturating_sub(read_at) < self.settings.refresh);
            if is_fresh {
                return Arc::clone(&cached.ledger);
            }
            // Only one batch reads; concurrent batches use the cached state meanwhile.
            if cached.read_at.is_some() {
                cached.read_at = Some(now);
            }
        }
        match self.read(store.as_ref(), now).await {
            Ok(ledger) => ledger,
            Err(error) => {
                tracing::warn!(%error, "cannot read the counts of channels; using the last known \
                                        error rates");
                Arc::clone(&self.lock().ledger)
            }
        }
    }

    /// Reads the state from the record, whatever the age of the cached one.
    pub(crate) async fn read(
        &self,
        store: &dyn Store,
        now: Duration,
    ) -> Result<Arc<Ledger>, StoreError> {
        let (counts, settings) = (store.channels().await?, self.settings.estimate.clone());
        // With many channels this takes long enough to block a thread of the runtime.
        let built =
            tokio::task::spawn_blocking(move || Arc::new(Ledger::new(counts, settings))).await;
        let ledger = built.map_err(|error| StoreError::Inconsistent(error.to_string()))?;
        *self.lock() = CachedLedger {
            ledger: Arc::clone(&ledger),
            read_at: Some(now),
        };
        Ok(ledger)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CachedLedger> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
