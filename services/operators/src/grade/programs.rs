//! The tests of a program, one by one.

use serde_json::Value;

use crate::row::Badge;
use crate::show::{bytes, cell, count};

/// Most tests in the table.
const MOST: usize = 200;

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
    pub(crate) passed: usize,
    /// All of the task, also those that were not run.
    pub(crate) all: usize,
}

impl Tests {
    /// The tests of a task with what the evidence says of each; `None` where the task has none.
    pub(super) fn of(task: &Value, evidence: &Value) -> Option<Self> {
        let asked = task["tests"].as_array()?;
        let results = evidence["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        let accepted = |result: &&Value| result[0] == "accepted";
        let tests = asked.iter().enumerate().take(MOST).map(|(at, test)| of_test(at, test, results.get(at)));
        Some(Self { tests: tests.collect(), passed: results.iter().filter(accepted).count(), all: asked.len() })
    }
}

#[expect(clippy::cast_precision_loss, reason = "memory of a test is far below 2^52 bytes")]
fn of_test(at: usize, test: &Value, result: Option<&Value>) -> Test {
    let json = |name: &str| test.get(name).map(ToString::to_string);
    let text = |name: &str| test.get(name).and_then(Value::as_str).map(str::to_owned);
    let call = || Some(format!("{}{}", text("call")?, json("args").unwrap_or_default()));
    let asked = text("stdin").or_else(call).or_else(|| text("assert")).unwrap_or_else(|| test.to_string());
    let expected = text("stdout").or_else(|| json("returns")).unwrap_or_else(|| "–".to_owned());
    let verdict = result.and_then(|result| result[0].as_str());
    let badge = match verdict {
        Some(verdict) => Badge::new("graded", Some(verdict), Some(verdict == "accepted")),
        None => Badge::new("graded", Some("not run"), None),
    };
    let number = |index: usize| result.and_then(|result| result[index].as_u64());
    Test {
        number: at + 1,
        asked: cell(asked.trim_end()),
        expected: cell(expected.trim_end()),
        badge,
        work: number(1).map_or_else(|| "–".to_owned(), count),
        memory: number(2).map_or_else(|| "–".to_owned(), |held| bytes(held as f64)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tests_that_were_not_run_are_told_too() {
        let task = json!({ "tests": [
            { "stdin": "2 3\n", "stdout": "5\n" },
            { "call": "add", "args": [2, 3], "returns": 5 },
            { "assert": "assert add(2, 3) == 5" },
        ] });
        let evidence = json!({ "results": [["accepted", 1_000, 2_048], ["wrong_answer", 7, 8]] });
        let found = Tests::of(&task, &evidence).unwrap();
        assert_eq!((found.passed, found.all), (1, 3));
        let asked: Vec<&str> = found.tests.iter().map(|test| test.asked.as_str()).collect();
        assert_eq!(asked, ["2 3", "add[2,3]", "assert add(2, 3) == 5"]);
        let classes: Vec<&str> = found.tests.iter().map(|test| test.badge.class).collect();
        assert_eq!(classes, ["pass", "refused", "other"]);
        assert!(Tests::of(&json!({ "answer": "1" }), &evidence).is_none());
    }
}
