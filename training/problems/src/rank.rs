//! The number of a problem among those of its family, taken apart into its choices: a numeral whose
//! digits have bases of their own.

use crate::FamilyError;

/// Most problems of a family. The operands of that many have products below 2^62, which an `i64`
/// holds.
const MOST_PROBLEMS: u64 = 1 << 62;

/// How many problems there are, for the numbers of their choices.
///
/// # Errors
/// [`FamilyError::TooMany`].
pub(crate) fn size(choices: impl IntoIterator<Item = u64>) -> Result<u64, FamilyError> {
    let size = choices.into_iter().try_fold(1u64, u64::checked_mul);
    size.filter(|size| *size <= MOST_PROBLEMS)
        .ok_or(FamilyError::TooMany)
}

/// What is left of a rank after some choices were read from it.
#[derive(Debug)]
pub(crate) struct Rank(u64);

impl Rank {
    pub(crate) fn new(rank: u64) -> Self {
        Self(rank)
    }

    /// The next choice among `base`, 0 of none.
    pub(crate) fn below(&mut self, base: u64) -> u64 {
        let digit = self.0.checked_rem(base).unwrap_or_default();
        self.0 = self.0.checked_div(base).unwrap_or_default();
        digit
    }

    /// The next choice as a number of an arithmetic problem.
    pub(crate) fn number(&mut self, base: u64) -> i64 {
        i64::try_from(self.below(base)).unwrap_or(i64::MAX)
    }

    /// The next choice as one of these.
    pub(crate) fn of<T: Copy, const N: usize>(&mut self, among: &[T; N]) -> T {
        const { assert!(N > 0, "there is something to choose from") };
        let at = usize::try_from(self.below(N as u64)).unwrap_or_default();
        among[at % N]
    }
}
