//! Idempotency keys of requests that are being graded.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use assay_core::Hash;
use assay_record::RequestKey;
use tokio::sync::watch;

use crate::EngineError;

/// Requests with a key that this node is grading.
#[derive(Default)]
pub(crate) struct KeysInFlight(Mutex<HashMap<RequestKey, (Hash, watch::Receiver<()>)>>);

impl KeysInFlight {
    pub(crate) fn contains(&self, key: &RequestKey) -> bool {
        let requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        requests.contains_key(key)
    }

    pub(crate) fn try_lock(
        self: &Arc<Self>,
        key: &RequestKey,
        request: Hash,
    ) -> Result<KeyLock, EngineError> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match requests.entry(key.clone()) {
            Entry::Occupied(entry) => {
                let (in_flight, done) = entry.get();
                if *in_flight == request {
                    Ok(KeyLock::InFlight(done.clone()))
                } else {
                    Err(EngineError::KeyReused)
                }
            }
            Entry::Vacant(entry) => {
                let (sender, receiver) = watch::channel(());
                entry.insert((request, receiver));
                Ok(KeyLock::Acquired(KeyGuard {
                    keys_in_flight: Arc::clone(self),
                    key: key.clone(),
                    _done: sender,
                }))
            }
        }
    }
}

/// Result of an attempt to lock a key.
pub(crate) enum KeyLock {
    /// The request may run. Others with the same key wait until the guard is dropped.
    Acquired(KeyGuard),
    /// The same request is being graded. Try again after this changes.
    InFlight(watch::Receiver<()>),
}

pub(crate) struct KeyGuard {
    keys_in_flight: Arc<KeysInFlight>,
    key: RequestKey,
    /// Dropped with the guard, which wakes the requests that wait.
    _done: watch::Sender<()>,
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        let mut requests = self
            .keys_in_flight
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        requests.remove(&self.key);
    }
}
