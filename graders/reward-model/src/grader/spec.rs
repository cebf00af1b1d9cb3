//! What the grader says of itself.

use assay_core::{Lane, MeasureSpec, Spec, Verdict, VerdictSpec};

/// Name, schema, verdicts, measures.
pub static SPEC: Spec = Spec {
    name: "reward_model",
    version: 1,
    summary: "how good is it, to a model?",
    lane: Lane::Device,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"reward_model","threshold":0.0}"#,
    example_completion: "The answer is 4.",
    verdicts: &[
        VerdictSpec {
            verdict: Verdict::SCORED,
            pass: None,
            meaning: "the model gave a number, and the task has no threshold",
        },
        VerdictSpec {
            verdict: Verdict::CORRECT,
            pass: Some(true),
            meaning: "the score reaches the threshold; a verifier says so by its label",
        },
        VerdictSpec {
            verdict: Verdict::WRONG_ANSWER,
            pass: Some(false),
            meaning: "the score is below the threshold",
        },
        VerdictSpec {
            verdict: Verdict::NO_ANSWER,
            pass: Some(false),
            meaning: "there is nothing to judge: a model would give a number to an empty text too",
        },
        VerdictSpec {
            verdict: UNREADABLE,
            pass: Some(false),
            meaning: "the model does not read the completion, though it reads others of its task; \
                      the evidence has the reason",
        },
    ],
    measures: &[
        MeasureSpec {
            name: "raw_reward",
            unit: "points of the model's own scale, before any normalisation",
        },
        MeasureSpec {
            name: "reference_reward",
            unit: "points that the reference got, under `relative`",
        },
        MeasureSpec {
            name: "model_tokens",
            unit: "tokens that the model read",
        },
        MeasureSpec {
            name: "reward_steps",
            unit: "steps that a process reward model judged",
        },
    ],
    // A name may stand for another model tomorrow. One version always gives the same, and is cached
    // by version.
    deterministic: false,
    reads_context: true,
    at_once: 256,
    work_unit: "tokens that the model read",
};

/// The model does not read the completion.
pub(super) const UNREADABLE: Verdict = Verdict::new("unreadable");
