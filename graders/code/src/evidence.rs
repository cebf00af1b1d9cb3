//! Why a verdict is what it is, for a person to read.

use assay_core::Evidence;
use assay_worker::program::ImageInfo;
use serde_json::{Map, Value, json};

use crate::checker::Difference;
use crate::extract::Candidate;
use crate::ran::ProgramEnd;
use crate::result::{Failure, TestResult};
use crate::task::Test;
use crate::told::{Call, Limit, SHOWN, Told};
use crate::traceback;
use crate::verdict;
use crate::visible::Visible;

/// Most tests whose results are listed: as many as a task may have. Each takes about 35 bytes of
/// JSON.
const LISTED: usize = 10_000;

/// A program and its position in the completion.
pub(crate) struct Place<'a> {
    pub(crate) found: &'a Candidate,
    pub(crate) completion: &'a Visible<'a>,
}

impl Place<'_> {
    /// Lines of the program as lines of the completion.
    fn lines(&self, numbers: &[usize]) -> Vec<usize> {
        self.completion.lines(&self.found.span, numbers)
    }
}

/// What is known before any test.
pub(crate) fn of_program(place: &Place<'_>, image: &ImageInfo) -> Evidence {
    let Place { found, completion } = place;
    let span = completion.span(&found.span);
    Evidence::new()
        .text("program", &found.text)
        .value("span", vec![span.start as u64, span.end as u64])
        .value("first_line", completion.line(found.span.start))
        .text("extraction", found.rule.as_str())
        .text("language", &image.version)
        .text("image", &image.hash)
}

/// Adds why the program does not compile.
pub(crate) fn with_refusal(evidence: Evidence, place: &Place<'_>, message: &str) -> Evidence {
    let lines = place.lines(&traceback::lines(message));
    let evidence = evidence.text("message", message);
    if lines.is_empty() {
        evidence
    } else {
        evidence.value("lines", lines)
    }
}

/// Adds the tests: verdict, work and memory of each that was run, and the details of the first
/// failure.
pub(crate) fn with_tests(
    evidence: Evidence,
    place: &Place<'_>,
    tests: &[Test],
    results: &[TestResult],
) -> Evidence {
    let listed = results
        .iter()
        .take(LISTED)
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
            failed_test(index, place, tests.get(index), result),
        ),
        None => evidence,
    }
}

fn failed_test(
    index: usize,
    place: &Place<'_>,
    test: Option<&Test>,
    result: &TestResult,
) -> Map<String, Value> {
    let mut facts = Map::new();
    let mut tell = |name: &str, value: Value| {
        facts.insert(name.to_owned(), value);
    };
    tell("test", index.into());
    tell("verdict", result.verdict.as_str().into());
    match test {
        Some(Test::Stdin { input, expected }) => {
            tell("stdin", head(input).into());
            tell("expected", tail(expected.as_bytes()).into());
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
            tell(
                "call",
                format!("{function}(*{}{kwargs})", head(args)).into(),
            );
            tell("expected", head(&crate::value::shown(expected)).into());
            if *unordered {
                tell("unordered", true.into());
            }
        }
        Some(Test::Assert { text }) => {
            tell("assert", head(text).into());
        }
        None => {}
    }
    let Some(failure) = result.failure.as_deref() else {
        return facts;
    };
    let Failure {
        end,
        told,
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
        tell(
            "difference",
            json!({"line": line, "expected": expected, "got": got}),
        );
    }
    if let Some(got) = got {
        tell("got", head(got).into());
    }
    match end {
        ProgramEnd::Raised(message) | ProgramEnd::Refuted(message) => {
            tell("message", tail(message.as_bytes()).into());
        }
        ProgramEnd::Exited(status) => {
            tell("status", (*status).into());
        }
        _ => {}
    }
    let lines = place.lines(lines);
    if !lines.is_empty() {
        tell("lines", lines.into());
    }
    if let Some(told) = told {
        tell_more(told, &mut tell);
    }
    for (name, output) in [("stdout", stdout), ("stderr", stderr)] {
        if !output.is_empty() {
            tell(name, tail(output).into());
        }
    }
    facts
}

/// Adds the driver's evidence: the line of the test and its values, the last calls, the limit of
/// the sandbox.
fn tell_more(told: &Told, tell: &mut impl FnMut(&str, Value)) {
    let Told {
        file,
        line,
        source,
        operator,
        left,
        right,
        calls,
        limit,
    } = told;
    if let Some(line) = line {
        tell("line", (*line).into());
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
            tell(name, text.as_str().into());
        }
    }
    if !calls.is_empty() {
        tell("calls", calls.iter().map(call).collect());
    }
    if let Some(Limit { cause, name }) = limit {
        tell("limit", json!({"cause": cause, "name": name}));
    }
}

fn call(made: &Call) -> Value {
    let Call {
        call,
        returned,
        raised,
    } = made;
    let mut facts = Map::new();
    facts.insert("call".to_owned(), call.as_str().into());
    for (name, text) in [("returned", returned), ("raised", raised)] {
        if let Some(text) = text {
            facts.insert(name.to_owned(), text.as_str().into());
        }
    }
    facts.into()
}

/// The beginning of a text.
fn head(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The end of an output, bytes that are no UTF-8 replaced.
fn tail(output: &[u8]) -> String {
    let kept = &output[output.len().saturating_sub(SHOWN)..];
    let cut = if kept.len() < output.len() { "…" } else { "" };
    format!("{cut}{}", String::from_utf8_lossy(kept))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_core::Verdict;

    use super::*;
    use crate::extract::candidates;
    use crate::programs::Attempt;
    use crate::ran::ProgramRun;

    const COMPLETION: &str = "It is:\n```python\ndef f():\n    return 1 / 0\n```\n";

    fn told(verdict: Verdict, end: ProgramEnd, stdout: &str, told: Option<&str>) -> TestResult {
        let (stdout, told) = (stdout.into(), told.map(str::to_owned));
        let run = ProgramRun {
            end,
            told,
            stdout,
            stderr: Vec::new(),
            work: 1_000_000,
            memory_bytes: 80 << 20,
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
        told(verdict, end, stdout, None)
    }

    /// The evidence about these results of the program in [`COMPLETION`].
    fn evidence(tests: &[Test], results: &[TestResult]) -> Evidence {
        let completion = Visible::of(COMPLETION, false);
        let found = candidates(completion.text(), "python").remove(0);
        with_tests(
            Evidence::new(),
            &Place {
                found: &found,
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
        let results: Vec<TestResult> = (0..LISTED)
            .map(|_| result(verdict::ACCEPTED, ProgramEnd::Finished, "1"))
            .collect();
        let evidence = evidence(&tests(LISTED), &results);
        let facts = evidence.as_map();
        assert_eq!(facts["results"].as_array().unwrap().len(), LISTED);
        assert_eq!(
            (&facts["tests"], &facts["tests_run"]),
            (&json!(LISTED), &json!(LISTED))
        );
        assert!(!facts.contains_key("first_failure"));
        assert!(serde_json::to_string(&evidence).unwrap().len() < 500_000);
    }

    #[test]
    fn shows_the_first_failure_with_the_ends_of_its_outputs() {
        let long = "o".repeat(SHOWN + 100);
        let results = [
            result(verdict::ACCEPTED, ProgramEnd::Finished, "1"),
            result(
                verdict::RUNTIME_ERROR,
                ProgramEnd::Raised("x".repeat(SHOWN)),
                &long,
            ),
            result(verdict::TIME_LIMIT, ProgramEnd::OutOfWork, "").without_failure(),
        ];
        let evidence = evidence(&tests(5), &results);
        let facts = evidence.as_map();
        assert_eq!(
            (&facts["tests"], &facts["tests_run"]),
            (&json!(5), &json!(3))
        );
        assert_eq!(
            facts["results"][2],
            json!(["time_limit", 1_000_000, 80 << 20])
        );
        let failure = &facts["first_failure"];
        assert_eq!(
            (&failure["test"], &failure["verdict"]),
            (&json!(1), &json!("runtime_error"))
        );
        assert_eq!(failure["stdout"], format!("…{}", "o".repeat(SHOWN)));
        assert_eq!(failure["message"], "x".repeat(SHOWN));
        assert!(failure.get("stderr").is_none() && failure.get("lines").is_none());
    }

    #[test]
    fn shows_lines_of_the_completion_and_what_the_driver_adds() {
        let message = "Traceback (most recent call last):\n  File \"main.py\", line 2, in \
                       f\nZeroDivisionError\n";
        let added = r#"{"file":"test.py","line":1,"source":"assert f() == 4","operator":"==","left":"5","right":"4",
            "calls":[{"call":"f()","returned":"5"}],"limit":{"cause":"module","name":"numpy"}}"#;
        let failed = told(
            verdict::RUNTIME_ERROR,
            ProgramEnd::Raised(message.to_owned()),
            "",
            Some(added),
        );
        let evidence = evidence(
            &[Test::Assert {
                text: "assert f() == 4".to_owned(),
            }],
            &[failed],
        );
        let failure = &evidence.as_map()["first_failure"];
        let expected = json!({
            "test": 0, "verdict": "runtime_error", "assert": "assert f() == 4", "message": message, "lines": [4],
            "file": "test.py", "line": 1, "source": "assert f() == 4", "operator": "==", "left": "5", "right": "4",
            "calls": [{"call": "f()", "returned": "5"}], "limit": {"cause": "module", "name": "numpy"},
        });
        assert_eq!(failure, &expected);
    }
}
