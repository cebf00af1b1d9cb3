//! The evidence of a grade.

use assay_documents::calls::{Form, Malformed};
use serde_json::{Map, Value, json};

use crate::compare::{ActualCall, Difference, ExpectedCall, short};
use crate::trace::Turn;

/// Maximum number of calls of a turn that are listed.
const MAX_LISTED: usize = 20;

/// A call, and the expected call that it matches.
fn call(actual: &ActualCall, paired: Option<usize>) -> Value {
    // Does not use `json!`, which copies its arguments: this runs for every call.
    let mut entry = Map::new();
    entry.insert("name".to_owned(), Value::String(actual.name.clone()));
    entry.insert(
        "arguments".to_owned(),
        Value::String(short(&actual.arguments)),
    );
    entry.insert(
        "span".to_owned(),
        Value::Array(vec![actual.span.start.into(), actual.span.end.into()]),
    );
    entry.insert("expected".to_owned(), paired.into());
    if let Some(error) = &actual.error {
        entry.insert("problem".to_owned(), error.describe());
    }
    Value::Object(entry)
}

/// A malformed attempt at a call: its byte range, and where and why parsing fails.
pub(crate) fn malformed(attempt: &Malformed) -> Value {
    json!({
        "span": [attempt.span.start, attempt.span.end],
        "at": attempt.broken.at,
        "reason": attempt.broken.reason,
        "form": attempt.form.map(Form::as_str),
    })
}

/// A missing expected call, and how the most similar call differs.
pub(crate) type Missing<'a> = (usize, Option<(usize, Difference<'a>)>);

/// One turn: its calls, malformed attempts, and missing calls with the most similar call's
/// difference.
pub(crate) fn turn(
    turn: &Turn,
    expected: &[ExpectedCall],
    pairs: &[Option<usize>],
    missing: &[Missing<'_>],
) -> Value {
    let calls = turn.calls.iter().enumerate().take(MAX_LISTED);
    let calls: Vec<Value> = calls
        .map(|(at, actual)| call(actual, pairs.iter().position(|pair| *pair == Some(at))))
        .collect();
    let absent = |(at, nearest): &Missing<'_>| {
        let expected = &expected[*at];
        let mut entry = json!({"expected": at, "name": expected.name});
        if let Some((call, difference)) = nearest {
            entry["nearest_call"] = json!(call);
            entry["difference"] = difference.describe(expected, &turn.calls[*call]);
        }
        entry
    };
    let mut entry = Map::new();
    let mut forms: Vec<Value> = turn
        .calls
        .iter()
        .map(|actual| actual.form.as_str().into())
        .collect();
    forms.dedup();
    entry.insert("calls".to_owned(), Value::Array(calls));
    entry.insert("forms".to_owned(), Value::Array(forms));
    if !turn.malformed.is_empty() {
        entry.insert(
            "malformed".to_owned(),
            turn.malformed
                .iter()
                .take(MAX_LISTED)
                .map(malformed)
                .collect(),
        );
    }
    if !missing.is_empty() {
        entry.insert(
            "missing".to_owned(),
            missing.iter().take(MAX_LISTED).map(absent).collect(),
        );
    }
    Value::Object(entry)
}

/// Differences of the state.
pub(crate) fn state(differences: &[[String; 3]]) -> Value {
    differences
        .iter()
        .map(|[pointer, expected, got]| json!({"place": pointer, "expected": expected, "got": got}))
        .collect()
}
