//! The rule that generates the problems of a family.

use std::collections::BTreeSet;

use crate::problem::Problem;

/// The definition of a family. Its problems are numbered by ranks from 0 to its size - 1.
pub(crate) trait Rule {
    /// The number of distinct problems.
    fn size(&self) -> u64;

    /// A text that is equal for problems that must be in the same part of the split.
    fn canonical(&self, rank: u64) -> String;

    /// The problem of a rank.
    fn problem(&self, rank: u64) -> Problem;

    /// All characters of prompts and solutions.
    fn alphabet(&self) -> BTreeSet<char>;
}
