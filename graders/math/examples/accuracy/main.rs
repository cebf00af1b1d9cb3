//! Grades labelled rows and compares the verdicts with the labels, by kind.
//!
//! `cargo run -p assay-math --example accuracy -- [--all] FILE.jsonl …`. A row has `completion`, a
//! `gold` (a text or a list), `expected` (`true`, `false` or a verdict), and may have `kind`, `id`
//! and `options` (keys of the task). Each miss is printed; `--all` prints every row.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::{env, fs};

use assay_core::{GradeContext, Grader as _, GraderTable, Item, Outcome, PrepareContext, Task};
use assay_math::MathGrader;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The verdict of a row, or the word of an outcome without one.
fn verdict(task: &RawValue, completion: &str) -> String {
    let table = GraderTable::new(Vec::new());
    let cx = PrepareContext::new(&table);
    let outcome = match Task::from_raw(task) {
        Err(error) => return error.to_string(),
        Ok(task) => match MathGrader.prepare(&task, &cx) {
            Ok(prepared) => {
                let item = Item::text(completion);
                let items = [&item];
                let context = GradeContext::default();
                let mut graded = prepared.grade(&items, &context);
                let waker = &mut Context::from_waker(Waker::noop());
                match Pin::new(&mut graded).poll(waker) {
                    Poll::Ready(mut outcomes) => outcomes.pop(),
                    Poll::Pending => None,
                }
            }
            Err(error) => Some(Outcome::from(error)),
        },
    };
    match &outcome {
        Some(Outcome::Graded(grade)) => grade.verdict.as_str().to_owned(),
        Some(other) => other.as_str().to_owned(),
        None => String::new(),
    }
}

/// The task of a row.
fn task(row: &Value) -> io::Result<Box<RawValue>> {
    let mut task = Map::new();
    task.insert("type".to_owned(), "math".into());
    task.insert("answer".to_owned(), row["gold"].clone());
    if let Some(options) = row["options"].as_object() {
        task.extend(options.clone());
    }
    Ok(serde_json::value::to_raw_value(&Value::Object(task))?)
}

/// `true` if the verdict is what the label says.
fn agrees(expected: &Value, verdict: &str) -> bool {
    match expected {
        Value::Bool(expected) => *expected == (verdict == "correct"),
        Value::String(expected) => expected == verdict,
        _ => false,
    }
}

fn main() -> io::Result<()> {
    let (flags, files): (Vec<String>, Vec<String>) =
        env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let all = flags.iter().any(|flag| flag == "--all");
    let mut kinds: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let mut out = io::stdout().lock();
    for file in &files {
        for line in fs::read_to_string(file)?.lines() {
            let row: Value = serde_json::from_str(line)?;
            let verdict = verdict(&task(&row)?, row["completion"].as_str().unwrap_or_default());
            let right = agrees(&row["expected"], &verdict);
            let kind = row["kind"].as_str().unwrap_or("other");
            let [agreed, rows] = kinds.entry(kind.to_owned()).or_default();
            *agreed += u64::from(right);
            *rows += 1;
            if all || !right {
                writeln!(
                    out,
                    "{} {} {} gold {} completion {} options {} expected {} got {verdict}",
                    if right { "right" } else { "MISS" },
                    row["id"],
                    kind,
                    row["gold"],
                    row["completion"],
                    row["options"],
                    row["expected"],
                )?;
            }
        }
    }
    let mut total = [0; 2];
    for (kind, [agreed, rows]) in &kinds {
        writeln!(out, "{agreed:6} of {rows:6} {kind}")?;
        total = [total[0] + agreed, total[1] + rows];
    }
    writeln!(out, "{:6} of {:6} in all", total[0], total[1])
}
