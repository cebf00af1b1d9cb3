//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict};

/// Name, schema and verdicts.
pub static SPEC: Spec = Spec {
    name: "instructions",
    version: 1,
    summary: "does the response follow its instructions?",
    lane: Lane::Cpu,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"instructions","constraints":[{"id":"punctuation:no_comma"},{"id":"length_constraints:number_words","kwargs":{"relation":"at least","num_words":4}},{"name":"ends politely","rule":{"position":{"unit":"sentences","at":-1,"rule":{"contains":"thank you"}}}}]}"#,
    example_completion: "Here is your summary. Thank you!",
    verdicts: &[
        Verdict::CORRECT.passing("every constraint is met"),
        Verdict::PARTIAL.failing("some constraints are met, and the score is their share"),
        VIOLATED.failing("a constraint is not met or, if the score is the share, none is met"),
        Verdict::NO_ANSWER.failing("the response is empty"),
    ],
    measures: &[
        MeasureSpec::new("constraints_met", "constraints"),
        MeasureSpec::new(
            "repeated_share",
            "share of the sequences of three words that occurred before",
        ),
    ],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "bytes of the response, for each constraint",
};

/// A constraint is not met.
pub(crate) const VIOLATED: Verdict = Verdict::new("violated");
