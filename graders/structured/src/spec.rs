//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict, VerdictSpec};

use crate::verdict;

/// Name, schema, verdicts, measures.
pub static SPEC: Spec = Spec {
    name: "structured",
    version: 1,
    summary: "is the document well formed, valid and equal to the expected one?",
    lane: Lane::Cpu,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"structured","schema":{"type":"object","required":["title","year"],"properties":{"title":{"type":"string"},"year":{"type":"integer"}},"additionalProperties":false},"expected":{"title":"Ran","year":1985}}"#,
    example_completion: "The film is Kurosawa's.\n\n```json\n{\"title\": \"Ran\", \"year\": \
                         1985}\n```\n",
    verdicts: &[
        VerdictSpec {
            verdict: Verdict::CORRECT,
            pass: Some(true),
            meaning: "the document is well formed, valid, and equal to the expected value",
        },
        VerdictSpec {
            verdict: Verdict::PARTIAL,
            pass: Some(false),
            meaning: "not correct, but the task gives partial credit; the evidence has the reason",
        },
        VerdictSpec {
            verdict: verdict::MALFORMED,
            pass: Some(false),
            meaning: "the text is not well formed",
        },
        VerdictSpec {
            verdict: verdict::INVALID,
            pass: Some(false),
            meaning: "the document violates the schema",
        },
        VerdictSpec {
            verdict: verdict::WRONG_VALUE,
            pass: Some(false),
            meaning: "the document satisfies the schema but differs from the expected value",
        },
        VerdictSpec {
            verdict: Verdict::NO_ANSWER,
            pass: Some(false),
            meaning: "the completion has no document",
        },
    ],
    measures: &[
        MeasureSpec {
            name: "bytes",
            unit: "bytes of the document",
        },
        MeasureSpec {
            name: "outside",
            unit: "bytes outside of reasoning and of the document",
        },
    ],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "bytes of the document",
};
