//! The result of a checker.

use super::Difference;

/// The result of a checker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CheckerResult {
    Correct,
    Wrong(Option<Difference>),
    /// Correct except for its form. Only checker programs return this.
    Presentation,
}
