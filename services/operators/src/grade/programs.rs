//! The tests of a program, one by one.

use serde_json::Value;

use crate::row::Badge;
use crate::show::{bytes, cell, count};

/// Most tests in the table.
const MOST: usize = 200;

/// Most results in evidence without `tests_run`, as earlier releases wrote it; more tests may have
/// been run.
const LISTED_BEFORE: usize = 100;

/// A test and what became of it.
pub(crate) struct Test {
    pub(crate) number: usize,
    pub(crate) asked: String,
    pub(crate) expected: String,
    pub(crate) badge: Badge,
    pub(crate) work: String,
    pub(crate) memory: String,
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

/// The evidence about the tests that were run.
struct Run<'e> {
    /// Verdict, work and memory of the first ones.
    results: &'e [Value],
    /// How many were run; `None` if unknown.
    run: Option<usize>,
}

impl Tests {
    /// The tests of a task with what the evidence says of each; `None` where the task has none.
    pub(super) fn of(task: &Value, evidence: &Value) -> Option<Self> {
        let asked = task["tests"].as_array()?;
        let run = Run::of(evidence);
        let tests = asked
            .iter()
            .enumerate()
            .take(MOST)
            .map(|(at, test)| of_test(at, test, &run));
        let passed = run
            .results
            .iter()
            .filter(|result| result[0] == "accepted")
            .count();
        // Tests beyond a truncated list may have passed as well.
        let at_least = if run.is_cut(asked.len()) {
            "at least "
        } else {
            ""
        };
        Some(Self {
            tests: tests.collect(),
            passed: format!("{at_least}{}", count(passed as u64)),
            all: count(asked.len() as u64),
            left: run.left(asked.len()),
        })
    }
}

impl<'e> Run<'e> {
    fn of(evidence: &'e Value) -> Self {
        let results = evidence["results"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let said = evidence["tests_run"]
            .as_u64()
            .and_then(|run| usize::try_from(run).ok());
        Self {
            results,
            run: said.or((results.len() != LISTED_BEFORE).then_some(results.len())),
        }
    }

    /// Whether more tests may have been run than results are listed.
    fn is_cut(&self, tests: usize) -> bool {
        self.results.len() < self.run.unwrap_or(tests).min(tests)
    }

    /// The result of a test.
    fn badge(&self, at: usize) -> Badge {
        match self.results.get(at).and_then(|result| result[0].as_str()) {
            Some(verdict) => Badge::new("graded", Some(verdict), Some(verdict == "accepted")),
            None if self.run.is_none_or(|run| at < run) => {
                Badge::new("graded", Some("not listed"), None)
            }
            None => Badge::new("graded", Some("not run"), None),
        }
    }

    /// How many tests are not in the table, and how many of them failed or were not run.
    fn left(&self, tests: usize) -> Option<String> {
        let left = tests.checked_sub(MOST).filter(|left| *left > 0)?;
        let beyond = self.results.get(MOST..).unwrap_or_default();
        let failed = beyond
            .iter()
            .filter(|result| result[0] != "accepted")
            .count();
        let not_run = self
            .run
            .map_or(0, |run| tests.saturating_sub(run.max(MOST)));
        let mut said = format!("{} more are not shown", count(left as u64));
        for (number, what) in [(failed, "failed"), (not_run, "not run")] {
            if number > 0 {
                said += &format!(", {} {what}", count(number as u64));
            }
        }
        Some(said + ".")
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "memory of a test is far below 2^52 bytes"
)]
fn of_test(at: usize, test: &Value, run: &Run<'_>) -> Test {
    let json = |name: &str| test.get(name).map(ToString::to_string);
    let text = |name: &str| test.get(name).and_then(Value::as_str).map(str::to_owned);
    let call = || {
        Some(format!(
            "{}{}",
            text("call")?,
            json("args").unwrap_or_default()
        ))
    };
    let asked = text("stdin")
        .or_else(call)
        .or_else(|| text("assert"))
        .unwrap_or_else(|| test.to_string());
    let expected = text("stdout")
        .or_else(|| json("returns"))
        .unwrap_or_else(|| "–".to_owned());
    let number = |index: usize| {
        run.results
            .get(at)
            .and_then(|result| result[index].as_u64())
    };
    Test {
        number: at + 1,
        asked: cell(asked.trim_end()),
        expected: cell(expected.trim_end()),
        badge: run.badge(at),
        work: number(1).map_or_else(|| "–".to_owned(), count),
        memory: number(2).map_or_else(|| "–".to_owned(), |held| bytes(held as f64)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A task of this many tests.
    fn task(tests: usize) -> Value {
        json!({ "tests": vec![json!({ "stdin": "1", "stdout": "1" }); tests] })
    }

    fn words(tests: &Tests) -> Vec<&str> {
        tests
            .tests
            .iter()
            .map(|test| test.badge.word.as_str())
            .collect()
    }

    #[test]
    fn each_test_has_its_result_or_was_not_run() {
        let task = json!({ "tests": [
            { "stdin": "2 3\n", "stdout": "5\n" },
            { "call": "add", "args": [2, 3], "returns": 5 },
            { "assert": "assert add(2, 3) == 5" },
        ] });
        let evidence = json!({ "tests_run": 2, "results": [["accepted", 1_000, 2_048], ["wrong_answer", 7, 8]] });
        let found = Tests::of(&task, &evidence).unwrap();
        assert_eq!(
            (found.passed.as_str(), found.all.as_str(), &found.left),
            ("1", "3", &None)
        );
        let asked: Vec<&str> = found.tests.iter().map(|test| test.asked.as_str()).collect();
        assert_eq!(asked, ["2 3", "add[2,3]", "assert add(2, 3) == 5"]);
        let classes: Vec<&str> = found.tests.iter().map(|test| test.badge.class).collect();
        assert_eq!(classes, ["pass", "refused", "other"]);
        assert_eq!(words(&found)[2], "not run");
        assert!(Tests::of(&json!({ "answer": "1" }), &evidence).is_none());
    }

    #[test]
    fn tests_beyond_the_table_are_counted() {
        let mut results = vec![json!(["accepted", 1, 1]); 9_000];
        results[8_999] = json!(["time_limit", 1, 1]);
        let evidence = json!({ "tests_run": 9_000, "results": results });
        let found = Tests::of(&task(10_000), &evidence).unwrap();
        assert_eq!(
            (found.tests.len(), found.passed.as_str(), found.all.as_str()),
            (MOST, "8,999", "10,000")
        );
        assert_eq!(
            found.left.as_deref(),
            Some("9,800 more are not shown, 1 failed, 1,000 not run.")
        );
        let stopped = json!({ "tests_run": 1, "results": [["wrong_answer", 1, 1]] });
        let found = Tests::of(&task(MOST + 5), &stopped).unwrap();
        assert_eq!(
            found.left.as_deref(),
            Some("5 more are not shown, 5 not run.")
        );
        assert!(Tests::of(&task(MOST), &evidence).unwrap().left.is_none());
    }

    #[test]
    fn tests_without_a_listed_result_may_have_been_run() {
        let cut = json!({ "results": vec![json!(["accepted", 1, 1]); LISTED_BEFORE] });
        let found = Tests::of(&task(LISTED_BEFORE + 1), &cut).unwrap();
        assert_eq!(
            (found.passed.as_str(), words(&found)[LISTED_BEFORE]),
            ("at least 100", "not listed")
        );
        let whole = Tests::of(&task(LISTED_BEFORE), &cut).unwrap();
        assert_eq!(whole.passed, "100");
        let short = json!({ "results": [["accepted", 1, 1]] });
        assert_eq!(
            words(&Tests::of(&task(2), &short).unwrap()),
            ["accepted", "not run"]
        );
        let said = json!({ "tests_run": 3, "results": [["accepted", 1, 1]] });
        assert_eq!(
            words(&Tests::of(&task(4), &said).unwrap()),
            ["accepted", "not listed", "not listed", "not run"]
        );
    }
}
