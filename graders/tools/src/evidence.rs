//! Why a grade is what it is.

use assay_documents::calls::{Call, Malformed};
use serde_json::{Value, json};

use crate::compare::{Difference, Expected, Made, short};
use crate::trace::Turn;

/// Most calls of a turn that are shown.
const SHOWN: usize = 20;

/// A call as it was made, and which expected one it is.
fn call(made: &Made, written: &Call, paired: Option<usize>) -> Value {
    let mut shown = json!({
        "name": made.name,
        "arguments": short(&made.arguments),
        "form": written.form.as_str(),
        "span": [written.span.start, written.span.end],
        "expected": paired,
    });
    if let Some(unsound) = &made.unsound {
        shown["problem"] = unsound.told();
    }
    shown
}

/// An attempt that is no call: where it stands, where and why it breaks.
pub(crate) fn malformed(attempt: &Malformed) -> Value {
    json!({
        "span": [attempt.span.start, attempt.span.end],
        "at": attempt.broken.at,
        "reason": attempt.broken.reason,
        "form": attempt.form.as_str(),
    })
}

/// One turn: its calls, its failed attempts, what is missing and how the nearest call differs.
pub(crate) fn turn(
    turn: &Turn,
    expected: &[Expected],
    pairs: &[Option<usize>],
    missing: &[(usize, Option<(usize, Difference)>)],
) -> Value {
    let calls = turn.calls.iter().zip(&turn.written).enumerate().take(SHOWN);
    let calls: Vec<Value> = calls
        .map(|(at, (made, written))| call(made, written, pairs.iter().position(|pair| *pair == Some(at))))
        .collect();
    let absent = |(at, nearest): &(usize, Option<(usize, Difference)>)| {
        let expected = &expected[*at];
        let mut shown = json!({"expected": at, "name": expected.name});
        if let Some((call, difference)) = nearest {
            shown["nearest_call"] = json!(call);
            shown["difference"] = difference.told(expected, &turn.calls[*call]);
        }
        shown
    };
    let mut shown = json!({"calls": calls});
    if !turn.malformed.is_empty() {
        shown["malformed"] = turn.malformed.iter().take(SHOWN).map(malformed).collect();
    }
    if !missing.is_empty() {
        shown["missing"] = missing.iter().take(SHOWN).map(absent).collect();
    }
    shown
}

/// Where the state differs.
pub(crate) fn state(differences: &[[String; 3]]) -> Value {
    differences.iter().map(|[place, expected, got]| json!({"place": place, "expected": expected, "got": got})).collect()
}
