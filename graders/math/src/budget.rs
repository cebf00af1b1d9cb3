//! Counts the work of comparisons in steps and the memory they write in bytes, and stops them at a
//! limit. Neither depends on time, so a verdict never depends on the load of the machine.
//!
//! A step is about ten nanoseconds of work. Work and bytes are charged before the work is done and
//! before the bytes are written.

use std::cell::Cell;

/// Steps that one comparison may take: about 1.5 ms.
pub const STEPS: u64 = 150_000;

/// Bytes that all comparisons of an answer together may write, freed ones included.
pub const BYTES: u64 = 16 << 20;

/// Comparisons for which the budget of an item is sufficient if each of them takes all of its
/// steps. A task may have more golds than that, and all of them share the budget.
const COMPARISONS: u64 = 4;

/// The work exceeds the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the step budget is exhausted")]
pub struct Exhausted;

/// Numbers of steps and bytes, and how many of them are left.
#[derive(Debug)]
pub struct Budget {
    steps: Count,
    bytes: Count,
}

/// A number, and how much of it is left.
#[derive(Debug)]
struct Count {
    left: Cell<u64>,
    all: u64,
}

impl Count {
    fn new(all: u64) -> Self {
        Self {
            left: Cell::new(all),
            all,
        }
    }

    fn take(&self, taken: u64) -> Result<(), Exhausted> {
        match self.left.get().checked_sub(taken) {
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

    fn used(&self) -> u64 {
        self.all - self.left.get()
    }
}

impl Budget {
    /// A budget of `steps`, and of the bytes of one comparison.
    #[must_use]
    pub fn new(steps: u64) -> Self {
        Self {
            steps: Count::new(steps),
            bytes: Count::new(BYTES),
        }
    }

    /// The same budget with at most `bytes`.
    pub(crate) fn with_bytes(self, bytes: u64) -> Self {
        Self {
            bytes: Count::new(bytes),
            ..self
        }
    }

    /// The budget of all comparisons with `golds` golds.
    pub(crate) fn for_golds(golds: usize) -> Self {
        let golds = u64::try_from(golds).unwrap_or(COMPARISONS);
        Self::new(STEPS * golds.clamp(1, COMPARISONS))
    }

    /// A budget of at most `steps` out of this one. Return it with [`absorb`](Self::absorb).
    pub(crate) fn part(&self, steps: u64) -> Self {
        Self {
            steps: Count::new(steps.min(self.left())),
            bytes: Count::new(self.bytes.left.get()),
        }
    }

    /// A budget in which a step costs `1 / scale` of one in this budget. Return it with
    /// [`absorb_scaled`](Self::absorb_scaled).
    pub(crate) fn scaled(&self, scale: u64) -> Self {
        Self {
            steps: Count::new(self.left().saturating_mul(scale)),
            bytes: Count::new(self.bytes.left.get()),
        }
    }

    /// Takes what a part of this budget used.
    pub(crate) fn absorb(&self, part: &Self) -> Result<(), Exhausted> {
        self.absorb_scaled(part, 1)
    }

    /// Takes what a scaled part of this budget used.
    pub(crate) fn absorb_scaled(&self, part: &Self, scale: u64) -> Result<(), Exhausted> {
        self.bytes.take(part.bytes.used())?;
        self.charge(part.used() / scale)
    }

    /// Takes `steps`; call it before the work is done.
    ///
    /// # Errors
    /// [`Exhausted`] if fewer steps are left. The work must not be done then.
    pub fn charge(&self, steps: u64) -> Result<(), Exhausted> {
        self.steps.take(steps)
    }

    /// Takes `bytes`; call it before the memory is allocated.
    ///
    /// # Errors
    /// [`Exhausted`] if fewer bytes are left, and from then on for every charge. The memory must
    /// not be allocated then.
    pub fn charge_bytes(&self, bytes: u64) -> Result<(), Exhausted> {
        self.bytes
            .take(bytes)
            .inspect_err(|Exhausted| self.steps.left.set(0))
    }

    /// Steps taken so far.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.steps.used()
    }

    /// Bytes taken so far.
    #[must_use]
    pub fn bytes_used(&self) -> u64 {
        self.bytes.used()
    }

    /// Steps that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.steps.left.get()
    }

    /// Whether no steps are left.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.left() == 0
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(STEPS)
    }
}
