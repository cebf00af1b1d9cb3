//! Caches the counts of channels, which are read from the record every few seconds, in the
//! background. Replicas that share a record therefore agree, and a restart loses nothing. A batch
//! uses one state from start to end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_core::Clock;
use assay_record::{Record, RecordError};
use assay_rewards::channel::{ChannelCounts, Ledger, Settings};

/// How error rates of channels are estimated and how often their counts are read.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelSettings {
    /// How rates are estimated.
    pub estimate: Settings,
    /// Age after which the cached counts are read again, in the background; zero to read them for
    /// every batch, which waits for them.
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

/// A read is started no earlier than this multiple of the duration of the last one after it, so
/// that reading takes at most a twentieth of the time, however many channels there are.
const PAUSE_FACTOR: u32 = 19;

/// The last state of all channels that was read.
pub(crate) struct ChannelCache {
    settings: ChannelSettings,
    clock: Arc<dyn Clock>,
    cached: Mutex<CachedLedger>,
    /// Locked while a batch waits for a read, so that one read serves all batches that wait.
    first_read: tokio::sync::Mutex<()>,
}

struct CachedLedger {
    ledger: Arc<Ledger>,
    /// From when on it is read again, on the monotonic clock; `None` before the first attempt to
    /// read it.
    due: Option<Duration>,
    /// Whether it is being read in the background.
    is_refreshing: bool,
}

/// Ends a refresh in the background, also if its task is dropped.
struct Refreshing(Arc<ChannelCache>);

impl Drop for Refreshing {
    fn drop(&mut self) {
        self.0.lock().is_refreshing = false;
    }
}

impl ChannelCache {
    pub(crate) fn new(settings: ChannelSettings, clock: Arc<dyn Clock>) -> Self {
        let ledger = Arc::new(Ledger::new(Default::default(), settings.estimate.clone()));
        Self {
            settings,
            clock,
            cached: Mutex::new(CachedLedger {
                ledger,
                due: None,
                is_refreshing: false,
            }),
            first_read: tokio::sync::Mutex::new(()),
        }
    }

    /// Returns the cached state. If it is too old, a read is started in the background. Only the
    /// first read is waited for, and every read if [`ChannelSettings::refresh`] is zero, which also
    /// waits for what is pending. If the
    /// record cannot be read, the cached state is returned, so that grading continues.
    pub(crate) async fn current(self: &Arc<Self>, record: Option<&Record>) -> Arc<Ledger> {
        let Some(record) = record else {
            return Arc::clone(&self.lock().ledger);
        };
        if self.settings.refresh.is_zero() {
            return self.read_or_cached(record.channels()).await;
        }
        if self.lock().due.is_none() {
            let _waiting = self.first_read.lock().await;
            if self.lock().due.is_none() {
                return self.read_or_cached(record.applied_channels()).await;
            }
        }
        let mut cached = self.lock();
        let is_due = cached.due.is_some_and(|due| due <= self.clock.monotonic());
        let refreshes = is_due && !cached.is_refreshing;
        cached.is_refreshing |= refreshes;
        let ledger = Arc::clone(&cached.ledger);
        drop(cached);
        if refreshes {
            let (refreshing, record) = (Refreshing(Arc::clone(self)), record.clone());
            // Without the lock: a runtime that is shutting down drops the task at once.
            tokio::spawn(async move {
                refreshing.0.read_or_cached(record.applied_channels()).await;
            });
        }
        ledger
    }

    async fn read_or_cached(
        &self,
        counts: impl Future<Output = Result<ChannelCounts, RecordError>>,
    ) -> Arc<Ledger> {
        match self.read(counts).await {
            Ok(ledger) => ledger,
            Err(error) => {
                tracing::warn!(%error, "cannot read the counts of channels; using the last known \
                                        error rates");
                let retry = self.clock.monotonic() + self.settings.refresh;
                let mut cached = self.lock();
                cached.due = cached.due.max(Some(retry));
                Arc::clone(&cached.ledger)
            }
        }
    }

    /// Waits for the counts of the record, whatever the age of the cached state, and keeps them.
    pub(crate) async fn read(
        &self,
        counts: impl Future<Output = Result<ChannelCounts, RecordError>>,
    ) -> Result<Arc<Ledger>, RecordError> {
        let started = self.clock.monotonic();
        let (counts, settings) = (counts.await?, self.settings.estimate.clone());
        // With many channels this takes long enough to block a thread of the runtime.
        let built =
            tokio::task::spawn_blocking(move || Arc::new(Ledger::new(counts, settings))).await;
        let ledger = built.map_err(|error| RecordError::Inconsistent(error.to_string()))?;
        let ended = self.clock.monotonic();
        let pause = PAUSE_FACTOR * ended.saturating_sub(started);
        let mut cached = self.lock();
        cached.ledger = Arc::clone(&ledger);
        cached.due = Some(ended + pause.max(self.settings.refresh));
        Ok(ledger)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CachedLedger> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
