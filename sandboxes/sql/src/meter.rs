//! Counts the steps of a statement, and interrupts it when it exceeds its budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use rusqlite::{Connection, Result};

/// Instructions between two calls of the progress handler.
const TICK: u64 = 100;

/// Characters that a function may read for one step, which costs about as much as an instruction.
const CHARACTERS_PER_STEP: u64 = 16;

/// Counts the steps of the current statement. Shared by the hooks and functions of a connection,
/// all on one thread.
#[derive(Clone, Default)]
pub(crate) struct Meter(Arc<Counts>);

#[derive(Default)]
struct Counts {
    budget: AtomicU64,
    /// Instructions executed so far, in whole ticks.
    ticked: AtomicU64,
    /// Steps that functions charged in addition to instructions.
    charged: AtomicU64,
    /// Maximum length of a value that the statement may produce, in bytes.
    max_value_bytes: AtomicUsize,
}

/// The statement exceeded its budget of steps.
pub(crate) struct BudgetExceeded;

impl Meter {
    /// Counts the instructions of a connection, and interrupts it when the budget is exceeded.
    pub(crate) fn attach(&self, connection: &mut Connection) -> Result<()> {
        let meter = self.clone();
        let tick = i32::try_from(TICK).unwrap_or(i32::MAX);
        connection.progress_handler(tick, Some(move || meter.tick()))
    }

    /// Resets the counts for a new statement with a budget of steps.
    pub(crate) fn begin(&self, budget: u64) {
        self.0.budget.store(budget, Relaxed);
        self.0.ticked.store(0, Relaxed);
        self.0.charged.store(0, Relaxed);
    }

    /// Sets the maximum length of a value, in bytes.
    pub(crate) fn set_max_value_bytes(&self, max_value_bytes: usize) {
        self.0.max_value_bytes.store(max_value_bytes, Relaxed);
    }

    /// Maximum length of a value that the statement may produce, in bytes.
    pub(crate) fn max_value_bytes(&self) -> usize {
        self.0.max_value_bytes.load(Relaxed)
    }

    /// Counts a tick; returns whether to stop.
    fn tick(&self) -> bool {
        self.0.ticked.fetch_add(TICK, Relaxed);
        self.is_exceeded()
    }

    /// Charges a function for reading this many characters.
    pub(crate) fn charge(&self, characters: usize) -> Result<(), BudgetExceeded> {
        self.0
            .charged
            .fetch_add(characters as u64 / CHARACTERS_PER_STEP, Relaxed);
        if self.is_exceeded() {
            Err(BudgetExceeded)
        } else {
            Ok(())
        }
    }

    /// Characters that a function may read before the budget is exceeded.
    pub(crate) fn remaining_characters(&self) -> usize {
        let used = self.0.ticked.load(Relaxed).saturating_add(self.charged());
        let steps = self
            .0
            .budget
            .load(Relaxed)
            .saturating_sub(used)
            .saturating_add(1);
        usize::try_from(steps.saturating_mul(CHARACTERS_PER_STEP)).unwrap_or(usize::MAX)
    }

    /// Steps that functions charged in addition to instructions.
    pub(crate) fn charged(&self) -> u64 {
        self.0.charged.load(Relaxed)
    }

    /// The budget of the statement.
    pub(crate) fn budget(&self) -> u64 {
        self.0.budget.load(Relaxed)
    }

    fn is_exceeded(&self) -> bool {
        self.0.ticked.load(Relaxed).saturating_add(self.charged()) > self.budget()
    }
}
