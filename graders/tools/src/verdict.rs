//! Verdicts of this grader, in addition to those of every grader.

use assay_core::Verdict;

/// The completion makes no call and no attempt, although the task expects a call.
pub(crate) const NO_CALL: Verdict = Verdict::new("no_call");
/// An attempt violates the syntax of its form.
pub(crate) const MALFORMED_CALL: Verdict = Verdict::new("malformed_call");
/// The calls do not match the expected ones.
pub(crate) const WRONG_CALL: Verdict = Verdict::new("wrong_call");
/// The calls result in a state other than the expected one.
pub(crate) const WRONG_STATE: Verdict = Verdict::new("wrong_state");
