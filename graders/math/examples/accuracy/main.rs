//! Grades labelled rows and compares the verdicts with the labels, by kind.
//!
//! `cargo run -p assay-math --example accuracy -- [--all] [--KEY=VALUE] FILE.jsonl …`. A row has
//! `completion`, a `gold` (a text or a list), `expected` (`true`, `false` or a verdict), and may have
//! `kind`, `id` and `options` (keys of the task). A golden case, with `task` and `verdict`, is a row
//! too. Each miss is printed; `--all` prints every row. `--rounding=auto` sets a key of the tasks that
//! have none.

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

/// The task of a row, with the keys that the command line adds.
fn task(row: &Value, keys: &[(&str, &str)]) -> io::Result<Box<RawValue>> {
    let mut task = row["task"].as_object().cloned().unwrap_or_else(|| {
        let mut task = Map::new();
        task.insert("type".to_owned(), "math".into());
        task.insert("answer".to_owned(), row["gold"].clone());
        task
    });
    if let Some(options) = row["options"].as_object() {
        task.extend(options.clone());
    }
    for (key, value) in keys {
        task.entry(*key).or_insert_with(|| (*value).into());
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
    let keys: Vec<(&str, &str)> = flags
        .iter()
        .filter_map(|flag| flag.strip_prefix("--")?.split_once('='))
        .collect();
    let mut kinds: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let mut out = io::stdout().lock();
    for file in &files {
        for line in fs::read_to_string(file)?.lines() {
            let row: Value = serde_json::from_str(line)?;
            let verdict = verdict(
                &task(&row, &keys)?,
                row["completion"].as_str().unwrap_or_default(),
            );
            let expected = if row["verdict"].is_string() {
                &row["verdict"]
            } else {
                &row["expected"]
            };
            let right = agrees(expected, &verdict);
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
                    expected,
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
