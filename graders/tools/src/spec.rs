//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict};

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
        Verdict::CORRECT.passing("the calls are the expected ones"),
        Verdict::PARTIAL.failing(
            "some calls match and the task gives partial credit; the evidence has the \
             reason",
        ),
        verdict::NO_CALL.failing("the completion makes no call although the task expects one"),
        verdict::MALFORMED_CALL
            .failing("a call violates the syntax of its form; the evidence has the position"),
        verdict::WRONG_CALL
            .failing("a call is missing, unexpected, different, or violates its schema"),
        verdict::WRONG_STATE.failing("the calls result in a different state"),
        Verdict::WRONG_ANSWER.failing("the calls are correct, but the last message fails its task"),
    ],
    measures: &[
        MeasureSpec::new("calls", "calls made"),
        MeasureSpec::new("malformed", "malformed attempts at calls"),
        MeasureSpec::new(
            "redundant_calls",
            "repeated calls without a change of state in between",
        ),
        MeasureSpec::new("tool_errors", "calls that tools rejected"),
        MeasureSpec::new("turns", "turns of the user; 1 for plain text"),
        MeasureSpec::new("void_turns", "messages with neither a call nor an answer"),
    ],
    deterministic: true,
    reads_context: true,
    max_batch: 1,
    work_unit: "comparisons of calls and changes of the state",
};
