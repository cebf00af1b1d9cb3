//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict};

/// Name, schema and verdicts.
pub static SPEC: Spec = Spec {
    name: "external",
    version: 1,
    summary: "what does a judge of the operator say?",
    lane: Lane::Remote,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"external","judge":"helpful","threshold":0.7}"#,
    example_completion: "Restart the router, then check whether its light is green.",
    verdicts: &[
        Verdict::CORRECT.passing("the score is at least the threshold"),
        Verdict::WRONG_ANSWER.failing("the score is below the threshold"),
        Verdict::SCORED.described(
            None,
            "the judge returned a score, and there is no threshold",
        ),
        Verdict::NO_ANSWER.failing("the completion is empty; the judge is not asked"),
    ],
    measures: &[
        MeasureSpec::new("judge_calls", "calls"),
        MeasureSpec::new("judge_tokens", "tokens that judges read and wrote"),
        MeasureSpec::new("judge_cost", "units of the prices of the judges"),
        MeasureSpec::new(
            "disagreement",
            "points between the lowest and the highest score of several judges",
        ),
        MeasureSpec::new(
            "order_changed",
            "pairs of which the other completion is preferred in the other order",
        ),
    ],
    deterministic: false,
    reads_context: true,
    // Each item waits for its own call.
    max_batch: 1,
    work_unit: "tokens that judges read and wrote",
};
