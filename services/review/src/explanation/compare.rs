//! Comparisons of expected and actual values, from the evidence of each grader.

use serde_json::Value;

/// Maximum number of comparisons per grade.
const MAX_COMPARISONS: usize = 20;

/// An expected and an actual value. The texts are not shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedActual {
    /// What is compared, such as `Answer` or the position of a value in a document.
    pub title: String,
    /// The expected value; empty if nothing is expected.
    pub expected: String,
    /// The actual value; empty if there is none.
    pub got: String,
}

fn comparison(title: &str, expected: &str, got: &str) -> ExpectedActual {
    ExpectedActual {
        title: title.to_owned(),
        expected: expected.to_owned(),
        got: got.to_owned(),
    }
}

/// At most 20 comparisons, in the order that explains the verdict.
#[must_use]
pub fn comparisons(task: &Value, evidence: &Value) -> Vec<ExpectedActual> {
    let mut found = Vec::new();
    answers(task, evidence, &mut found);
    failed_test(&evidence["first_failure"], &mut found);
    rows(evidence, &mut found);
    differences(&evidence["differences"], &mut found);
    calls(task, evidence, &mut found);
    found.truncate(MAX_COMPARISONS);
    found
}

/// `math`: the answer as written, and the normal forms.
fn answers(task: &Value, evidence: &Value, found: &mut Vec<ExpectedActual>) {
    let text = |name: &str| evidence[name].as_str();
    if let (Some(gold), Some(extracted)) = (text("gold"), text("extracted")) {
        found.push(comparison("Answer", gold, extracted));
        if let (Some(gold_normal), Some(normal)) = (text("gold_normal"), text("answer_normal"))
            && (gold_normal, normal) != (gold, extracted)
        {
            found.push(comparison("Normal form", gold_normal, normal));
        }
    } else if let (Some(answer), None) = (task["answer"].as_str(), text("extracted")) {
        found.push(comparison("Answer", answer, ""));
    }
}

/// `code`: the first failed test.
fn failed_test(failure: &Value, found: &mut Vec<ExpectedActual>) {
    if !failure.is_object() {
        return;
    }
    let text = |name: &str| failure[name].as_str();
    let test = failure["test"]
        .as_u64()
        .map_or_else(|| "Test".to_owned(), |test| format!("Test {}", test + 1));
    let expected = text("expected").or(text("assert")).unwrap_or_default();
    let got = text("got")
        .or(text("message"))
        .or(text("stdout"))
        .or(text("stderr"))
        .unwrap_or_default();
    found.push(comparison(&test, expected, got));
    // The operands of a failed assertion. Most tests have the expected value on the right.
    if let (Some(left), Some(right)) = (text("left"), text("right")) {
        let line = failure["line"]
            .as_u64()
            .map_or_else(String::new, |line| format!(", line {line}"));
        let operator = text("operator").unwrap_or("==");
        found.push(comparison(
            &format!("{test}{line}: operands of `{operator}`"),
            right,
            left,
        ));
    }
    let difference = &failure["difference"];
    if let (Some(expected), Some(got)) =
        (difference["expected"].as_str(), difference["got"].as_str())
    {
        let line = difference["line"].as_u64().unwrap_or_default();
        found.push(comparison(&format!("{test}, line {line}"), expected, got));
    }
}

/// `sql`: the rows, then the statements.
fn rows(evidence: &Value, found: &mut Vec<ExpectedActual>) {
    let difference = &evidence["difference"];
    if let (Some(gold), Some(got)) = (
        difference["gold_rows"].as_array(),
        difference["found_rows"].as_array(),
    ) {
        found.push(comparison("Rows", &table(gold), &table(got)));
    }
    if let (Some(gold), Some(statement)) =
        (evidence["gold"].as_str(), evidence["statement"].as_str())
    {
        found.push(comparison("Statement", gold, statement));
    }
}

fn table(rows: &[Value]) -> String {
    let cells = |row: &Value| match row.as_array() {
        Some(cells) => cells
            .iter()
            .map(|cell| cell.as_str().unwrap_or_default())
            .collect::<Vec<_>>()
            .join(" | "),
        None => row.to_string(),
    };
    rows.iter().map(cells).collect::<Vec<_>>().join("\n")
}

/// `structured` documents and `tools` states: the values that differ.
fn differences(differences: &Value, found: &mut Vec<ExpectedActual>) {
    for difference in differences.as_array().into_iter().flatten() {
        let text = |name: &str| difference[name].as_str().unwrap_or_default();
        let title = if text("place").is_empty() {
            "Whole value"
        } else {
            text("place")
        };
        found.push(comparison(title, text("expected"), text("got")));
    }
}

/// `tools`: the calls of each turn, then the states.
fn calls(task: &Value, evidence: &Value, found: &mut Vec<ExpectedActual>) {
    let turns: Vec<&Value> = match evidence["turns"].as_array() {
        Some(turns) => turns.iter().collect(),
        None => vec![evidence],
    };
    let several = turns.len() > 1;
    for (at, turn) in turns.into_iter().enumerate() {
        let title = || {
            if several {
                format!("Calls of turn {}", at + 1)
            } else {
                "Calls".to_owned()
            }
        };
        if let Some(actual) = turn["calls"].as_array() {
            let expected = task["turns"].get(at).unwrap_or(task);
            let expected = expected.get("expected").unwrap_or(expected);
            if expected.is_array() {
                let actual: Vec<Value> = actual.iter().map(call).collect();
                found.push(comparison(
                    &title(),
                    &pretty(expected),
                    &pretty(&Value::Array(actual)),
                ));
            }
        }
        differences(&turn["state"], found);
    }
}

/// Indented JSON. Cannot fail, because values of the record can be serialised.
fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A call in the form of tasks. The arguments are JSON text in the evidence.
fn call(actual: &Value) -> Value {
    let arguments = actual["arguments"].as_str().unwrap_or_default();
    let arguments =
        serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()));
    serde_json::json!({ "name": actual["name"], "arguments": arguments })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn titles(task: &Value, evidence: &Value) -> Vec<String> {
        comparisons(task, evidence)
            .into_iter()
            .map(|comparison| comparison.title)
            .collect()
    }

    #[test]
    fn compares_the_evidence_of_each_grader() {
        let none = json!({});
        let math = json!({
            "gold": "3/8", "extracted": "0.35", "gold_normal": "3/8", "answer_normal": "7/20",
        });
        assert_eq!(titles(&none, &math), ["Answer", "Normal form"]);
        let code = json!({ "first_failure": { "test": 1, "expected": "5", "got": "4",
            "difference": { "line": 1, "expected": "5", "got": "4" } } });
        assert_eq!(titles(&none, &code), ["Test 2", "Test 2, line 1"]);
        let asserted = json!({ "first_failure": {
            "test": 0, "assert": "assert f() == 4", "message": "AssertionError", "line": 3,
            "operator": "==", "left": "5", "right": "4",
        } });
        assert_eq!(
            titles(&none, &asserted),
            ["Test 1", "Test 1, line 3: operands of `==`"]
        );
        let sql = json!({ "gold": "select 1", "statement": "select 2",
            "difference": { "gold_rows": [["1"]], "found_rows": [["2", "3"]] } });
        assert_eq!(titles(&none, &sql), ["Rows", "Statement"]);
        let structured = json!({ "differences": [
            { "place": "/a", "expected": "1" },
            { "place": "", "got": "2" },
        ] });
        assert_eq!(titles(&none, &structured), ["/a", "Whole value"]);
        let task = json!({ "expected": [{ "name": "f", "arguments": { "a": 1 } }] });
        let tools = json!({ "calls": [{ "name": "f", "arguments": "{\"a\":2}", "span": [0, 1] }],
            "state": [{ "place": "/x", "expected": "1", "got": "2" }] });
        assert_eq!(titles(&task, &tools), ["Calls", "/x"]);
        assert!(titles(&none, &Value::Null).is_empty());
    }

    #[test]
    fn shows_the_gold_without_an_extracted_answer() {
        let found = comparisons(&json!({ "answer": "7" }), &Value::Null);
        assert_eq!(
            (found[0].expected.as_str(), found[0].got.as_str()),
            ("7", "")
        );
    }
}
