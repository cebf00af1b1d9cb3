//! Counts the work of one comparison in steps and says when it is too much. Knows nothing of
//! clocks: a verdict never depends on the load of the machine.
//!
//! A step is about ten nanoseconds of work. Memory is work: whoever makes a number of `n` words
//! charges for writing them, so a budget also bounds what is held.

use std::cell::Cell;

/// Steps one comparison may take: about a millisecond and a half.
pub const STEPS: u64 = 150_000;

/// The work is more than the budget allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the step budget is exhausted")]
pub struct Exhausted;

/// What is left of the steps.
#[derive(Debug)]
pub struct Budget {
    left: Cell<u64>,
    all: u64,
}

impl Budget {
    /// A budget of `steps`.
    #[must_use]
    pub fn new(steps: u64) -> Self {
        Self {
            left: Cell::new(steps),
            all: steps,
        }
    }

    /// Takes `steps` before the work is done.
    ///
    /// # Errors
    /// [`Exhausted`] when fewer are left; nothing may be done then.
    pub fn charge(&self, steps: u64) -> Result<(), Exhausted> {
        match self.left.get().checked_sub(steps) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.left.set(0);
                Err(Exhausted)
            }
        }
    }

    /// Steps taken so far.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.all - self.left.get()
    }

    /// Steps that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(STEPS)
    }
}
