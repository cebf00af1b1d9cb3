//! Equal questions at the same time: one is asked, and the others wait for its answer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_core::{ErrorCode, Fault, Hash};
use tokio::sync::watch::{Receiver, Sender, channel};

use crate::answer::Answer;

/// What became of a question; `None` while it is asked.
type Landed = Option<Result<Answer, Fault>>;

/// The questions that are being asked.
#[derive(Default)]
pub(crate) struct Flights(Mutex<HashMap<Hash, Receiver<Landed>>>);

/// The place of an item among those with an equal question.
pub(crate) enum Place<'f> {
    First(Leader<'f>),
    Later(Follower),
}

impl Flights {
    fn flights(&self) -> MutexGuard<'_, HashMap<Hash, Receiver<Landed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of an item whose question has this key.
    pub(crate) fn join(&self, key: Hash) -> Place<'_> {
        match self.flights().entry(key) {
            Entry::Occupied(flight) => Place::Later(Follower(flight.get().clone())),
            Entry::Vacant(vacant) => {
                let (sender, receiver) = channel(None);
                vacant.insert(receiver);
                Place::First(Leader {
                    flights: self,
                    key,
                    sender,
                })
            }
        }
    }
}

/// The item that asks. If it ends without an answer, another one asks.
pub(crate) struct Leader<'f> {
    flights: &'f Flights,
    key: Hash,
    sender: Sender<Landed>,
}

impl Leader<'_> {
    /// Gives the answer to the items that wait. A cancellation concerns the leader only.
    pub(crate) fn land(self, result: &Result<Answer, Fault>) {
        let is_cancelled = |fault: &Fault| fault.code == ErrorCode::Cancelled;
        if !result.as_ref().err().is_some_and(is_cancelled) {
            self.sender.send_replace(Some(result.clone()));
        }
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.flights.flights().remove(&self.key);
    }
}

/// An item that waits.
pub(crate) struct Follower(Receiver<Landed>);

impl Follower {
    /// Waits for the answer; `None` if the leader ended without one.
    pub(crate) async fn wait(mut self) -> Landed {
        let landed = self.0.wait_for(Option::is_some).await.ok()?;
        landed.clone()
    }
}
