//! The specification of the grader.

use assay_core::{Lane, Spec, Verdict, VerdictSpec};

/// Name, schema and verdicts.
pub static SPEC: Spec = Spec {
    name: "math",
    version: 2,
    summary: "is the answer equivalent to the gold?",
    lane: Lane::Cpu,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"math","answer":"\\frac{\\sqrt{3}}{3}"}"#,
    example_completion: r"Rationalising, the answer is \boxed{1/\sqrt{3}}.",
    verdicts: &[
        VerdictSpec {
            verdict: Verdict::CORRECT,
            pass: Some(true),
            meaning: "the answer is equivalent to a gold",
        },
        VerdictSpec {
            verdict: Verdict::WRONG_ANSWER,
            pass: Some(false),
            meaning: "the answer is not equivalent to any gold, cannot be read, or needs more \
                      work than the step budget",
        },
        VerdictSpec {
            verdict: Verdict::NO_ANSWER,
            pass: Some(false),
            meaning: "the completion does not contain an answer",
        },
        VerdictSpec {
            verdict: Verdict::UNLABELLED,
            pass: None,
            meaning: "the task has no gold",
        },
    ],
    measures: &[],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "algebra steps",
};
