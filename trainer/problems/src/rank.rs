//! Ranks: the number of a problem in its family, decomposed into choices as a mixed-radix numeral.

use crate::FamilyError;

/// Maximum number of problems of a family. With this limit, products of operands are below 2^62 and
/// fit an `i64`.
const MOST_PROBLEMS: u64 = 1 << 62;

/// The number of problems, given the number of options of each choice.
///
/// # Errors
/// [`FamilyError::TooMany`].
pub(crate) fn size(choices: impl IntoIterator<Item = u64>) -> Result<u64, FamilyError> {
    let size = choices.into_iter().try_fold(1u64, u64::checked_mul);
    size.filter(|size| *size <= MOST_PROBLEMS)
        .ok_or(FamilyError::TooMany)
}

/// The rest of a rank after some choices were read from it.
#[derive(Debug)]
pub(crate) struct Rank(u64);

impl Rank {
    pub(crate) fn new(rank: u64) -> Self {
        Self(rank)
    }

    /// The next choice among `base` options; 0 if `base` is 0.
    pub(crate) fn below(&mut self, base: u64) -> u64 {
        let digit = self.0.checked_rem(base).unwrap_or_default();
        self.0 = self.0.checked_div(base).unwrap_or_default();
        digit
    }

    /// The next choice as a signed number.
    pub(crate) fn number(&mut self, base: u64) -> i64 {
        i64::try_from(self.below(base)).unwrap_or(i64::MAX)
    }

    /// The next choice as one of the given values.
    pub(crate) fn of<T: Copy, const N: usize>(&mut self, among: &[T; N]) -> T {
        const { assert!(N > 0, "there must be a value to choose") };
        let index = usize::try_from(self.below(N as u64)).unwrap_or_default();
        among[index % N]
    }
}
