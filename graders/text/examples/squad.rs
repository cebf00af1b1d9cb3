//! Exact match and F1 of answers, one JSON object per line of the standard input with `answer` and
//! `golds`.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use assay_core::{GradeContext, GraderTable, Item, Outcome, PrepareContext, Task};
use assay_text::TextGrader;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = GraderTable::new(vec![Arc::new(TextGrader)]);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let pair: Value = serde_json::from_str(&line?)?;
        let task =
            json!({ "type": "text", "answer": pair["golds"], "match": "squad", "score": "f1" });
        let task = Task::from_json(&task.to_string())?;
        let prepared = table
            .get(&task)?
            .prepare(&task, &PrepareContext::new(&table))?;
        let item = Item::text(pair["answer"].as_str().unwrap_or_default());
        let cx = GradeContext::default();
        let outcome = futures::executor::block_on(prepared.grade(&[&item], &cx)).remove(0);
        let Outcome::Graded(grade) = outcome else {
            return Err("the task cannot be graded".into());
        };
        let f1 = grade.measures.get("f1").map(|f1| f1.get());
        let exact = grade.verdict.as_str() == "correct";
        writeln!(
            out,
            "{}",
            json!({ "exact": exact, "f1": f1, "score": grade.score.get() })
        )?;
    }
    Ok(())
}
