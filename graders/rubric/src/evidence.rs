//! The evidence of a verdict: the verdict and the evidence of each criterion.

use assay_core::{Evidence, Outcome};
use serde_json::{Map, Value, json};

use crate::combine::CriterionResult;
use crate::task::{Criterion, MAX_CRITERIA};

/// Maximum size of the evidence of all criteria, in bytes. Each has an equal share of it.
const MAX_BYTES: usize = 128 << 10;

/// The criteria, in the order of the task.
pub(crate) fn of(
    results: &[(&Criterion, CriterionResult)],
    outcomes: &[Option<Outcome>],
) -> Evidence {
    let share = MAX_BYTES / results.len().clamp(1, MAX_CRITERIA);
    let criteria = results
        .iter()
        .zip(outcomes)
        .map(|((criterion, result), outcome)| {
            let mut facts = Map::new();
            facts.insert("name".to_owned(), json!(criterion.name));
            facts.insert("points".to_owned(), json!(criterion.points));
            facts.insert("met".to_owned(), json!(result.is_met()));
            if criterion.veto {
                facts.insert("veto".to_owned(), json!(true));
            }
            match (result, outcome) {
                (CriterionResult::NotReached, _) => {
                    facts.insert("not_reached".to_owned(), json!(true));
                }
                (_, Some(Outcome::Graded(grade))) => {
                    facts.insert("verdict".to_owned(), json!(grade.verdict.as_str()));
                    facts.insert("score".to_owned(), json!(grade.score.get()));
                    let evidence = if grade.evidence.get().len() <= share {
                        Value::Object(grade.evidence.facts())
                    } else {
                        json!(format!("{} bytes, not shown", grade.evidence.get().len()))
                    };
                    facts.insert("evidence".to_owned(), evidence);
                }
                (_, Some(Outcome::Failed(fault) | Outcome::Ungradable(fault))) => {
                    facts.insert("error".to_owned(), json!(fault.message));
                }
                (_, None) => {}
            }
            Value::Object(facts)
        });
    Evidence::new().value("criteria", criteria.collect::<Vec<_>>())
}
