//! `assay-calls`: calls of tools graded by this service beside the AST checker of the Berkeley Function Calling Leaderboard, in one run
//! on one machine: calls that are decoded already are compared on both sides; and from their text, which is a grade with its evidence
//! here, and decoding and checking there. Times are processor time, each side the best of rounds taken in turns.

use std::hint::black_box;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use anyhow::{Context, bail, ensure};
use assay_core::{GradeContext, Grader, GraderTable, Item, Outcome, PrepareContext, Prepared, Task};
use assay_tests::processes::cpu_of_this;
use assay_tools::{Calls, Checker, ToolsGrader};
use clap::Parser;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Time calls beside BFCL's checker.
#[derive(Parser)]
struct Arguments {
    /// The Python interpreter to compare with, one for which `bfcl-eval` is installed
    #[arg(long, default_value = "python3")]
    python: String,
    /// Rounds of each side
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Times each output is checked in a round
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
fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let text = std::fs::read_to_string("tests/load/calls/cases.json").context("run in the root of the repository")?;
    let sets: Vec<Set> = serde_json::from_str(&text)?;
    let all: Value = serde_json::from_str(&text)?;
    let texts: Vec<_> = sets.iter().map(|set| set.outputs.iter().map(Output::text).collect::<Vec<_>>()).collect();
    let work = json!({"times": arguments.times, "sets": all, "texts": texts}).to_string();
    let ready = ready(&sets)?;
    let (mut python, mut here) = ([f64::INFINITY; 2], [f64::INFINITY; 2]);
    for _ in 0..arguments.rounds {
        best(&mut python, in_python(&arguments.python, &work)?);
        best(&mut here, [compared(&ready, arguments.times)?, graded(&ready, arguments.times)?]);
    }
    println!("{} outputs of {} tasks", ready.len(), sets.len());
    for (what, python, here) in [("calls compared", python[0], here[0]), ("from text", python[1], here[1])] {
        println!("  {what}: BFCL {:.1} us an output, here {:.2} us: {:.1} x", 1e6 * python, 1e6 * here, python / here);
    }
    Ok(())
}

fn best(best: &mut [f64; 2], found: [f64; 2]) {
    for (best, found) in best.iter_mut().zip(found) {
        *best = best.min(found);
    }
}

/// One output as this side sees it.
struct Ready {
    checker: Arc<Checker>,
    prepared: Arc<dyn Prepared>,
    calls: Calls,
    item: Item,
    valid: bool,
}

fn ready(sets: &[Set]) -> anyhow::Result<Vec<Ready>> {
    let table = GraderTable::new(Vec::new());
    let mut ready = Vec::new();
    for set in sets {
        let task = json!({"type": "tools", "mode": "bfcl", "tools": set.tools, "expected": set.expected});
        let task = Task::from_json(&task.to_string())?;
        let prepared = ToolsGrader.prepare(&task, &PrepareContext::new(&table))?;
        let checker = Arc::new(Checker::new(&task)?);
        for output in &set.outputs {
            let item = Item::text(&output.text());
            let (checker, prepared) = (Arc::clone(&checker), Arc::clone(&prepared));
            ready.push(Ready { calls: checker.read(&item), checker, prepared, item, valid: output.valid });
        }
    }
    Ok(ready)
}

/// Processor time of an output whose calls are read already, in seconds.
fn compared(ready: &[Ready], times: usize) -> anyhow::Result<f64> {
    let begun = cpu_of_this();
    for _ in 0..times {
        for output in ready {
            ensure!(output.checker.agrees(black_box(&output.calls)) == output.valid, "the sides disagree");
        }
    }
    Ok(cpu_of_this().saturating_sub(begun).as_secs_f64() / (times * ready.len()) as f64)
}

/// Processor time of an output graded from its text, in seconds.
fn graded(ready: &[Ready], times: usize) -> anyhow::Result<f64> {
    let context = GradeContext::default();
    let begun = cpu_of_this();
    for _ in 0..times {
        for output in ready {
            let items = [black_box(&output.item)];
            let mut grade = output.prepared.grade(&items, &context);
            let Poll::Ready(outcomes) = grade.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())) else {
                bail!("a grader of the `cpu` lane never waits");
            };
            let right = matches!(&outcomes[..], [Outcome::Graded(grade)] if (grade.verdict.as_str() == "correct") == output.valid);
            ensure!(right, "the sides disagree: {outcomes:?}");
        }
    }
    Ok(cpu_of_this().saturating_sub(begun).as_secs_f64() / (times * ready.len()) as f64)
}

/// Processor times of an output in Python, in seconds: checked, and decoded and checked.
fn in_python(python: &str, work: &str) -> anyhow::Result<[f64; 2]> {
    let mut child = Command::new(python)
        .arg("tests/load/calls/check.py")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{python}` is what calls are compared with"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(work.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let ended = output.status;
    ensure!(
        ended.success(),
        "`{python}` ended with {ended}; `pip install --no-deps bfcl-eval` for it, or name another by `--python`"
    );
    let text = String::from_utf8(output.stdout)?;
    let times: Vec<f64> =
        text.split_whitespace().map(str::parse).collect::<Result<_, _>>().context("two numbers of seconds")?;
    times.try_into().map_err(|_| anyhow::anyhow!("two numbers of seconds, not `{text}`"))
}
