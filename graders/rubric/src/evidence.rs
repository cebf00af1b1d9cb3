//! The evidence of a verdict: the verdict and the evidence of each criterion.

use assay_core::{Evidence, Outcome};
use serde_json::{Map, Value, json};

use crate::combine::CriterionResult;
use crate::task::{Criterion, MAX_CRITERIA};

/// Maximum size of the evidence of all criteria, in bytes. Each has an equal share of it.
const MAX_BYTES: usize = 128 << 10;

/// The criteria, in the order of the task, and the evidence of each by its name.
pub(crate) fn of(
    results: &[(&Criterion, CriterionResult)],
    outcomes: &[Option<Outcome>],
) -> Evidence {
    let share = MAX_BYTES / results.len().clamp(1, MAX_CRITERIA);
    let rows = results.iter().zip(outcomes);
    let rows = rows.map(|((criterion, result), outcome)| row(criterion, *result, outcome.as_ref()));
    let graded = results
        .iter()
        .zip(outcomes)
        .filter_map(|((criterion, _), outcome)| {
            let evidence = &outcome.as_ref()?.grade()?.evidence;
            let shown = if evidence.get().len() <= share {
                Value::Object(evidence.facts())
            } else {
                json!(format!("{} bytes, not shown", evidence.get().len()))
            };
            Some((criterion.name.clone(), shown))
        });
    Evidence::new()
        .value("criteria", rows.collect::<Vec<_>>())
        .value("details", graded.collect::<Map<_, _>>())
}

fn row(criterion: &Criterion, result: CriterionResult, outcome: Option<&Outcome>) -> Value {
    let mut row = json!({
        "name": criterion.name, "points": criterion.points, "met": result.is_met(),
    });
    if criterion.veto {
        row["veto"] = json!(true);
    }
    match outcome {
        None => row["not_reached"] = json!(true),
        Some(Outcome::Graded(grade)) => {
            row["verdict"] = json!(grade.verdict.as_str());
            row["score"] = json!(grade.score.get());
        }
        Some(Outcome::Failed(fault) | Outcome::Ungradable(fault)) => {
            row["error"] = json!(fault.message);
        }
    }
    row
}
