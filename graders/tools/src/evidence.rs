//! The evidence of a grade.

use assay_documents::calls::{Form, Malformed};
use serde::Serialize;
use serde_json::{Value, json};

use crate::compare::{ActualCall, CallError, Difference, ExpectedCall, short};
use crate::trace::Turn;

/// Maximum number of calls of a turn that are listed.
const MAX_LISTED: usize = 20;

/// The evidence of one turn. It and the entries of its calls are written without intermediate JSON
/// values, which would take longer than the comparison; their fields are in the order of their
/// names, as in other objects.
#[derive(Debug, Serialize)]
pub(crate) struct TurnEvidence<'t> {
    calls: Vec<CallEvidence<'t>>,
    /// Index of the first wrong call of a turn that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_wrong_call: Option<usize>,
    forms: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    malformed: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<Value>,
    /// Calls that the rules of a state reject.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) refused: Vec<Value>,
    pub(crate) score: f64,
    /// Differences of the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<Value>,
}

/// A call, and the index of the expected call that it matches.
#[derive(Debug, Serialize)]
struct CallEvidence<'t> {
    arguments: String,
    expected: Option<usize>,
    name: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Value>,
    span: [usize; 2],
}

impl<'t> CallEvidence<'t> {
    fn new(actual: &'t ActualCall, paired: Option<usize>) -> Self {
        Self {
            arguments: short(&actual.arguments),
            expected: paired,
            name: &actual.name,
            problem: actual.error.as_ref().map(CallError::describe),
            span: [actual.span.start, actual.span.end],
        }
    }
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
pub(crate) fn turn<'t>(
    turn: &'t Turn,
    expected: &[ExpectedCall],
    pairs: &[Option<usize>],
    missing: &[Missing<'_>],
    score: f64,
) -> TurnEvidence<'t> {
    let call = |(at, actual): (usize, &'t ActualCall)| {
        let paired = pairs.iter().position(|pair| *pair == Some(at));
        CallEvidence::new(actual, paired)
    };
    let absent = |(at, nearest): &Missing<'_>| {
        let expected = &expected[*at];
        let mut entry = json!({"expected": at, "name": expected.name});
        if let Some((call, difference)) = nearest {
            entry["nearest_call"] = json!(call);
            entry["difference"] = difference.describe(expected, &turn.calls[*call]);
        }
        entry
    };
    let calls = turn.calls.iter();
    let mut forms: Vec<_> = calls.clone().map(|actual| actual.form.as_str()).collect();
    forms.dedup();
    let malformed = turn.malformed.iter().take(MAX_LISTED);
    TurnEvidence {
        calls: calls.enumerate().take(MAX_LISTED).map(call).collect(),
        first_wrong_call: None,
        forms,
        malformed: malformed.map(self::malformed).collect(),
        missing: missing.iter().take(MAX_LISTED).map(absent).collect(),
        refused: Vec::new(),
        score,
        state: None,
    }
}

/// Differences of the state.
pub(crate) fn state(differences: &[[String; 3]]) -> Value {
    differences
        .iter()
        .map(|[pointer, expected, got]| json!({"place": pointer, "expected": expected, "got": got}))
        .collect()
}
