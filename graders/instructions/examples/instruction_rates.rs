//! Instructions that the grader checks in a second of CPU time: every published one, on the
//! responses of the tests and on one of 200 words.

use std::io::Write as _;
use std::sync::Arc;

use assay_core::{GradeContext, GraderTable, Item, PrepareContext, Task};
use assay_instructions::InstructionsGrader;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// How often each response is checked.
const ROUNDS: usize = 100;

const LONG: &str = "The river ran past the old mill, and nobody had seen it as high in a long time. \
    It carried leaves and branches, and a few boards of the bridge. ";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = GraderTable::new(vec![Arc::new(InstructionsGrader)]);
    let long = Item::text(&LONG.repeat(7));
    let (mut short_taken, mut long_taken, mut checks) = (0.0, 0.0, 0_usize);
    let mut slowest = (0.0, String::new());
    for line in include_str!("../tests/examples.jsonl").lines() {
        let example: Value = serde_json::from_str(line)?;
        let task = json!({ "type": "instructions",
            "constraints": [{ "id": example["id"], "kwargs": example["kwargs"] }] });
        let task = Task::from_json(&task.to_string())?;
        let prepared = table
            .get(&task)?
            .prepare(&task, &PrepareContext::new(&table))?;
        let short = Item::text(example["right"].as_str().unwrap_or_default());
        let taken = |item: &Item| {
            let start = seconds();
            for _ in 0..ROUNDS {
                futures::executor::block_on(prepared.grade(&[item], &GradeContext::default()));
            }
            seconds() - start
        };
        short_taken += taken(&short);
        let own = taken(&long);
        long_taken += own;
        checks += ROUNDS;
        if own > slowest.0 {
            slowest = (own, example["id"].to_string());
        }
    }
    let rate = |taken: f64| checks as f64 / taken;
    writeln!(
        std::io::stdout(),
        "checks in a second of CPU time: {:.0} of short responses, {:.0} of 200 words; slowest {}: {:.0}",
        rate(short_taken),
        rate(long_taken),
        slowest.1,
        ROUNDS as f64 / slowest.0
    )?;
    Ok(())
}

/// CPU time of the thread, in seconds.
fn seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
