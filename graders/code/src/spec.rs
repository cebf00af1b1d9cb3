//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, VerdictSpec};

use crate::verdict;

/// Name, schema, verdicts, measures.
pub static SPEC: Spec = Spec {
    name: "code",
    version: 2,
    summary: "does the program pass the tests?",
    lane: Lane::Sandbox,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"code","language":"python","tests":[{"stdin":"2 3\n","stdout":"5\n"},{"stdin":"12 -5\n","stdout":"7\n"}]}"#,
    example_completion: "Read both numbers and add them.\n\n```python\na, b = map(int, \
                         input().split())\nprint(a + b)\n```\n",
    verdicts: &[
        VerdictSpec {
            verdict: verdict::ACCEPTED,
            pass: Some(true),
            meaning: "every test passes",
        },
        VerdictSpec {
            verdict: assay_core::Verdict::PARTIAL,
            pass: Some(false),
            meaning: "some tests or groups pass, and the task scores them",
        },
        VerdictSpec {
            verdict: assay_core::Verdict::WRONG_ANSWER,
            pass: Some(false),
            meaning: "the first failing test gave a different result, or exited early with \
                      status 0",
        },
        VerdictSpec {
            verdict: verdict::PRESENTATION,
            pass: Some(false),
            meaning: "a checker program found the answer correct and its form wrong",
        },
        VerdictSpec {
            verdict: verdict::TIME_LIMIT,
            pass: Some(false),
            meaning: "the first failing test used up its work",
        },
        VerdictSpec {
            verdict: verdict::MEMORY_LIMIT,
            pass: Some(false),
            meaning: "the first failing test requested more memory than allowed",
        },
        VerdictSpec {
            verdict: verdict::OUTPUT_LIMIT,
            pass: Some(false),
            meaning: "the first failing test wrote or returned more than allowed",
        },
        VerdictSpec {
            verdict: verdict::RUNTIME_ERROR,
            pass: Some(false),
            meaning: "the first failing test ended with an exception, a trap or a status other \
                      than 0",
        },
        VerdictSpec {
            verdict: verdict::COMPILE_ERROR,
            pass: Some(false),
            meaning: "the program does not compile",
        },
        VerdictSpec {
            verdict: verdict::NO_CODE,
            pass: Some(false),
            meaning: "the completion contains no program",
        },
    ],
    measures: &[
        MeasureSpec {
            name: "tests_passed",
            unit: "tests",
        },
        MeasureSpec {
            name: "work",
            unit: "units of work, maximum over the tests",
        },
        MeasureSpec {
            name: "memory",
            unit: "bytes, maximum over the tests",
        },
        MeasureSpec {
            name: "efficiency",
            unit: "work of the reference divided by that of the program, over all tests",
        },
    ],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "units of wasm fuel",
};
