//! Verdicts of this grader, in addition to those of every grader.

use assay_core::Verdict;

/// The text is not well formed.
pub(crate) const MALFORMED: Verdict = Verdict::new("malformed");
/// The document violates the schema.
pub(crate) const INVALID: Verdict = Verdict::new("invalid");
/// The document satisfies the schema but differs from the expected value.
pub(crate) const WRONG_VALUE: Verdict = Verdict::new("wrong_value");
