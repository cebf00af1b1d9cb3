//! The evidence of a grade, which explains its verdict.

use assay_core::Evidence;
use assay_worker::program::ImageInfo;
use serde_json::{Map, Value, json};

use crate::checker::Difference;
use crate::driver_evidence::{Call, DriverEvidence, Limit, MAX_SHOWN};
use crate::extract::Candidate;
use crate::program_run::ProgramEnd;
use crate::result::{Failure, TestResult};
use crate::task::Test;
use crate::traceback;
use crate::verdict;
use crate::visible_text::VisibleText;

/// Most listed test results: as many as a task may have. Each takes about 35 bytes of JSON.
const MAX_LISTED: usize = 10_000;

/// A program and the completion that contains it.
pub(crate) struct LocatedProgram<'a> {
    pub(crate) candidate: &'a Candidate,
    pub(crate) completion: &'a VisibleText<'a>,
}

impl LocatedProgram<'_> {
    /// Converts lines of the program to lines of the completion.
    fn lines(&self, numbers: &[usize]) -> Vec<usize> {
        self.completion.lines(&self.candidate.span, numbers)
    }
}

/// The evidence that does not depend on the tests.
pub(crate) fn of_program(program: &LocatedProgram<'_>, image: &ImageInfo) -> Evidence {
    let LocatedProgram {
        candidate,
        completion,
    } = program;
    let span = completion.span(&candidate.span);
    Evidence::new()
        .text("program", &candidate.text)
        .value("span", vec![span.start as u64, span.end as u64])
        .value("first_line", completion.line(candidate.span.start))
        .text("extraction", candidate.rule.as_str())
        .text("language", &image.version)
        .text("image", &image.hash)
        .text("image_name", &image.name)
}

/// Adds the message of the compiler, and the limit of the sandbox that caused it, if known.
pub(crate) fn with_compile_error(
    evidence: Evidence,
    program: &LocatedProgram<'_>,
    message: &str,
    limit: Option<&Limit>,
) -> Evidence {
    let mut lines = traceback::lines(message);
    if lines.is_empty() {
        lines = traceback::lines_of_diagnostics(message);
    }
    let lines = program.lines(&lines);
    let mut evidence = evidence.text("message", message);
    if let Some(limit) = limit {
        evidence = evidence.value("limit", limit_fields(limit));
    }
    if lines.is_empty() {
        evidence
    } else {
        evidence.value("lines", lines)
    }
}

fn limit_fields(Limit { cause, name }: &Limit) -> Value {
    json!({"cause": cause, "name": name})
}

/// Adds the tests: verdict, work and memory of each that was run, and the details of the first
/// failure.
pub(crate) fn with_tests(
    evidence: Evidence,
    program: &LocatedProgram<'_>,
    tests: &[Test],
    results: &[TestResult],
) -> Evidence {
    let listed = results
        .iter()
        .take(MAX_LISTED)
        .map(|result| json!([result.verdict.as_str(), result.work, result.memory_bytes]));
    let evidence = evidence
        .value("tests", tests.len())
        .value("tests_run", results.len())
        .value("results", listed.collect::<Vec<_>>());
    let failed = results
        .iter()
        .enumerate()
        .find(|(_, result)| result.verdict != verdict::ACCEPTED);
    match failed {
        Some((index, result)) => evidence.value(
            "first_failure",
            failed_test(index, program, tests.get(index), result),
        ),
        None => evidence,
    }
}

fn failed_test(
    index: usize,
    program: &LocatedProgram<'_>,
    test: Option<&Test>,
    result: &TestResult,
) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut add = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    add("test", index.into());
    add("verdict", result.verdict.as_str().into());
    match test {
        Some(Test::Stdin { input, expected }) => {
            add("stdin", head(input).into());
            add("expected", tail(expected.as_bytes()).into());
        }
        Some(Test::Call {
            function,
            args,
            kwargs,
            expected,
            unordered,
        }) => {
            let kwargs = if kwargs == "{}" {
                String::new()
            } else {
                format!(", **{}", head(kwargs))
            };
            add(
                "call",
                format!("{function}(*{}{kwargs})", head(args)).into(),
            );
            add("expected", head(&crate::value::shown(expected)).into());
            if *unordered {
                add("unordered", true.into());
            }
        }
        Some(Test::Assert { text, pytest, .. }) => {
            add(if *pytest { "pytest" } else { "assert" }, head(text).into());
        }
        None => {}
    }
    let Some(failure) = result.failure.as_deref() else {
        return fields;
    };
    let Failure {
        end,
        driver_evidence,
        lines,
        stdout,
        stderr,
        difference,
        got,
    } = failure;
    if let Some(Difference {
        line,
        expected,
        got,
    }) = difference
    {
        add(
            "difference",
            json!({"line": line, "expected": expected, "got": got}),
        );
    }
    if let Some(got) = got {
        add("got", head(got).into());
    }
    match end {
        ProgramEnd::Raised(message) | ProgramEnd::TestFailed(message) => {
            add("message", tail(message.as_bytes()).into());
        }
        ProgramEnd::Exited(status) => {
            add("status", (*status).into());
        }
        _ => {}
    }
    let lines = program.lines(lines);
    if !lines.is_empty() {
        add("lines", lines.into());
    }
    if let Some(driver_evidence) = driver_evidence {
        add_driver_evidence(driver_evidence, &mut add);
    }
    for (name, output) in [("stdout", stdout), ("stderr", stderr)] {
        if !output.is_empty() {
            add(name, tail(output).into());
        }
    }
    fields
}

/// Adds the driver's evidence: the line of the test and its values, the last calls, the limit of
/// the sandbox.
fn add_driver_evidence(evidence: &DriverEvidence, add: &mut impl FnMut(&str, Value)) {
    let DriverEvidence {
        file,
        line,
        source,
        operator,
        left,
        right,
        calls,
        limit,
    } = evidence;
    if let Some(line) = line {
        add("line", (*line).into());
    }
    let texts = [
        ("file", file),
        ("source", source),
        ("operator", operator),
        ("left", left),
        ("right", right),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            add(name, text.as_str().into());
        }
    }
    if !calls.is_empty() {
        add("calls", calls.iter().map(call).collect());
    }
    if let Some(limit) = &limit {
        add("limit", limit_fields(limit));
    }
}

fn call(call: &Call) -> Value {
    let Call {
        call,
        returned,
        raised,
    } = call;
    let mut fields = Map::new();
    fields.insert("call".to_owned(), call.as_str().into());
    for (name, text) in [("returned", returned), ("raised", raised)] {
        if let Some(text) = text {
            fields.insert(name.to_owned(), text.as_str().into());
        }
    }
    fields.into()
}

/// The beginning of a text.
fn head(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The end of an output, with invalid UTF-8 replaced.
fn tail(output: &[u8]) -> String {
    let end = &output[output.len().saturating_sub(MAX_SHOWN)..];
    let ellipsis = if end.len() < output.len() { "…" } else { "" };
    format!("{ellipsis}{}", String::from_utf8_lossy(end))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_core::Verdict;

    use super::*;
    use crate::extract::candidates;
    use crate::program_run::ProgramRun;
    use crate::programs::Attempt;

    const COMPLETION: &str = "It is:\n```python\ndef f():\n    return 1 / 0\n```\n";

    fn result_with(
        verdict: Verdict,
        end: ProgramEnd,
        stdout: &str,
        driver_evidence: Option<&str>,
    ) -> TestResult {
        let run = ProgramRun {
            end,
            driver_evidence: driver_evidence.map(str::to_owned),
            stdout: stdout.into(),
            stderr: Vec::new(),
            work: 1_000_000,
            memory_bytes: 80 << 20,
            files: Vec::new(),
        };
        TestResult::of(
            verdict,
            &Attempt {
                run: Arc::new(run),
                deterministic: true,
            },
            None,
            None,
        )
    }

    fn result(verdict: Verdict, end: ProgramEnd, stdout: &str) -> TestResult {
        result_with(verdict, end, stdout, None)
    }

    /// The evidence about these results of the program in [`COMPLETION`].
    fn evidence(tests: &[Test], results: &[TestResult]) -> Evidence {
        let completion = VisibleText::of(COMPLETION, false);
        let candidate = candidates(completion.text(), "python").remove(0);
        with_tests(
            Evidence::new(),
            &LocatedProgram {
                candidate: &candidate,
                completion: &completion,
            },
            tests,
            results,
        )
    }

    fn tests(count: usize) -> Vec<Test> {
        (0..count)
            .map(|_| Test::Stdin {
                input: "1".to_owned(),
                expected: "1".to_owned(),
            })
            .collect()
    }

    #[test]
    fn lists_every_test_that_was_run() {
        let results: Vec<TestResult> = (0..MAX_LISTED)
            .map(|_| result(verdict::ACCEPTED, ProgramEnd::Finished, "1"))
            .collect();
        let evidence = evidence(&tests(MAX_LISTED), &results);
        let fields = evidence.facts();
        assert_eq!(fields["results"].as_array().unwrap().len(), MAX_LISTED);
        assert_eq!(
            (&fields["tests"], &fields["tests_run"]),
            (&json!(MAX_LISTED), &json!(MAX_LISTED))
        );
        assert!(!fields.contains_key("first_failure"));
        assert!(serde_json::to_string(&evidence).unwrap().len() < 500_000);
    }

    #[test]
    fn shows_the_first_failure_with_the_ends_of_its_outputs() {
        let long = "o".repeat(MAX_SHOWN + 100);
        let results = [
            result(verdict::ACCEPTED, ProgramEnd::Finished, "1"),
            result(
                verdict::RUNTIME_ERROR,
                ProgramEnd::Raised("x".repeat(MAX_SHOWN)),
                &long,
            ),
            result(verdict::TIME_LIMIT, ProgramEnd::OutOfWork, "").without_failure(),
        ];
        let evidence = evidence(&tests(5), &results);
        let fields = evidence.facts();
        assert_eq!(
            (&fields["tests"], &fields["tests_run"]),
            (&json!(5), &json!(3))
        );
        assert_eq!(
            fields["results"][2],
            json!(["time_limit", 1_000_000, 80 << 20])
        );
        let failure = &fields["first_failure"];
        assert_eq!(
            (&failure["test"], &failure["verdict"]),
            (&json!(1), &json!("runtime_error"))
        );
        assert_eq!(failure["stdout"], format!("…{}", "o".repeat(MAX_SHOWN)));
        assert_eq!(failure["message"], "x".repeat(MAX_SHOWN));
        assert!(failure.get("stderr").is_none() && failure.get("lines").is_none());
    }

    #[test]
    fn shows_lines_of_the_completion_and_driver_evidence() {
        let message = "Traceback (most recent call last):\n  File \"main.py\", line 2, in \
                       f\nZeroDivisionError\n";
        let driver_evidence = r#"{
            "file":"test.py","line":1,"source":"assert f() == 4","operator":"==",
            "left":"5","right":"4",
            "calls":[{"call":"f()","returned":"5"}],"limit":{"cause":"module","name":"numpy"}}"#;
        let failed = result_with(
            verdict::RUNTIME_ERROR,
            ProgramEnd::Raised(message.to_owned()),
            "",
            Some(driver_evidence),
        );
        let evidence = evidence(
            &[Test::Assert {
                text: "assert f() == 4".to_owned(),
                module: "solution".to_owned(),
                pytest: false,
            }],
            &[failed],
        );
        let failure = &evidence.facts()["first_failure"];
        let expected = json!({
            "test": 0, "verdict": "runtime_error", "assert": "assert f() == 4",
            "message": message, "lines": [4], "file": "test.py", "line": 1,
            "source": "assert f() == 4", "operator": "==", "left": "5", "right": "4",
            "calls": [{"call": "f()", "returned": "5"}],
            "limit": {"cause": "module", "name": "numpy"},
        });
        assert_eq!(failure, &expected);
    }

    #[test]
    fn shows_the_call_of_a_failed_test() {
        let call = |kwargs: &str, unordered| Test::Call {
            function: "f".to_owned(),
            args: "[1, 2]".to_owned(),
            kwargs: kwargs.to_owned(),
            expected: crate::value::read("[3]").unwrap(),
            unordered,
        };
        let failure = |test: Test| {
            let failed = result(
                Verdict::WRONG_ANSWER,
                ProgramEnd::Returned("4".to_owned()),
                "",
            );
            evidence(&[test], &[failed]).facts()["first_failure"].clone()
        };
        assert_eq!(
            failure(call("{}", false)),
            json!({
                "test": 0, "verdict": "wrong_answer", "call": "f(*[1, 2])", "expected": "[3]",
            })
        );
        assert_eq!(
            failure(call(r#"{"base": 10}"#, true)),
            json!({
                "test": 0, "verdict": "wrong_answer", "call": "f(*[1, 2], **{\"base\": 10})",
                "expected": "[3]", "unordered": true,
            })
        );
    }
}
