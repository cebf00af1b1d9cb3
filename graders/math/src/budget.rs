//! Counts the work of one comparison in steps and stops it at a limit. Steps do not depend on time,
//! so a verdict never depends on the load of the machine.
//!
//! A step is about ten nanoseconds of work. Writing memory counts as work: code that forms a number
//! of `n` limbs charges for them, so the budget also bounds memory.

use std::cell::Cell;

/// Steps that one comparison may take: about 1.5 ms.
pub const STEPS: u64 = 150_000;

/// The work exceeds the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the step budget is exhausted")]
pub struct Exhausted;

/// A number of steps, and how many of them are left.
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

    /// Takes `steps`; call it before the work is done.
    ///
    /// # Errors
    /// [`Exhausted`] if fewer steps are left. The work must not be done then.
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

    /// Whether no steps are left.
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
