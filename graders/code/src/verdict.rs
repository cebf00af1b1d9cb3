//! Verdicts of this grader, in addition to those that all graders share.

use assay_core::Verdict;

pub(crate) const ACCEPTED: Verdict = Verdict::new("accepted");
pub(crate) const PRESENTATION: Verdict = Verdict::new("presentation");
pub(crate) const TIME_LIMIT: Verdict = Verdict::new("time_limit");
pub(crate) const MEMORY_LIMIT: Verdict = Verdict::new("memory_limit");
pub(crate) const OUTPUT_LIMIT: Verdict = Verdict::new("output_limit");
pub(crate) const RUNTIME_ERROR: Verdict = Verdict::new("runtime_error");
pub(crate) const COMPILE_ERROR: Verdict = Verdict::new("compile_error");
pub(crate) const NO_CODE: Verdict = Verdict::new("no_code");
