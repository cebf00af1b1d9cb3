//! Checks rows of a data set, one JSON object per line of the standard input with
//! `instruction_id_list`, `kwargs` and `response`, and prints for each whether the response meets
//! its instructions, strictly and loosely.

use std::io::{BufRead as _, Write as _};

use assay_core::{GraderTable, Item, Outcome, PrepareContext, Task};
use assay_instructions::InstructionsGrader;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = GraderTable::new(vec![std::sync::Arc::new(InstructionsGrader)]);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line?)?;
        let ids = row["instruction_id_list"]
            .as_array()
            .ok_or("no instruction_id_list")?;
        let constraints: Vec<Value> = ids
            .iter()
            .zip(row["kwargs"].as_array().ok_or("no kwargs")?)
            .map(|(id, kwargs)| json!({ "id": id, "kwargs": kwargs }))
            .collect();
        let verdicts = |mode: &str| -> Result<Value, Box<dyn std::error::Error>> {
            let each = constraints.iter().map(|constraint| {
                let task =
                    json!({ "type": "instructions", "constraints": [constraint], "mode": mode });
                verdict(&table, &task, row["response"].as_str().unwrap_or_default())
            });
            Ok(each.collect::<Result<Vec<Value>, _>>()?.into())
        };
        writeln!(
            out,
            "{}",
            json!({ "strict": verdicts("strict")?, "loose": verdicts("loose")? })
        )?;
    }
    Ok(())
}

/// The verdict and the evidence of a response.
fn verdict(
    table: &GraderTable,
    task: &Value,
    response: &str,
) -> Result<Value, Box<dyn std::error::Error>> {
    let task = Task::from_json(&task.to_string())?;
    let cx = PrepareContext::new(table);
    let prepared = match table.get(&task)?.prepare(&task, &cx) {
        Ok(prepared) => prepared,
        Err(error) => return Ok(json!({ "verdict": "ungradable", "error": error.to_string() })),
    };
    let (item, cx) = (Item::text(response), assay_core::GradeContext::default());
    let outcomes = futures::executor::block_on(prepared.grade(&[&item], &cx));
    Ok(match outcomes.first() {
        Some(Outcome::Graded(grade)) => {
            json!({ "verdict": grade.verdict.as_str(), "evidence": grade.evidence.facts() })
        }
        other => json!({ "verdict": "failed", "error": format!("{other:?}") }),
    })
}
