//! `assay-calls`: calls of tools graded by this service beside the AST checker of the Berkeley Function Calling Leaderboard, in one run
//! on one machine. There the calls are decoded before the clock starts; here they are read from text. Times are processor time, each
//! side the best of rounds taken in turns.

use std::hint::black_box;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use anyhow::{Context, bail, ensure};
use assay_core::{GradeContext, Grader, GraderTable, Item, Outcome, PrepareContext, Prepared, Task};
use assay_tests::processes::cpu_of_this;
use assay_tools::ToolsGrader;
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
    fn item(&self) -> Item {
        let calls = self.calls.iter().flatten();
        let written = calls.map(|(name, arguments)| {
            let call = json!({"name": name, "arguments": arguments});
            format!("<tool_call>\n{call}\n</tool_call>")
        });
        Item::text(&written.collect::<Vec<_>>().join("\n"))
    }
}

#[expect(clippy::print_stdout, reason = "a report is what this binary is for")]
fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let text = std::fs::read_to_string("tests/load/calls/cases.json").context("run in the root of the repository")?;
    let sets: Vec<Set> = serde_json::from_str(&text)?;
    let work = json!({"times": arguments.times, "sets": serde_json::from_str::<Value>(&text)?}).to_string();
    let tasks = sets.iter().map(task).collect::<anyhow::Result<Vec<_>>>()?;
    let (mut python, mut prepared, mut anew) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    for _ in 0..arguments.rounds {
        python = python.min(in_python(&arguments.python, &work)?);
        prepared = prepared.min(graded(&sets, &tasks, arguments.times, false)?);
        anew = anew.min(graded(&sets, &tasks, arguments.times, true)?);
    }
    let outputs: usize = sets.iter().map(|set| set.outputs.len()).sum();
    println!("{outputs} outputs of {} tasks: BFCL's checker {:.1} us an output", sets.len(), 1e6 * python);
    for (what, here) in [("tasks prepared once", prepared), ("task prepared anew for each", anew)] {
        println!("  here, {what}: {:.2} us, {:.1} x", 1e6 * here, python / here);
    }
    Ok(())
}

fn task(set: &Set) -> anyhow::Result<Task> {
    let task = json!({"type": "tools", "mode": "bfcl", "tools": set.tools, "expected": set.expected});
    Ok(Task::from_json(&task.to_string())?)
}

/// Processor time of an output graded from its text, in seconds.
fn graded(sets: &[Set], tasks: &[Task], times: usize, anew: bool) -> anyhow::Result<f64> {
    let table = GraderTable::new(Vec::new());
    let cx = PrepareContext::new(&table);
    let prepare = |task: &Task| -> anyhow::Result<Arc<dyn Prepared>> { Ok(ToolsGrader.prepare(task, &cx)?) };
    let mut ready = Vec::new();
    for (set, task) in sets.iter().zip(tasks) {
        let prepared = prepare(task)?;
        ready.extend(set.outputs.iter().map(|output| (task, Arc::clone(&prepared), output.item(), output.valid)));
    }
    let context = GradeContext::default();
    let begun = cpu_of_this();
    for _ in 0..times {
        for (task, prepared, item, valid) in &ready {
            let prepared = if anew { prepare(black_box(task))? } else { Arc::clone(prepared) };
            let items = [black_box(item)];
            let mut grade = prepared.grade(&items, &context);
            let Poll::Ready(outcomes) = grade.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())) else {
                bail!("a grader of the `cpu` lane never waits");
            };
            let right =
                matches!(&outcomes[..], [Outcome::Graded(grade)] if (grade.verdict.as_str() == "correct") == *valid);
            ensure!(right, "the sides disagree: {outcomes:?}");
        }
    }
    Ok(cpu_of_this().saturating_sub(begun).as_secs_f64() / (times * ready.len()) as f64)
}

/// Processor time of an output in Python, in seconds.
fn in_python(python: &str, work: &str) -> anyhow::Result<f64> {
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
    String::from_utf8(output.stdout)?.trim().parse().context("a number of seconds")
}
