//! Why a verdict is what it is, for a person to read.

use assay_cell::program::{End, ImageInfo};
use assay_core::Evidence;
use serde_json::{Map, Value, json};

use crate::checker::Difference;
use crate::extract::Candidate;
use crate::result::{Failure, SHOWN, TestResult};
use crate::task::Test;
use crate::verdict;

/// Most tests whose results are listed: as many as a task may have. Each takes about 35 bytes of JSON.
const LISTED: usize = 10_000;

/// What is known before any test.
pub(crate) fn of_program(found: &Candidate, image: &ImageInfo) -> Evidence {
    Evidence::new()
        .text("program", &found.text)
        .value("span", vec![found.span.start as u64, found.span.end as u64])
        .text("extraction", found.rule.as_str())
        .text("language", &image.version)
        .text("image", &image.hash)
}

/// Adds the tests: verdict, work and memory of each that was run, and the details of the first failure.
pub(crate) fn with_tests(evidence: Evidence, tests: &[Test], results: &[TestResult]) -> Evidence {
    let listed =
        results.iter().take(LISTED).map(|result| json!([result.verdict.as_str(), result.work, result.memory_bytes]));
    let evidence = evidence
        .value("tests", tests.len())
        .value("tests_run", results.len())
        .value("results", listed.collect::<Vec<_>>());
    let failed = results.iter().enumerate().find(|(_, result)| result.verdict != verdict::ACCEPTED);
    match failed {
        Some((index, result)) => evidence.value("first_failure", failed_test(index, tests.get(index), result)),
        None => evidence,
    }
}

fn failed_test(index: usize, test: Option<&Test>, result: &TestResult) -> Map<String, Value> {
    let mut told = Map::new();
    let mut tell = |name: &str, value: Value| told.insert(name.to_owned(), value);
    tell("test", index.into());
    tell("verdict", result.verdict.as_str().into());
    match test {
        Some(Test::Stdin { input, expected }) => {
            tell("stdin", head(input).into());
            tell("expected", tail(expected.as_bytes()).into());
        }
        Some(Test::Call { function, args, kwargs, expected }) => {
            let kwargs = if kwargs == "{}" { String::new() } else { format!(", **{}", head(kwargs)) };
            tell("call", format!("{function}(*{}{kwargs})", head(args)).into());
            tell("expected", head(&crate::value::shown(expected)).into());
        }
        Some(Test::Assert { text }) => {
            tell("assert", head(text).into());
        }
        None => {}
    }
    let Some(Failure { end, stdout, stderr, difference, got }) = result.failure.as_deref() else { return told };
    if let Some(Difference { line, expected, got }) = difference {
        tell("difference", json!({"line": line, "expected": expected, "got": got}));
    }
    if let Some(got) = got {
        tell("got", head(got).into());
    }
    match end {
        End::Raised(message) | End::Refuted(message) => {
            tell("message", tail(message.as_bytes()).into());
        }
        End::Exited(status) => {
            tell("status", (*status).into());
        }
        _ => {}
    }
    for (name, output) in [("stdout", stdout), ("stderr", stderr)] {
        if !output.is_empty() {
            tell(name, tail(output).into());
        }
    }
    told
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

    use assay_cell::program::Ran;
    use assay_core::Verdict;

    use super::*;
    use crate::programs::Attempt;

    fn result(verdict: Verdict, end: End, stdout: &str) -> TestResult {
        let ran = Ran { end, stdout: stdout.into(), stderr: Vec::new(), work: 1_000_000, memory_bytes: 80 << 20 };
        TestResult::of(verdict, &Attempt { ran: Arc::new(ran), deterministic: true }, None, None)
    }

    fn tests(count: usize) -> Vec<Test> {
        (0..count).map(|_| Test::Stdin { input: "1".to_owned(), expected: "1".to_owned() }).collect()
    }

    #[test]
    fn lists_every_test_that_was_run() {
        let results: Vec<TestResult> = (0..LISTED).map(|_| result(verdict::ACCEPTED, End::Finished, "1")).collect();
        let evidence = with_tests(Evidence::new(), &tests(LISTED), &results);
        let facts = evidence.as_map();
        assert_eq!(facts["results"].as_array().unwrap().len(), LISTED);
        assert_eq!((&facts["tests"], &facts["tests_run"]), (&json!(LISTED), &json!(LISTED)));
        assert!(!facts.contains_key("first_failure"));
        assert!(serde_json::to_string(&evidence).unwrap().len() < 500_000);
    }

    #[test]
    fn shows_the_first_failure_with_the_ends_of_its_outputs() {
        let long = "o".repeat(SHOWN + 100);
        let results = [
            result(verdict::ACCEPTED, End::Finished, "1"),
            result(verdict::RUNTIME_ERROR, End::Raised("x".repeat(SHOWN)), &long),
            result(verdict::TIME_LIMIT, End::OutOfWork, "").without_failure(),
        ];
        let evidence = with_tests(Evidence::new(), &tests(5), &results);
        let facts = evidence.as_map();
        assert_eq!((&facts["tests"], &facts["tests_run"]), (&json!(5), &json!(3)));
        assert_eq!(facts["results"][2], json!(["time_limit", 1_000_000, 80 << 20]));
        let failure = &facts["first_failure"];
        assert_eq!((&failure["test"], &failure["verdict"]), (&json!(1), &json!("runtime_error")));
        assert_eq!(failure["stdout"], format!("…{}", "o".repeat(SHOWN)));
        assert_eq!(failure["message"], "x".repeat(SHOWN));
        assert!(failure.get("stderr").is_none());
    }
}
