//! Answers a repeated request once: while the first is graded the others wait, and afterwards they
//! get the same bytes.
//!
//! The claim on a key is recorded with the first grades of its batch, the reply with the last. A
//! crash between the two leaves a claim without a reply. If the request is then sent again, it
//! becomes the same batch with the same grade ids, so no grade is recorded twice.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use assay_core::Hash;
use assay_record::{RequestKey, SealedReply};
use tokio::sync::watch;

use crate::{EngineError, Reply};

/// Renders a reply as the bytes that are recorded and sent.
pub type Render = Arc<dyn Fn(&Reply) -> SealedReply + Send + Sync>;

/// A request with an idempotency key.
#[derive(Clone)]
pub struct IdempotentRequest {
    /// The key, scoped to its caller.
    pub key: RequestKey,
    /// Hash of the body and of everything else on which the bytes of the reply depend.
    pub request: Hash,
    /// Renders the bytes that are recorded and sent.
    pub render: Render,
}

/// The answer to a request that may have been sent before.
pub enum Answer {
    /// The batch was graded now. With a key, the bytes are those that were recorded.
    Fresh(Reply, Option<SealedReply>),
    /// The batch was graded before; these are the recorded bytes.
    Again(SealedReply),
}

/// Requests with a key that this node is grading.
#[derive(Default)]
pub(crate) struct KeysInFlight(Mutex<HashMap<RequestKey, (Hash, watch::Receiver<()>)>>);

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

impl KeysInFlight {
    pub(crate) fn try_lock(
        self: &Arc<Self>,
        keyed: &IdempotentRequest,
    ) -> Result<KeyLock, EngineError> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match requests.entry(keyed.key.clone()) {
            Entry::Occupied(entry) => {
                let (request, done) = entry.get();
                if *request == keyed.request {
                    Ok(KeyLock::InFlight(done.clone()))
                } else {
                    Err(EngineError::KeyReused)
                }
            }
            Entry::Vacant(entry) => {
                let (sender, receiver) = watch::channel(());
                entry.insert((keyed.request, receiver));
                Ok(KeyLock::Acquired(KeyGuard {
                    keys_in_flight: Arc::clone(self),
                    key: keyed.key.clone(),
                    _done: sender,
                }))
            }
        }
    }
}
