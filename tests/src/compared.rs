//! Times this service and a Python package: processor time on both sides, each the best of
//! alternating rounds.

use std::hint::black_box;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use assay_core::{
    GradeContext, Grader, GraderTable, Item, Outcome, PrepareContext, Prepared, Task,
};
use serde_json::Value;

use crate::processes::cpu_of_this;

/// Keeps the smaller of each pair of times.
pub fn best<const N: usize>(best: &mut [f64; N], found: [f64; N]) {
    for (best, found) in best.iter_mut().zip(found) {
        *best = best.min(found);
    }
}

/// Processor time of an item graded on this thread, in seconds. Each comes with its prepared task,
/// of the `cpu` lane, and whether it is correct.
///
/// # Errors
/// If a verdict differs from the expected one.
pub fn graded(items: &[(&dyn Prepared, &Item, bool)], times: usize) -> anyhow::Result<f64> {
    let begun = cpu_of_this();
    for _ in 0..times {
        for (prepared, item, valid) in items {
            grade(*prepared, item, *valid)?;
        }
    }
    Ok(cpu_of_this().saturating_sub(begun).as_secs_f64() / (times * items.len()) as f64)
}

/// Grades an item and compares the verdict.
fn grade(prepared: &dyn Prepared, item: &Item, valid: bool) -> anyhow::Result<()> {
    let (items, context) = ([black_box(item)], GradeContext::default());
    let mut grade = prepared.grade(&items, &context);
    let Poll::Ready(outcomes) = grade
        .as_mut()
        .poll(&mut TaskContext::from_waker(Waker::noop()))
    else {
        bail!("a grader of the `cpu` lane never waits");
    };
    let right = matches!(&outcomes[..], [Outcome::Graded(grade)] if (grade.verdict.as_str() == "correct") == valid);
    ensure!(right, "the sides disagree: {outcomes:?}");
    Ok(())
}

/// Processor time of an item whose task is read, checked and prepared for it alone, in seconds.
/// [`ROUND`] in a task is another text each time, so that nothing of it is shared.
///
/// # Errors
/// If a task is invalid, or a verdict differs from the expected one.
pub fn with_task(
    grader: &dyn Grader,
    items: &[(Value, &Item, bool)],
    times: usize,
) -> anyhow::Result<f64> {
    let table = GraderTable::new(Vec::new());
    let cx = PrepareContext::new(&table);
    let mut taken = Duration::ZERO;
    for round in 0..times {
        let round_items = items.iter().map(|(task, item, valid)| {
            let text = task.to_string().replace(ROUND, &round.to_string());
            (text, *item, *valid)
        });
        let round_items: Vec<_> = round_items.collect();
        let begun = cpu_of_this();
        for (text, item, valid) in &round_items {
            let task = Task::from_json(text)?;
            let prepared = match grader.check_and_prepare(&task, &cx)? {
                Some(prepared) => prepared,
                None => grader.prepare(&task, &cx)?,
            };
            grade(prepared.as_ref(), item, *valid)?;
        }
        taken += cpu_of_this().saturating_sub(begun);
    }
    Ok(taken.as_secs_f64() / (times * items.len()) as f64)
}

/// What is replaced by the number of the round in the tasks of [`with_task`].
pub const ROUND: &str = "ROUND";

/// Times in seconds that a program prints for work that it reads as JSON from standard input.
///
/// # Errors
/// If the interpreter is missing, or the program fails, as it does without its packages.
pub fn in_python<const N: usize>(
    python: &str,
    program: &str,
    work: &Value,
) -> anyhow::Result<[f64; N]> {
    let mut child = Command::new(python)
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{python}` is what this is compared with"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(work.to_string().as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let ended = output.status;
    ensure!(
        ended.success(),
        "`{program}` ended with {ended}; its first lines say which packages it needs"
    );
    let text = String::from_utf8(output.stdout)?;
    let times: Vec<f64> = text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .context("seconds")?;
    times
        .try_into()
        .map_err(|_| anyhow::anyhow!("`{program}` prints {N} numbers of seconds, not `{text}`"))
}
