//! The tests of a program and their results.

use serde_json::Value;

use crate::display::{bytes, cell, count, text};
use crate::row::Badge;

/// Maximum number of tests in the table.
const MAX_TESTS: usize = 200;

/// Maximum number of results in evidence of earlier releases, which have no `tests_run`. More tests
/// may have been run.
const LEGACY_MAX_RESULTS: usize = 100;

/// A test and its result.
pub(crate) struct Test {
    pub(crate) number: usize,
    pub(crate) input: String,
    pub(crate) expected: String,
    pub(crate) badge: Badge,
    pub(crate) work: String,
    pub(crate) memory: String,
}

/// The first failed test.
pub(crate) struct FailedTest {
    pub(crate) number: String,
    pub(crate) badge: Badge,
    /// The input, call or assertion; empty if the evidence does not have it.
    pub(crate) input: String,
    /// What the program wrote and the error that ended it: names and texts.
    pub(crate) outputs: Vec<(&'static str, String)>,
}

impl FailedTest {
    /// The first failed test in the evidence; `None` if all tests passed or none was run.
    pub(super) fn of(evidence: &Value) -> Option<Self> {
        let failure = evidence["first_failure"].as_object()?;
        let field = |name: &str| failure.get(name).and_then(Value::as_str);
        let input = ["stdin", "call", "assert", "pytest"];
        let verdict = field("verdict");
        let outputs = [
            ("error", "message"),
            ("output", "stdout"),
            ("error output", "stderr"),
        ];
        Some(Self {
            number: count(failure.get("test")?.as_u64()?.saturating_add(1)),
            badge: Badge::new("graded", verdict, Some(false)),
            input: text(input.into_iter().find_map(field).unwrap_or_default()),
            outputs: outputs
                .into_iter()
                .filter_map(|(title, name)| Some((title, text(field(name)?))))
                .collect(),
        })
    }
}

/// The tests of a task.
pub(crate) struct Tests {
    pub(crate) tests: Vec<Test>,
    pub(crate) passed: String,
    /// Number of tests of the task, including those that were not run.
    pub(crate) all: String,
    /// A sentence about the tests that are not in the table.
    pub(crate) left: Option<String>,
}

/// The results of the tests in the evidence.
struct TestResults<'e> {
    /// Verdict, work and memory of the first tests.
    listed: &'e [Value],
    /// Number of tests that were run; `None` if unknown.
    run: Option<usize>,
}

impl Tests {
    /// The tests of a task with their results; `None` if the task has no tests.
    pub(super) fn of(task: &Value, evidence: &Value) -> Option<Self> {
        let task_tests = task["tests"].as_array()?;
        let results = TestResults::of(evidence);
        let tests = task_tests
            .iter()
            .enumerate()
            .take(MAX_TESTS)
            .map(|(at, test)| test_row(at, test, &results));
        let passed = results
            .listed
            .iter()
            .filter(|result| result[0] == "accepted")
            .count();
        // Tests after the end of a truncated list may have passed too.
        let at_least = if results.is_truncated(task_tests.len()) {
            "at least "
        } else {
            ""
        };
        Some(Self {
            tests: tests.collect(),
            passed: format!("{at_least}{}", count(passed as u64)),
            all: count(task_tests.len() as u64),
            left: results.left(task_tests.len()),
        })
    }
}

impl<'e> TestResults<'e> {
    fn of(evidence: &'e Value) -> Self {
        let listed = evidence["results"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let reported = evidence["tests_run"]
            .as_u64()
            .and_then(|run| usize::try_from(run).ok());
        Self {
            listed,
            run: reported.or((listed.len() != LEGACY_MAX_RESULTS).then_some(listed.len())),
        }
    }

    /// Whether more tests may have been run than are listed.
    fn is_truncated(&self, tests: usize) -> bool {
        self.listed.len() < self.run.unwrap_or(tests).min(tests)
    }

    /// The verdict of a test.
    fn badge(&self, at: usize) -> Badge {
        match self.listed.get(at).and_then(|result| result[0].as_str()) {
            Some(verdict) => Badge::new("graded", Some(verdict), Some(verdict == "accepted")),
            None if self.run.is_none_or(|run| at < run) => {
                Badge::new("graded", Some("not listed"), None)
            }
            None => Badge::new("graded", Some("not run"), None),
        }
    }

    /// Describes the tests that are not in the table: how many, and how many of them failed or were
    /// not run.
    fn left(&self, tests: usize) -> Option<String> {
        let left = tests.checked_sub(MAX_TESTS).filter(|left| *left > 0)?;
        let failed = self
            .listed
            .get(MAX_TESTS..)
            .unwrap_or_default()
            .iter()
            .filter(|result| result[0] != "accepted")
            .count();
        let not_run = self
            .run
            .map_or(0, |run| tests.saturating_sub(run.max(MAX_TESTS)));
        let mut text = format!("{} more are not shown", count(left as u64));
        for (number, state) in [(failed, "failed"), (not_run, "not run")] {
            if number > 0 {
                text += &format!(", {} {state}", count(number as u64));
            }
        }
        Some(text + ".")
    }
}

fn test_row(at: usize, test: &Value, results: &TestResults<'_>) -> Test {
    let json = |name: &str| test.get(name).map(ToString::to_string);
    let text = |name: &str| test.get(name).and_then(Value::as_str).map(str::to_owned);
    let call = || {
        Some(format!(
            "{}{}",
            text("call")?,
            json("args").unwrap_or_default()
        ))
    };
    let input = text("stdin")
        .or_else(call)
        .or_else(|| text("assert"))
        .unwrap_or_else(|| test.to_string());
    let expected = text("stdout")
        .or_else(|| json("returns"))
        .unwrap_or_else(|| "–".to_owned());
    let number = |index: usize| {
        results
            .listed
            .get(at)
            .and_then(|result| result[index].as_u64())
    };
    Test {
        number: at + 1,
        input: cell(input.trim_end()),
        expected: cell(expected.trim_end()),
        badge: results.badge(at),
        work: number(1).map_or_else(|| "–".to_owned(), count),
        memory: number(2).map_or_else(|| "–".to_owned(), |memory| bytes(memory as f64)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A task with this many tests.
    fn task(tests: usize) -> Value {
        json!({ "tests": vec![json!({ "stdin": "1", "stdout": "1" }); tests] })
    }

    fn verdicts(tests: &Tests) -> Vec<&str> {
        tests
            .tests
            .iter()
            .map(|test| test.badge.text.as_str())
            .collect()
    }

    #[test]
    fn shows_the_result_of_each_test() {
        let task = json!({ "tests": [
            { "stdin": "2 3\n", "stdout": "5\n" },
            { "call": "add", "args": [2, 3], "returns": 5 },
            { "assert": "assert add(2, 3) == 5" },
        ] });
        let evidence = json!({
            "tests_run": 2, "results": [["accepted", 1_000, 2_048], ["wrong_answer", 7, 8]],
        });
        let found = Tests::of(&task, &evidence).unwrap();
        assert_eq!(
            (found.passed.as_str(), found.all.as_str(), &found.left),
            ("1", "3", &None)
        );
        let inputs: Vec<&str> = found.tests.iter().map(|test| test.input.as_str()).collect();
        assert_eq!(inputs, ["2 3", "add[2,3]", "assert add(2, 3) == 5"]);
        let classes: Vec<&str> = found.tests.iter().map(|test| test.badge.class).collect();
        assert_eq!(classes, ["pass", "not_passed", "other"]);
        assert_eq!(verdicts(&found)[2], "not run");
        assert!(Tests::of(&json!({ "answer": "1" }), &evidence).is_none());
    }

    #[test]
    fn describes_the_first_failed_test() {
        let evidence = json!({ "first_failure": {
            "test": 2, "verdict": "runtime_error", "stdin": "2 3\n", "expected": "5",
            "message": "ZeroDivisionError", "stdout": "4",
        } });
        let found = FailedTest::of(&evidence).unwrap();
        assert_eq!(
            (found.number.as_str(), found.badge.text.as_str()),
            ("3", "runtime_error")
        );
        assert_eq!(found.input, "2 3\n");
        let outputs = [("error", "ZeroDivisionError"), ("output", "4")];
        assert_eq!(
            found.outputs,
            outputs.map(|(name, text)| (name, text.to_owned()))
        );
        assert!(FailedTest::of(&json!({ "tests": 3 })).is_none());
    }

    #[test]
    fn counts_tests_that_are_not_in_the_table() {
        let mut results = vec![json!(["accepted", 1, 1]); 9_000];
        results[8_999] = json!(["time_limit", 1, 1]);
        let evidence = json!({ "tests_run": 9_000, "results": results });
        let found = Tests::of(&task(10_000), &evidence).unwrap();
        assert_eq!(
            (found.tests.len(), found.passed.as_str(), found.all.as_str()),
            (MAX_TESTS, "8,999", "10,000")
        );
        assert_eq!(
            found.left.as_deref(),
            Some("9,800 more are not shown, 1 failed, 1,000 not run.")
        );
        let stopped = json!({ "tests_run": 1, "results": [["wrong_answer", 1, 1]] });
        let found = Tests::of(&task(MAX_TESTS + 5), &stopped).unwrap();
        assert_eq!(
            found.left.as_deref(),
            Some("5 more are not shown, 5 not run.")
        );
        assert!(
            Tests::of(&task(MAX_TESTS), &evidence)
                .unwrap()
                .left
                .is_none()
        );
    }

    #[test]
    fn tests_without_a_listed_result_may_have_been_run() {
        let truncated = json!({ "results": vec![json!(["accepted", 1, 1]); LEGACY_MAX_RESULTS] });
        let found = Tests::of(&task(LEGACY_MAX_RESULTS + 1), &truncated).unwrap();
        assert_eq!(
            (found.passed.as_str(), verdicts(&found)[LEGACY_MAX_RESULTS]),
            ("at least 100", "not listed")
        );
        let complete = Tests::of(&task(LEGACY_MAX_RESULTS), &truncated).unwrap();
        assert_eq!(complete.passed, "100");
        let short = json!({ "results": [["accepted", 1, 1]] });
        assert_eq!(
            verdicts(&Tests::of(&task(2), &short).unwrap()),
            ["accepted", "not run"]
        );
        let reported = json!({ "tests_run": 3, "results": [["accepted", 1, 1]] });
        assert_eq!(
            verdicts(&Tests::of(&task(4), &reported).unwrap()),
            ["accepted", "not listed", "not listed", "not run"]
        );
    }
}
