//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict};

/// Name, schema and verdicts.
pub static SPEC: Spec = Spec {
    name: "rubric",
    version: 1,
    summary: "does the completion meet the criteria?",
    lane: Lane::Cpu,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"rubric","criteria":[{"name":"right","task":{"type":"math","answer":"4"},"points":3},{"name":"boxed","task":{"type":"text","answer":"boxed","match":"contains"}}]}"#,
    example_completion: "The answer is \\boxed{4}.",
    verdicts: &[
        Verdict::CORRECT.passing("the score is at least the threshold, and no veto applies"),
        Verdict::PARTIAL.failing("the score is above 0 and below the threshold"),
        Verdict::WRONG_ANSWER.failing("the score is 0"),
        VETOED.failing("a criterion with a veto is not met"),
    ],
    measures: &[
        MeasureSpec::new("criteria_met", "criteria"),
        MeasureSpec::new("criteria_graded", "criteria"),
        MeasureSpec::new(
            "points_share",
            "shares of the points, before limits and vetoes",
        ),
        MeasureSpec::new("judge_calls", "calls, if criteria ask judges"),
        MeasureSpec::new("judge_tokens", "tokens that judges read and wrote"),
        MeasureSpec::new("judge_cost", "units of the prices of the judges"),
    ],
    // Results are cached if all criteria were graded deterministically.
    deterministic: true,
    reads_context: true,
    max_batch: 1,
    work_unit: "units of work of the criteria",
};

/// A criterion with a veto is not met.
pub(crate) const VETOED: Verdict = Verdict::new("vetoed");
