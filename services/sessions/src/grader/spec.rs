//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict};

/// Each call returned what the log says.
pub(super) const REPLAYED: Verdict = Verdict::new("replayed");

/// A call returned something else.
pub(super) const DIFFERS: Verdict = Verdict::new("differs");

/// Name, task schema, verdicts and measures of the grader.
pub(super) static SPEC: Spec = Spec {
    name: "session",
    version: 1,
    summary: "do the calls of an interpreter session return what its log says?",
    lane: Lane::Sandbox,
    task_schema: include_str!("task.schema.json"),
    example_task: include_str!("example.json"),
    example_completion: "The product is 42.",
    verdicts: &[
        REPLAYED.passing("each call ended and returned what the log says"),
        DIFFERS.failing(
            "a call ended or returned otherwise in the same image, or its code was changed",
        ),
    ],
    measures: &[
        MeasureSpec::new("calls", "calls of the session"),
        MeasureSpec::new("failed_calls", "calls that did not run to their end"),
        MeasureSpec::new("seconds", "seconds of work of all calls"),
    ],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "instructions",
};
