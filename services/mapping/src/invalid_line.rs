//! Lines of a file that are not graded: why, and their results, which have the keys of every
//! result.

use assay_core::Fault;
use assay_record::ItemGrade;
use assay_wire::{Problem, Selected, Selection};
use serde_json::Value;

/// The fault of a line that is not a valid item.
#[must_use]
pub fn fault(line: u64, problem: &Problem) -> Fault {
    Fault::permanent(problem.code, message(line, problem))
}

/// Where and why a line is not a valid item.
#[must_use]
pub fn message(line: u64, problem: &Problem) -> String {
    match problem.pointer.as_deref() {
        Some("") | None => format!("line {line}: {}", problem.message),
        Some(pointer) => format!("line {line}: `{pointer}`: {}", problem.message),
    }
}

/// The result of a line that is not graded, with its outcome and the id and group of its item.
///
/// # Errors
/// None: results have no numbers that JSON cannot express.
pub fn result(
    outcome: &'static str,
    (id, group): (Option<String>, Option<String>),
    error: Fault,
    (selection, streamed): (Selection, bool),
) -> serde_json::Result<Value> {
    let grade = ItemGrade {
        id,
        group,
        outcome: outcome.into(),
        error: Some(error),
        deterministic: true,
        ..ItemGrade::default()
    };
    let mut selected = serde_json::to_value(Selected {
        selection,
        streamed,
        grade: &grade,
    })?;
    // The line has no position in a batch and no grade in the record, and its task may not name a
    // grader.
    for key in ["position", "grade", "channel", "grader", "time_us"] {
        if let Some(value) = selected.get_mut(key) {
            *value = Value::Null;
        }
    }
    Ok(selected)
}
