//! Short texts for the extracted answer and the reason of a verdict, read from the evidence keys
//! that graders use.

use serde_json::Value;

/// JSON pointers to the extracted answer.
const EXTRACTED: &[&str] = &["/extracted", "/statement", "/program", "/document"];

/// JSON pointers to the reason, where evidence has it as one text.
const REASON: &[&str] = &[
    "/rule",
    "/message",
    "/difference/what",
    "/first_failure/verdict",
    "/violation/reason",
];

/// The answer, query, program, document or first tool call; empty if evidence has none.
#[must_use]
pub fn extracted(evidence: &Value) -> String {
    first(evidence, EXTRACTED)
        .or_else(|| first_call(evidence))
        .unwrap_or_default()
}

/// The rule that decided, the first difference or the first violation; empty if evidence has none.
#[must_use]
pub fn reason(evidence: &Value) -> String {
    first(evidence, REASON)
        .or_else(|| difference(evidence.pointer("/differences/0")?))
        .or_else(|| turns(evidence).iter().find_map(turn))
        // Last: for a partial grade, `reason` is only the verdict that a binary grade would have.
        .or_else(|| first(evidence, &["/reason"]))
        .unwrap_or_default()
}

fn first(evidence: &Value, pointers: &[&str]) -> Option<String> {
    pointers
        .iter()
        .find_map(|pointer| evidence.pointer(pointer)?.as_str())
        .map(str::to_owned)
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// A difference between the expected and the actual document or state.
fn difference(difference: &Value) -> Option<String> {
    let what = match (text(difference, "expected"), text(difference, "got")) {
        (Some(expected), Some(got)) => format!("expected {expected}, got {got}"),
        (Some(expected), None) => format!("expected {expected}, got nothing"),
        (None, Some(got)) => format!("expected nothing, got {got}"),
        (None, None) => return None,
    };
    Some(match text(difference, "place") {
        None | Some("") => what,
        Some(place) => format!("{place}: {what}"),
    })
}

/// The turns of a tool-call trace.
fn turns(evidence: &Value) -> &[Value] {
    list(evidence, "turns")
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn first_call(evidence: &Value) -> Option<String> {
    let call = turns(evidence)
        .iter()
        .find_map(|turn| list(turn, "calls").first())?;
    Some(format!(
        "{} {}",
        text(call, "name")?,
        text(call, "arguments").unwrap_or_default()
    ))
}

/// The first problem of a turn with a score below 1.
fn turn(turn: &Value) -> Option<String> {
    if turn
        .get("score")
        .and_then(Value::as_f64)
        .is_none_or(|score| score >= 1.0)
    {
        return None;
    }
    let unsound = |call: &Value| problem(text(call, "name")?, call.get("problem")?);
    first(turn, &["/malformed/0/reason"])
        .or_else(|| missing(turn.pointer("/missing/0")?))
        .or_else(|| list(turn, "calls").iter().find_map(unsound))
        .or_else(|| difference(turn.pointer("/state/0")?))
        .or_else(|| list(turn, "calls").iter().find_map(unexpected))
}

/// A call that matches no expected call.
fn unexpected(call: &Value) -> Option<String> {
    call.get("expected")?
        .is_null()
        .then(|| text(call, "name"))?
        .map(|name| format!("`{name}` is not expected"))
}

/// An expected call that was not made, and how the nearest actual call differs.
fn missing(missing: &Value) -> Option<String> {
    let name = text(missing, "name")?;
    let nearest = missing
        .get("difference")
        .and_then(|difference| problem(name, difference));
    Some(nearest.unwrap_or_else(|| format!("`{name}` is not called")))
}

/// How a call differs from an expected one or breaks the schema of its tool.
fn problem(name: &str, problem: &Value) -> Option<String> {
    let argument = text(problem, "argument").unwrap_or_default();
    let got = text(problem, "got").unwrap_or_default();
    Some(match text(problem, "kind")? {
        "name" => format!("`{got}` is called instead of `{name}`"),
        "unknown_tool" => format!("`{name}` is not a tool of the task"),
        "missing_argument" => format!("`{name}` lacks the argument `{argument}`"),
        "unexpected_argument" => format!("`{name}` has the unexpected argument `{argument}`"),
        "wrong_value" => {
            let accepted: Vec<_> = list(problem, "accepted")
                .iter()
                .filter_map(Value::as_str)
                .collect();
            format!(
                "`{name}`: `{argument}` is {got}, expected {}",
                accepted.join(" or ")
            )
        }
        kind => match text(problem, "reason") {
            Some(reason) => format!("`{name}`: {reason}"),
            None if argument.is_empty() => format!("`{name}`: {kind}"),
            None => format!("`{name}`: {kind} `{argument}`"),
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{extracted, reason};

    #[test]
    fn returns_reason_of_documents() {
        let violation =
            json!({"place": "/year", "keyword": "/type", "reason": "not of type integer"});
        for (evidence, expected) in [
            (
                json!({"document": "{}", "violation": violation, "reason": "invalid"}),
                "not of type integer",
            ),
            (
                json!({"document": "{", "reason": "it ends early", "at": 1}),
                "it ends early",
            ),
            (
                json!({
                    "document": "{}",
                    "differences": [{"place": "/year", "expected": "1985", "got": "1984"}],
                }),
                "/year: expected 1985, got 1984",
            ),
            (
                json!({"document": "{}", "differences": [{"place": "", "got": "1"}]}),
                "expected nothing, got 1",
            ),
            (json!({"document": "{}"}), ""),
        ] {
            assert_eq!(reason(&evidence), expected, "{evidence}");
            assert!(extracted(&evidence).starts_with('{'), "{evidence}");
        }
    }

    #[test]
    fn returns_reason_of_tool_calls() {
        let turn = |difference: serde_json::Value| {
            let call =
                json!({"name": "weather", "arguments": "{\"city\":\"Rome\"}", "expected": null});
            let missing = json!([
                {"expected": 0, "name": "weather", "nearest_call": 0, "difference": difference},
            ]);
            json!({"turns": [
                {"calls": [], "score": 1.0},
                {"calls": [call], "missing": missing, "score": 0.0},
            ]})
        };
        let value = json!({
            "kind": "wrong_value", "argument": "city", "got": "\"Rome\"",
            "accepted": ["\"Paris\""],
        });
        assert_eq!(
            reason(&turn(value)),
            "`weather`: `city` is \"Rome\", expected \"Paris\""
        );
        let absent = json!({"kind": "missing_argument", "argument": "unit", "accepted": []});
        assert_eq!(reason(&turn(absent)), "`weather` lacks the argument `unit`");
        let schema = json!({
            "kind": "schema", "place": "/city", "keyword": "/type",
            "reason": "not of type string",
        });
        assert_eq!(
            reason(&turn(schema.clone())),
            "`weather`: not of type string"
        );
        assert_eq!(extracted(&turn(schema)), "weather {\"city\":\"Rome\"}");
        let none = json!({
            "reason": "no_call",
            "turns": [{"calls": [], "missing": [{"name": "f"}], "score": 0}],
        });
        assert_eq!(
            (reason(&none).as_str(), extracted(&none).as_str()),
            ("`f` is not called", "")
        );
        let call = json!({"name": "g", "arguments": "{}", "expected": null});
        let other = json!({"turns": [{"calls": [call], "score": 0.0}]});
        assert_eq!(reason(&other), "`g` is not expected");
    }
}
