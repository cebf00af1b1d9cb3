//! Verdicts of this grader, in addition to those of every grader.

use assay_core::Verdict;

pub(crate) const MALFORMED: Verdict = Verdict::new("malformed");
pub(crate) const INVALID: Verdict = Verdict::new("invalid");
pub(crate) const WRONG_VALUE: Verdict = Verdict::new("wrong_value");
