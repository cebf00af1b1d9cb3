//! One answer to one request, however often it is sent: in flight it waits, answered it repeats the
//! same bytes.
//!
//! The claim on a key is written with the first grades of its batch, its reply with the last. A
//! crash between the two leaves a claim without a reply; sent again, the request becomes the same
//! batch, whose grades have the same ids, so the record takes none of them twice.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use assay_core::Hash;
use assay_core::record::{RequestKey, SealedReply};
use tokio::sync::watch;

use crate::{EngineError, Reply};

/// Turns a reply into the bytes that go out.
pub type Render = Arc<dyn Fn(&Reply) -> SealedReply + Send + Sync>;

/// A request under an idempotency key.
#[derive(Clone)]
pub struct Keyed {
    /// The key, scoped to its caller.
    pub key: RequestKey,
    /// Hash of the body and of what else decides the bytes of the answer.
    pub request: Hash,
    /// Makes the bytes that are kept and sent.
    pub render: Render,
}

/// The answer to a request that may have been sent before.
pub enum Answer {
    /// It was graded now; under a key, the bytes are those that were kept.
    Fresh(Reply, Option<SealedReply>),
    /// It was graded before.
    Again(SealedReply),
}

/// Keyed requests being graded by this node.
#[derive(Default)]
pub(crate) struct InFlight(Mutex<HashMap<RequestKey, (Hash, watch::Receiver<()>)>>);

/// Whether a keyed request may start.
pub(crate) enum Turn {
    /// It may; others with its key wait until the guard is dropped.
    Mine(TurnGuard),
    /// The same request is being graded; look again after this changes.
    Wait(watch::Receiver<()>),
}

pub(crate) struct TurnGuard {
    in_flight: Arc<InFlight>,
    key: RequestKey,
    /// Dropped with the guard, which wakes those who wait.
    _done: watch::Sender<()>,
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        let mut requests = self
            .in_flight
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        requests.remove(&self.key);
    }
}

impl InFlight {
    pub(crate) fn turn(self: &Arc<Self>, keyed: &Keyed) -> Result<Turn, EngineError> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match requests.entry(keyed.key.clone()) {
            Entry::Occupied(entry) => {
                let (request, done) = entry.get();
                if *request == keyed.request {
                    Ok(Turn::Wait(done.clone()))
                } else {
                    Err(EngineError::KeyReused)
                }
            }
            Entry::Vacant(entry) => {
                let (sender, receiver) = watch::channel(());
                entry.insert((keyed.request, receiver));
                Ok(Turn::Mine(TurnGuard {
                    in_flight: Arc::clone(self),
                    key: keyed.key.clone(),
                    _done: sender,
                }))
            }
        }
    }
}
