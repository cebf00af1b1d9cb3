//! Why a verdict is what it is, for a person to read.

use assay_cell::program::{End, ImageInfo};
use assay_core::Evidence;
use serde_json::{Map, Value, json};

use crate::checker::Difference;
use crate::extract::Candidate;
use crate::grade::TestResult;
use crate::task::Test;
use crate::verdict;

/// Most tests told one by one.
const TOLD: usize = 100;

/// Bytes told of each end of an output.
const TAIL: usize = 400;

/// What is known before any test.
pub(crate) fn of_program(found: &Candidate, image: &ImageInfo) -> Evidence {
    Evidence::new()
        .text("program", &found.text)
        .value("span", vec![found.span.start as u64, found.span.end as u64])
        .text("extraction", found.rule.as_str())
        .text("language", &image.version)
        .text("image", &image.hash)
}

/// Adds the tests: each by verdict, work and memory, and the first failing one in full.
pub(crate) fn with_tests(evidence: Evidence, tests: &[Test], results: &[TestResult]) -> Evidence {
    let told = results
        .iter()
        .take(TOLD)
        .map(|result| json!([result.verdict.as_str(), result.attempt.ran.work, result.attempt.ran.memory_bytes]));
    let evidence = evidence.value("tests", tests.len()).value("results", told.collect::<Vec<_>>());
    let failure = results.iter().enumerate().find(|(_, result)| result.verdict != verdict::ACCEPTED);
    match failure {
        Some((index, result)) => evidence.value("first_failure", failed_test(index, tests.get(index), result)),
        None => evidence,
    }
}

fn failed_test(index: usize, test: Option<&Test>, result: &TestResult) -> Map<String, Value> {
    let ran = &result.attempt.ran;
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
    if let Some(Difference { line, expected, got }) = &result.difference {
        tell("difference", json!({"line": line, "expected": expected, "got": got}));
    }
    if let Some(got) = &result.got {
        tell("got", head(got).into());
    }
    match &ran.end {
        End::Raised(message) | End::Refuted(message) => {
            tell("message", tail(message.as_bytes()).into());
        }
        End::Exited(status) => {
            tell("status", (*status).into());
        }
        _ => {}
    }
    for (name, output) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        if !output.is_empty() {
            tell(name, tail(output).into());
        }
    }
    told
}

/// The beginning of a text.
fn head(text: &str) -> String {
    match text.char_indices().nth(TAIL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The end of an output, bytes that are no UTF-8 replaced.
fn tail(output: &[u8]) -> String {
    let kept = &output[output.len().saturating_sub(TAIL)..];
    let cut = if kept.len() < output.len() { "…" } else { "" };
    format!("{cut}{}", String::from_utf8_lossy(kept))
}
