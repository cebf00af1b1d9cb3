//! `calls`: compares the speed of grading tool calls with the AST checker of the Berkeley
//! Function Calling Leaderboard, in one run on one machine: calls that are decoded already are
//! compared on both sides; from their text, which includes evidence on this side, and decoding and
//! checking on the other; and with the task, which is read and prepared for each output. Times are
//! processor time, each side the best of alternating rounds.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, ensure};
use assay_core::{Grader, GraderTable, Item, PrepareContext, Prepared, Task};
use assay_tests::compared;
use assay_tests::processes::cpu_of_this;
use assay_tools::{Calls, Checker, ToolsGrader};
use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Compare the speed of grading tool calls with BFCL's checker.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The Python interpreter to compare with, one for which `bfcl-eval` is installed
    #[arg(long, default_value = "python3")]
    python: String,
    /// Rounds of each side
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Number of checks of each output per round
    #[arg(long, default_value_t = 2_000)]
    times: usize,
}

/// A task and outputs for it.
#[derive(Deserialize)]
struct Set {
    tools: Value,
    expected: Value,
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
struct Output {
    valid: bool,
    calls: Vec<Map<String, Value>>,
}

impl Output {
    fn text(&self) -> String {
        let calls = self.calls.iter().flatten();
        let written = calls.map(|(name, arguments)| {
            let call = json!({"name": name, "arguments": arguments});
            format!("<tool_call>\n{call}\n</tool_call>")
        });
        written.collect::<Vec<_>>().join("\n")
    }
}

#[expect(clippy::print_stdout, reason = "a report is what this binary is for")]
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let text = std::fs::read_to_string("tests/load/calls/cases.json")
        .context("run in the root of the repository")?;
    let sets: Vec<Set> = serde_json::from_str(&text)?;
    let all: Value = serde_json::from_str(&text)?;
    let texts: Vec<_> = sets
        .iter()
        .map(|set| set.outputs.iter().map(Output::text).collect::<Vec<_>>())
        .collect();
    let work = json!({"times": arguments.times, "sets": all, "texts": texts});
    let ready = ready(&sets)?;
    let (mut python, mut here) = ([f64::INFINITY; 3], [f64::INFINITY; 3]);
    for _ in 0..arguments.rounds {
        compared::best(
            &mut python,
            compared::in_python(&arguments.python, "tests/load/calls/check.py", &work)?,
        );
        compared::best(
            &mut here,
            [
                compared(&ready, arguments.times)?,
                graded(&ready, arguments.times)?,
                with_task(&ready, arguments.times.div_ceil(10))?,
            ],
        );
    }
    println!("{} outputs of {} tasks", ready.len(), sets.len());
    for (what, python, here) in [
        ("calls compared", python[0], here[0]),
        ("from text", python[1], here[1]),
        ("with the task", python[2], here[2]),
    ] {
        println!(
            "  {what}: BFCL {:.1} us an output, here {:.2} us: {:.1} x",
            1e6 * python,
            1e6 * here,
            python / here
        );
    }
    Ok(())
}

/// One output, prepared for this side.
struct Ready {
    checker: Arc<Checker>,
    task: Value,
    prepared: Arc<dyn Prepared>,
    calls: Calls,
    item: Item,
    valid: bool,
}

fn ready(sets: &[Set]) -> anyhow::Result<Vec<Ready>> {
    let table = GraderTable::new(Vec::new());
    let mut ready = Vec::new();
    for set in sets {
        let json =
            json!({"type": "tools", "mode": "bfcl", "tools": set.tools, "expected": set.expected});
        let task = Task::from_json(&json.to_string())?;
        let prepared = ToolsGrader.prepare(&task, &PrepareContext::new(&table))?;
        let checker = Arc::new(Checker::new(&task)?);
        for output in &set.outputs {
            let item = Item::text(&output.text());
            let (checker, prepared) = (Arc::clone(&checker), Arc::clone(&prepared));
            ready.push(Ready {
                calls: checker.read(&item),
                checker,
                task: json.clone(),
                prepared,
                item,
                valid: output.valid,
            });
        }
    }
    Ok(ready)
}

/// Processor time of an output whose calls are already parsed, in seconds.
fn compared(ready: &[Ready], times: usize) -> anyhow::Result<f64> {
    let begun = cpu_of_this();
    for _ in 0..times {
        for output in ready {
            ensure!(
                output.checker.agrees(black_box(&output.calls)) == output.valid,
                "the sides disagree"
            );
        }
    }
    Ok(cpu_of_this().saturating_sub(begun).as_secs_f64() / (times * ready.len()) as f64)
}

/// Processor time of an output graded from its text, in seconds.
fn graded(ready: &[Ready], times: usize) -> anyhow::Result<f64> {
    let items: Vec<_> = ready
        .iter()
        .map(|output| (output.prepared.as_ref(), &output.item, output.valid))
        .collect();
    compared::graded(&items, times)
}

/// Processor time of an output graded from its text and the text of its task, in seconds.
fn with_task(ready: &[Ready], times: usize) -> anyhow::Result<f64> {
    let items: Vec<_> = ready
        .iter()
        .map(|output| (output.task.clone(), &output.item, output.valid))
        .collect();
    compared::with_task(&ToolsGrader, &items, times)
}
