//! Verdicts of this grader alone.

use assay_core::Verdict;

/// The completion calls nothing and attempts nothing, and should.
pub(crate) const NO_CALL: Verdict = Verdict::new("no_call");
/// An attempt violates the syntax of its form.
pub(crate) const MALFORMED_CALL: Verdict = Verdict::new("malformed_call");
/// Other calls than the expected ones.
pub(crate) const WRONG_CALL: Verdict = Verdict::new("wrong_call");
/// The calls leave another state than the expected one.
pub(crate) const WRONG_STATE: Verdict = Verdict::new("wrong_state");
