//! Compares a changed program with the right one on generated inputs, in the sandbox, by a test
//! that fails on the first input with another result. The test's message is a new test for the row.

use assay_core::Task;
use serde_json::{Map, Value, json};

/// The comparison. Its inputs are those of the tests with small changes. They are like those of the
/// tests: no empty list, zero or negative number unless a test has one in the same place, and
/// rectangular or square matrices and balanced brackets if all tests have them. Lists stay sorted
/// if all are and the prompt says so.
const COMPARE: &str = include_str!("difference.py");

/// Precedes the new test in the message of the comparison.
pub(crate) const NEW_TEST: &str = "assay-new-test: ";

/// Words of prompts whose lists are sorted.
const SORTED: &[&str] = &["sorted", "ascending", "increasing order"];

/// Limit of work of a comparison, in seconds.
const SECONDS: f64 = 2.0;

/// A task whose only test passes if the function `name` has the same results as that of
/// `reference`, a global function or a method of `Solution()` (`is_method`). `body` is the `code`
/// task of the row, in Python.
pub(crate) fn difference(
    body: &Map<String, Value>,
    prompt: Option<&str>,
    reference: &str,
    name: &str,
    is_method: bool,
) -> Option<Task> {
    let tests = body.get("tests")?.as_array()?;
    let sources: Vec<&str> = tests
        .iter()
        .filter_map(|test| test.get("assert").or_else(|| test.get("pytest"))?.as_str())
        .collect();
    let calls: Vec<&Value> = tests.iter().filter_map(|test| test.get("args")).collect();
    let prelude = body
        .get("prelude")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let words = prompt.unwrap_or_default().to_ascii_lowercase();
    let is_sorted = SORTED.iter().any(|word| words.contains(word));
    let input = json!([
        format!("{prelude}\n{reference}"),
        sources,
        calls,
        name,
        NEW_TEST,
        is_sorted
    ]);
    let input = serde_json::to_string(&input.to_string()).ok()?;
    let class = if is_method { "Solution()." } else { "" };
    let test = format!("{COMPARE}\n_assay_compare({input}, lambda: {class}{name})\n");
    let mut task = body.clone();
    for field in ["reference", "score", "checker", "stop_at_first_failure"] {
        task.remove(field);
    }
    task.insert("tests".to_owned(), json!([{ "assert": test }]));
    task.insert("limits".to_owned(), json!({ "seconds": SECONDS }));
    Task::from_json(&Value::Object(task).to_string()).ok()
}
