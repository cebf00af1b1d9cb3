//! The evidence of a grade.

use assay_documents::calls::Malformed;
use serde_json::{Map, Value, json};

use crate::compare::{Difference, Expected, Made, short};
use crate::trace::Turn;

/// Most calls of a turn that are shown.
const SHOWN: usize = 20;

/// A call, and the expected call that it matches.
fn call(made: &Made, paired: Option<usize>) -> Value {
    // Written out, because `json!` would copy its arguments, and this runs for every call.
    let mut shown = Map::new();
    shown.insert("name".to_owned(), Value::String(made.name.clone()));
    shown.insert(
        "arguments".to_owned(),
        Value::String(short(&made.arguments)),
    );
    shown.insert(
        "span".to_owned(),
        Value::Array(vec![made.span.start.into(), made.span.end.into()]),
    );
    shown.insert("expected".to_owned(), paired.into());
    if let Some(unsound) = &made.unsound {
        shown.insert("problem".to_owned(), unsound.describe());
    }
    Value::Object(shown)
}

/// A malformed attempt at a call: its position, and where and why parsing fails.
pub(crate) fn malformed(attempt: &Malformed) -> Value {
    json!({
        "span": [attempt.span.start, attempt.span.end],
        "at": attempt.broken.at,
        "reason": attempt.broken.reason,
        "form": attempt.form.as_str(),
    })
}

/// A missing expected call, and how the most similar call differs.
pub(crate) type Missing<'a> = (usize, Option<(usize, Difference<'a>)>);

/// One turn: its calls, malformed attempts, and missing calls with the most similar call's
/// difference.
pub(crate) fn turn(
    turn: &Turn,
    expected: &[Expected],
    pairs: &[Option<usize>],
    missing: &[Missing<'_>],
) -> Value {
    let calls = turn.calls.iter().enumerate().take(SHOWN);
    let calls: Vec<Value> = calls
        .map(|(at, made)| call(made, pairs.iter().position(|pair| *pair == Some(at))))
        .collect();
    let absent = |(at, nearest): &Missing<'_>| {
        let expected = &expected[*at];
        let mut shown = json!({"expected": at, "name": expected.name});
        if let Some((call, difference)) = nearest {
            shown["nearest_call"] = json!(call);
            shown["difference"] = difference.describe(expected, &turn.calls[*call]);
        }
        shown
    };
    let mut shown = Map::new();
    let mut forms: Vec<Value> = turn
        .calls
        .iter()
        .map(|made| made.form.as_str().into())
        .collect();
    forms.dedup();
    shown.insert("calls".to_owned(), Value::Array(calls));
    shown.insert("forms".to_owned(), Value::Array(forms));
    if !turn.malformed.is_empty() {
        shown.insert(
            "malformed".to_owned(),
            turn.malformed.iter().take(SHOWN).map(malformed).collect(),
        );
    }
    if !missing.is_empty() {
        shown.insert(
            "missing".to_owned(),
            missing.iter().take(SHOWN).map(absent).collect(),
        );
    }
    Value::Object(shown)
}

/// Differences of the state.
pub(crate) fn state(differences: &[[String; 3]]) -> Value {
    differences
        .iter()
        .map(|[place, expected, got]| json!({"place": place, "expected": expected, "got": got}))
        .collect()
}
