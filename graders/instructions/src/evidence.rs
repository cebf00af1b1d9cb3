//! The evidence of a verdict: what was found for each constraint.

use assay_core::Evidence;
use serde_json::{Map, Value, json};

use crate::finding::Checked;
use crate::task::InstructionsTask;

/// Each constraint with its name, whether it is met, and what was counted and where. Positions are
/// byte ranges of the response without reasoning and invisible characters.
pub(crate) fn of(task: &InstructionsTask, checked: &[Checked], hidden: usize) -> Evidence {
    let rows = task
        .constraints
        .iter()
        .zip(checked)
        .map(|(constraint, checked)| {
            let mut row = Map::new();
            row.insert("name".to_owned(), json!(constraint.name));
            row.insert("met".to_owned(), json!(checked.finding.met));
            if let Some(form) = checked.form {
                row.insert("form".to_owned(), json!(form));
            }
            if let Some(approximate) = constraint.approximate {
                row.insert("approximate".to_owned(), json!(approximate));
            }
            row.extend(checked.finding.facts.clone());
            Value::Object(row)
        });
    let evidence = Evidence::new().value("constraints", rows.collect::<Vec<_>>());
    if hidden == 0 {
        return evidence;
    }
    evidence.value("hidden_characters", json!(hidden))
}
