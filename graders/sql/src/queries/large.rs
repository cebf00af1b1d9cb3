//! Turns for large results: of those, few may be in memory at once.

use std::sync::Arc;

use assay_cell::MAX_FRAME;
use assay_cell::query::{Limits, RUN_OVERHEAD};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::task::MOST_RESULT_BYTES;

/// Calls that may ask for large results at once, over all tasks.
const AT_ONCE: usize = 2;

/// Bytes of results that a reply may carry to any call.
const SMALL: u64 = 8 << 20;

/// One result of the largest size fits into a frame, whatever is written around it.
const _: () = assert!(MOST_RESULT_BYTES + RUN_OVERHEAD + (1 << 20) < MAX_FRAME as u64);

/// Hands out turns. Cheap to clone.
#[derive(Clone)]
pub(super) struct Turns(Arc<Semaphore>);

impl Turns {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }

    /// For one call, which has no turn yet.
    pub(super) fn call(&self) -> Large {
        Large { turns: Arc::clone(&self.0), turn: None }
    }
}

/// Whether a call may ask for large results. It waits for its turn once, when it first needs one, and keeps it to its end. It does
/// not wait while a cell works for it, and who has a turn waits for cells only, so all calls come to an end.
pub(crate) struct Large {
    turns: Arc<Semaphore>,
    turn: Option<OwnedSemaphorePermit>,
}

impl Large {
    /// Bytes of results that a reply may carry.
    pub(super) fn room(&self, limits: Limits) -> u64 {
        if self.turn.is_some() { SMALL.max(limits.bytes + RUN_OVERHEAD) } else { SMALL }
    }

    /// Waits for a turn; whether the call had none before.
    pub(super) async fn take(&mut self) -> bool {
        if self.turn.is_some() {
            return false;
        }
        // Nobody closes the semaphore.
        self.turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        self.turn.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    const LIMITS: Limits = Limits { rows: 1, bytes: MOST_RESULT_BYTES, memory_bytes: 1, long_values: false };

    /// Whether a turn is there at once.
    fn takes(large: &mut Large) -> Option<bool> {
        let mut taking = std::pin::pin!(large.take());
        match taking.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(taken) => Some(taken),
            Poll::Pending => None,
        }
    }

    #[test]
    fn few_calls_have_a_turn_and_each_has_one() {
        let turns = Turns::new();
        let mut calls: Vec<Large> = (0..=AT_ONCE).map(|_| turns.call()).collect();
        let (waiting, holding) = calls.split_last_mut().unwrap();
        for large in holding.iter_mut() {
            assert_eq!(large.room(LIMITS), SMALL);
            assert_eq!((takes(large), takes(large)), (Some(true), Some(false)));
            assert_eq!(large.room(LIMITS), MOST_RESULT_BYTES + RUN_OVERHEAD);
        }
        assert_eq!(takes(waiting), None);
        drop(calls.remove(0));
        assert_eq!(calls.last_mut().and_then(takes), Some(true));
    }

    #[test]
    fn a_turn_takes_no_room_away() {
        let turns = Turns::new();
        let mut large = turns.call();
        takes(&mut large).unwrap();
        assert_eq!(large.room(Limits { bytes: 1, ..LIMITS }), SMALL);
    }
}
