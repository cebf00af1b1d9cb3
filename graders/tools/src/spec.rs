//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict, VerdictSpec};

use crate::verdict;

/// Name, schema, verdicts, measures.
pub static SPEC: Spec = Spec {
    name: "tools",
    version: 1,
    summary: "are these the expected tool calls?",
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
            meaning: "the calls are the expected ones",
        },
        VerdictSpec {
            verdict: Verdict::PARTIAL,
            pass: Some(false),
            meaning: "some calls match and the task gives partial credit; the evidence has the \
                      reason",
        },
        VerdictSpec {
            verdict: verdict::NO_CALL,
            pass: Some(false),
            meaning: "the completion makes no call although the task expects one",
        },
        VerdictSpec {
            verdict: verdict::MALFORMED_CALL,
            pass: Some(false),
            meaning: "a call violates the syntax of its form; the evidence has the position",
        },
        VerdictSpec {
            verdict: verdict::WRONG_CALL,
            pass: Some(false),
            meaning: "a call is missing, unexpected, different, or violates its schema",
        },
        VerdictSpec {
            verdict: verdict::WRONG_STATE,
            pass: Some(false),
            meaning: "the calls result in a different state",
        },
        VerdictSpec {
            verdict: Verdict::WRONG_ANSWER,
            pass: Some(false),
            meaning: "the calls are correct, but the last message fails its task",
        },
    ],
    measures: &[
        MeasureSpec {
            name: "calls",
            unit: "calls made",
        },
        MeasureSpec {
            name: "malformed",
            unit: "malformed attempts at calls",
        },
        MeasureSpec {
            name: "redundant_calls",
            unit: "repeated calls without a change of state in between",
        },
        MeasureSpec {
            name: "tool_errors",
            unit: "calls that tools rejected",
        },
        MeasureSpec {
            name: "turns",
            unit: "turns of the user; 1 for plain text",
        },
        MeasureSpec {
            name: "void_turns",
            unit: "messages with neither a call nor an answer",
        },
    ],
    deterministic: true,
    reads_context: true,
    max_batch: 1,
    work_unit: "comparisons of calls and changes of the state",
};
