//! The specification of the grader.

use assay_core::{Lane, Spec, Verdict};

/// Name, schema and verdicts.
pub static SPEC: Spec = Spec {
    name: "choice",
    version: 1,
    summary: "is this the right option?",
    lane: Lane::Cpu,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"choice","options":["Lyon","Paris","Nice"],"answer":"B"}"#,
    example_completion: "It cannot be (A), so the answer is (B).",
    verdicts: &[
        Verdict::CORRECT.passing("the right options are selected, and no others"),
        Verdict::WRONG_ANSWER.failing("other options are selected, or alternatives are offered"),
        Verdict::NO_ANSWER.failing("the completion does not select an option"),
    ],
    measures: &[],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "bytes",
};
