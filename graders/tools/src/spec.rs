//! What the grader says of itself.

use assay_core::{Lane, MeasureSpec, Spec, Verdict, VerdictSpec};

use crate::verdict;

/// Name, schema, verdicts, measures.
pub static SPEC: Spec = Spec {
    name: "tools",
    version: 1,
    summary: "are the calls of tools the expected ones?",
    lane: Lane::Cpu,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"tools","tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["c","f"],"default":"c"}},"required":["city"],"additionalProperties":false}}}],"expected":[{"name":"weather","arguments":{"city":"Paris"}},{"name":"weather","any_of":{"city":["Rome","Roma"]}}]}"#,
    example_completion: "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \
                         \"Rome\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"weather\", \
                         \"arguments\": {\"city\": \"Paris\", \"unit\": \"c\"}}\n</tool_call>",
    verdicts: &[
        VerdictSpec {
            verdict: Verdict::CORRECT,
            pass: Some(true),
            meaning: "the calls are as the task asks for",
        },
        VerdictSpec {
            verdict: Verdict::PARTIAL,
            pass: Some(false),
            meaning: "some are, and the task scores them; the evidence has the reason",
        },
        VerdictSpec {
            verdict: verdict::NO_CALL,
            pass: Some(false),
            meaning: "the completion calls nothing and attempts nothing, and should",
        },
        VerdictSpec {
            verdict: verdict::MALFORMED_CALL,
            pass: Some(false),
            meaning: "an attempt is not what its form asks for; the evidence says where it breaks",
        },
        VerdictSpec {
            verdict: verdict::WRONG_CALL,
            pass: Some(false),
            meaning: "a call is missing, is another one, breaks its schema, or should not be",
        },
        VerdictSpec {
            verdict: verdict::WRONG_STATE,
            pass: Some(false),
            meaning: "the calls leave another state than the expected one",
        },
        VerdictSpec {
            verdict: Verdict::WRONG_ANSWER,
            pass: Some(false),
            meaning: "the calls are right, and the task of the last message is not passed",
        },
    ],
    measures: &[
        MeasureSpec {
            name: "calls",
            unit: "calls made",
        },
        MeasureSpec {
            name: "malformed",
            unit: "attempts that are no calls",
        },
        MeasureSpec {
            name: "redundant_calls",
            unit: "calls made before, nothing changed since",
        },
        MeasureSpec {
            name: "tool_errors",
            unit: "calls that tools refused",
        },
        MeasureSpec {
            name: "turns",
            unit: "turns of the user, 1 for a text",
        },
        MeasureSpec {
            name: "void_turns",
            unit: "messages without a call and without an answer",
        },
    ],
    deterministic: true,
    reads_context: true,
    at_once: 1,
    work_unit: "comparisons of calls and changes of the state",
};
