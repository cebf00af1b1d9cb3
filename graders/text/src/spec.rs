//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict};

/// Name, schema and verdicts.
pub static SPEC: Spec = Spec {
    name: "text",
    version: 3,
    summary: "does the text match?",
    lane: Lane::Cpu,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"text","answer":"Paris","match":"normalised","extract":"auto"}"#,
    example_completion: "The answer is paris.",
    verdicts: &[
        Verdict::CORRECT.passing("the text matches the golds"),
        Verdict::PARTIAL.failing("the text matches in part, and the score says how much"),
        Verdict::WRONG_ANSWER.failing("the text does not match the golds"),
        Verdict::NO_ANSWER.failing("the completion does not contain an answer"),
        Verdict::UNLABELLED.described(None, "the task has no gold"),
    ],
    measures: &[MeasureSpec::new("f1", "F1 of the tokens, for `squad`")],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "bytes",
};
