//! Choices that the grader reads in a second of CPU time, for the phrasings of its tests.

use std::sync::Arc;

use assay_choice::ChoiceGrader;
use assay_core::{GradeContext, GraderTable, Item, PrepareContext, Task};
use rustix::time::{ClockId, clock_gettime};

/// Completions to grade.
const COUNT: usize = 200_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = GraderTable::new(vec![Arc::new(ChoiceGrader)]);
    let task = r#"{"type":"choice","options":["red","green","blue","yellow"],"answer":"B"}"#;
    let task = Task::from_json(task)?;
    let prepared = table
        .get(&task)?
        .prepare(&task, &PrepareContext::new(&table))?;
    let mut items = Vec::new();
    for line in include_str!("../tests/phrasings.jsonl").lines() {
        let phrasing: serde_json::Value = serde_json::from_str(line)?;
        let says = phrasing["says"].as_str().unwrap_or_default();
        let completion = says
            .replace("{L}", "B")
            .replace("{O}", "A")
            .replace("{T}", "green");
        items.push(Item::text(&completion));
    }
    let cx = GradeContext::default();
    let start = seconds();
    for item in items.iter().cycle().take(COUNT) {
        futures::executor::block_on(prepared.grade(&[item], &cx));
    }
    let taken = seconds() - start;
    println_rate(COUNT as f64 / taken)?;
    Ok(())
}

/// CPU time of the thread, in seconds.
fn seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn println_rate(rate: f64) -> std::io::Result<()> {
    use std::io::Write as _;
    writeln!(
        std::io::stdout(),
        "{rate:.0} choices in a second of CPU time"
    )
}
