//! Which rule decides how many comparisons of a file of cases: rules that decide none are dead, or
//! the cases lack their kind.
//!
//! `cargo run -p assay-math --example rules -- FILE.jsonl …`; without a file, the golden cases. A
//! line is a row for `assay grade` (`completion`, `task`), or a pair (`gold`, `pred`, and `form` =
//! `completion` where the answer has to be found first).

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::{env, fs};

use assay_extraction::{self, Options as Extraction};
use assay_math::{Options, Rule, equivalent};
use serde_json::Value;

const CASES: &str = include_str!("../../../tests/cases/math.jsonl");

/// The golds and the answer of a row; `None` where it has none.
fn pair(row: &Value) -> Option<(Vec<String>, String)> {
    let texts = |value: &Value| match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    };
    let golds = texts(row.get("gold").or_else(|| row.get("task")?.get("answer"))?)?;
    let answer = row
        .get("pred")
        .or_else(|| row.get("completion"))?
        .as_str()?;
    let bare =
        row.get("pred").is_some() && row.get("form").and_then(Value::as_str) != Some("completion");
    if bare {
        return Some((golds, answer.to_owned()));
    }
    let found = assay_extraction::extract(answer, &Extraction::default())?;
    Some((golds, found.text.into_owned()))
}

fn main() -> io::Result<()> {
    let files: Vec<String> = env::args().skip(1).collect();
    let mut text = String::new();
    for file in &files {
        text.push_str(&fs::read_to_string(file)?);
        text.push('\n');
    }
    if files.is_empty() {
        text.push_str(CASES);
    }
    let mut counts: BTreeMap<&str, [u64; 2]> = Rule::ALL
        .iter()
        .map(|rule| (rule.as_str(), [0; 2]))
        .collect();
    let mut without = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line)?;
        let Some((golds, answer)) = pair(&row) else {
            without += 1;
            continue;
        };
        let mut last = None;
        for gold in &golds {
            let found = equivalent(gold, &answer, &Options::default());
            let equal = found.equal;
            last = Some(found);
            if equal {
                break;
            }
        }
        if let Some(found) = last
            && let Some([equal, different]) = counts.get_mut(found.rule.as_str())
        {
            *(if found.equal { equal } else { different }) += 1;
        }
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{:16}{:>8}{:>11}", "rule", "equal", "different")?;
    for (rule, [equal, different]) in &counts {
        let dead = if equal + different == 0 { "  none" } else { "" };
        writeln!(out, "{rule:16}{equal:>8}{different:>11}{dead}")?;
    }
    writeln!(out, "rows without an answer: {without}")
}
