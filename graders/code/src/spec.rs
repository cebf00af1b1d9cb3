//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec};

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
        verdict::ACCEPTED.passing("every test passes"),
        assay_core::Verdict::PARTIAL.failing("some tests or groups pass, and the task scores them"),
        assay_core::Verdict::WRONG_ANSWER.failing(
            "the first failing test gave a different result, or exited early with \
             status 0",
        ),
        verdict::PRESENTATION
            .failing("a checker program found the answer correct and its form wrong"),
        verdict::TIME_LIMIT.failing("the first failing test used up its work"),
        verdict::MEMORY_LIMIT.failing("the first failing test requested more memory than allowed"),
        verdict::OUTPUT_LIMIT.failing("the first failing test wrote or returned more than allowed"),
        verdict::RUNTIME_ERROR.failing(
            "the first failing test ended with an exception, a trap or a status other \
             than 0",
        ),
        verdict::COMPILE_ERROR.failing("the program does not compile"),
        verdict::NO_CODE.failing("the completion contains no program"),
    ],
    measures: &[
        MeasureSpec::new("tests_passed", "tests"),
        MeasureSpec::new("work", "units of work, maximum over the tests"),
        MeasureSpec::new("memory", "bytes, maximum over the tests"),
        MeasureSpec::new(
            "efficiency",
            "work of the reference divided by that of the program, over all tests",
        ),
    ],
    deterministic: true,
    reads_context: false,
    max_batch: 1,
    work_unit: "units of wasm fuel",
};
