//! Specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict};

/// Name, task schema, verdicts and measures.
pub static SPEC: Spec = Spec {
    name: "reward_model",
    version: 2,
    summary: "how does a reward model score the completion?",
    lane: Lane::Device,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"reward_model","threshold":0.0}"#,
    example_completion: "The answer is 4.",
    verdicts: &[
        Verdict::SCORED.described(
            None,
            "the model returned a score, and the task has no threshold",
        ),
        Verdict::CORRECT.passing(
            "the score is at least the threshold (by default 0.5 for verifiers that \
             answer with a label)",
        ),
        Verdict::WRONG_ANSWER.failing("the score is below the threshold"),
        Verdict::NO_ANSWER.failing(
            "the completion is empty; it is not sent to the model, which would score even \
             an empty text",
        ),
        UNREADABLE.failing(
            "the model cannot read this completion, but can read others of the task; the \
             evidence contains the reason",
        ),
    ],
    measures: &[
        MeasureSpec::new(
            "raw_reward",
            "points on the scale of the model, before normalisation",
        ),
        MeasureSpec::new(
            "reference_reward",
            "points of the reference, with `relative` normalisation",
        ),
        MeasureSpec::new("model_tokens", "tokens that the model read"),
        MeasureSpec::new("reward_steps", "steps scored by a process reward model"),
    ],
    // A name can be assigned to another model. A given version is deterministic, and results are
    // cached by version.
    deterministic: false,
    reads_context: true,
    max_batch: 256,
    work_unit: "tokens that the model read",
};

/// The model cannot read the completion.
pub(super) const UNREADABLE: Verdict = Verdict::new("unreadable");
