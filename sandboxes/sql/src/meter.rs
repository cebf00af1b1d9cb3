//! Counts the work of a statement, and interrupts it at its limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use rusqlite::{Connection, Result};

/// Instructions between two calls of the progress handler.
const TICK: u64 = 100;

/// Characters that a function may read for one step: about the cost of an instruction.
const CHARACTERS: u64 = 16;

/// The steps of the statement that runs. Shared by the connection's hooks and functions, all on one
/// thread.
#[derive(Clone, Default)]
pub(crate) struct Meter(Arc<Counts>);

#[derive(Default)]
struct Counts {
    budget: AtomicU64,
    /// Instructions seen so far, in whole ticks.
    ticked: AtomicU64,
    /// Steps that functions charged in addition to instructions.
    charged: AtomicU64,
    /// Longest value that the statement may produce, in bytes.
    longest: AtomicUsize,
}

/// The steps are used up.
pub(crate) struct Spent;

impl Meter {
    /// Counts the instructions of a connection, and interrupts it when the budget is spent.
    pub(crate) fn watch(&self, connection: &mut Connection) -> Result<()> {
        let meter = self.clone();
        let tick = i32::try_from(TICK).unwrap_or(i32::MAX);
        connection.progress_handler(tick, Some(move || meter.tick()))
    }

    /// Begins a statement.
    pub(crate) fn begin(&self, budget: u64) {
        self.0.budget.store(budget, Relaxed);
        self.0.ticked.store(0, Relaxed);
        self.0.charged.store(0, Relaxed);
    }

    /// Sets the longest value.
    pub(crate) fn allow(&self, longest: usize) {
        self.0.longest.store(longest, Relaxed);
    }

    /// Longest value that the statement may produce, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.0.longest.load(Relaxed)
    }

    /// Counts a tick; returns whether to stop.
    fn tick(&self) -> bool {
        self.0.ticked.fetch_add(TICK, Relaxed);
        self.is_spent()
    }

    /// Charges a function for reading this many characters.
    pub(crate) fn charge(&self, characters: usize) -> Result<(), Spent> {
        self.0
            .charged
            .fetch_add(characters as u64 / CHARACTERS, Relaxed);
        if self.is_spent() { Err(Spent) } else { Ok(()) }
    }

    /// Characters that a function may read before the budget is spent.
    pub(crate) fn left(&self) -> usize {
        let taken = self.0.ticked.load(Relaxed).saturating_add(self.charged());
        let steps = self
            .0
            .budget
            .load(Relaxed)
            .saturating_sub(taken)
            .saturating_add(1);
        usize::try_from(steps.saturating_mul(CHARACTERS)).unwrap_or(usize::MAX)
    }

    /// Steps that functions charged in addition to instructions.
    pub(crate) fn charged(&self) -> u64 {
        self.0.charged.load(Relaxed)
    }

    /// The budget of the statement.
    pub(crate) fn budget(&self) -> u64 {
        self.0.budget.load(Relaxed)
    }

    fn is_spent(&self) -> bool {
        self.0.ticked.load(Relaxed).saturating_add(self.charged()) > self.budget()
    }
}
