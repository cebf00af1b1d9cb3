//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict};

use crate::verdict;

/// Name, schema, verdicts, measures.
pub static SPEC: Spec = Spec {
    name: "structured",
    version: 2,
    summary: "is the document well formed, valid and equal to the expected one?",
    lane: Lane::Cpu,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"structured","schema":{"type":"object","required":["title","year"],"properties":{"title":{"type":"string"},"year":{"type":"integer"}},"additionalProperties":false},"expected":{"title":"Ran","year":1985}}"#,
    example_completion: "The film is Kurosawa's.\n\n```json\n{\"title\": \"Ran\", \"year\": \
                         1985}\n```\n",
    verdicts: &[
        Verdict::CORRECT
            .passing("the document is well formed, valid, and equal to the expected value"),
        Verdict::PARTIAL
            .failing("not correct, but the task gives partial credit; the evidence has the reason"),
        verdict::MALFORMED.failing("the text is not well formed"),
        verdict::INVALID.failing("the document violates the schema"),
        verdict::WRONG_VALUE
            .failing("the document satisfies the schema but differs from the expected value"),
        Verdict::NO_ANSWER.failing("the completion has no document"),
    ],
    measures: &[
        MeasureSpec::new("bytes", "bytes of the document"),
        MeasureSpec::new("outside", "bytes outside of reasoning and of the document"),
    ],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "bytes of the document",
};
