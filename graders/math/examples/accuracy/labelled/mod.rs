//! About 3,700 labelled pairs of every kind of answer, and how the grader agrees with them. Most
//! pairs are drawn from templates; `written.jsonl` has the ones that a template cannot express.

mod algebra;
mod collections;
mod numbers;
mod templates;

use std::collections::BTreeMap;

use assay_core::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use templates::{Pair, pairs};

/// Rows written by hand. A row that the grader is known to miss has a `reason`.
const WRITTEN: &str = include_str!("written.jsonl");

/// Texts of templates that the grader is known to miss, with reasons.
const KNOWN_MISSES: &str = include_str!("known_misses.jsonl");

/// The counts of each kind that the grader must reach.
const TABLE: &str = include_str!("table.json");

/// A labelled row.
#[derive(Deserialize)]
pub(crate) struct Row {
    #[serde(default)]
    pub(crate) id: String,
    #[serde(default = "other")]
    pub(crate) kind: String,
    /// A gold or a list of golds.
    pub(crate) gold: Value,
    pub(crate) completion: String,
    /// Further keys of the task.
    #[serde(default)]
    pub(crate) options: Map<String, Value>,
    /// `true`, `false`, or a verdict.
    pub(crate) expected: Value,
    /// Why the grader is known to miss the row.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

fn other() -> String {
    "other".to_owned()
}

#[derive(Deserialize)]
struct KnownMiss {
    gold: String,
    answer: String,
    reason: String,
}

/// Ways to give an answer in a completion.
const COMPLETIONS: [[&str; 2]; 4] = [
    [r"So we obtain \boxed{", "}."],
    ["Therefore the answer is\n$$\\boxed{", "}$$"],
    [r"<think>Let me check.</think>\boxed{", "}"],
    [r"**Answer:** $\boxed{", "}$"],
];

impl Row {
    /// The rows of a file.
    ///
    /// # Errors
    /// The error of the first line that is not a row.
    pub(crate) fn all(file: &str) -> serde_json::Result<Vec<Self>> {
        file.lines().map(serde_json::from_str).collect()
    }

    fn drawn(at: usize, pair: Pair, known: &[KnownMiss]) -> Self {
        let [before, after] = COMPLETIONS[at % COMPLETIONS.len()];
        let is_known = |miss: &&KnownMiss| [&*miss.gold, &*miss.answer] == pair.templates;
        Self {
            id: format!("D{at:04}"),
            kind: pair.kind.to_owned(),
            gold: pair.gold.into(),
            completion: format!("{before}{}{after}", pair.answer),
            options: Map::new(),
            expected: pair.equal.into(),
            reason: known.iter().find(is_known).map(|miss| miss.reason.clone()),
        }
    }

    /// The task of the row.
    ///
    /// # Errors
    /// Never: every value is JSON.
    pub(crate) fn task(&self) -> serde_json::Result<Box<RawValue>> {
        let mut task = self.options.clone();
        task.insert("type".to_owned(), "math".into());
        task.insert("answer".to_owned(), self.gold.clone());
        serde_json::value::to_raw_value(&task)
    }

    /// The row as a line of a file.
    pub(crate) fn line(&self) -> String {
        let Self {
            id,
            kind,
            gold,
            completion,
            options,
            expected,
            reason: _,
        } = self;
        json!({
            "id": id, "kind": kind, "gold": gold, "completion": completion, "options": options,
            "expected": expected,
        })
        .to_string()
    }

    /// Whether an outcome is what the label says.
    pub(crate) fn agrees(&self, outcome: &Outcome) -> bool {
        let verdict = verdict(outcome);
        match &self.expected {
            Value::Bool(expected) => *expected == (verdict == "correct"),
            Value::String(expected) => expected == verdict,
            _ => false,
        }
    }
}

/// The verdict, or the word of an outcome without one.
pub(crate) fn verdict(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Graded(grade) => grade.verdict.as_str(),
        other => other.as_str(),
    }
}

/// All rows of this folder.
///
/// # Panics
/// If a line of its files is malformed.
pub(crate) fn rows() -> Vec<Row> {
    let known: Vec<KnownMiss> = (KNOWN_MISSES.lines())
        .map(|line| serde_json::from_str(line).expect("a known miss"))
        .collect();
    let drawn = [numbers::NUMBERS, algebra::ALGEBRA, collections::COLLECTIONS]
        .into_iter()
        .flat_map(pairs);
    let mut rows: Vec<Row> = (drawn.enumerate())
        .map(|(at, pair)| Row::drawn(at, pair, &known))
        .collect();
    let written = Row::all(WRITTEN).expect("rows");
    rows.extend((0..).zip(written).map(|(at, row)| Row {
        id: format!("W{at:03}"),
        ..row
    }));
    rows
}

/// How the grader agrees with the rows of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) rows: u64,
    pub(crate) agreed: u64,
    /// Rows with a `reason` that the grader misses.
    pub(crate) known_misses: u64,
    /// Rows that are equal by label and by verdict.
    pub(crate) equal: u64,
    /// Those of them in which both sides have the same normal form.
    pub(crate) one_form: u64,
}

impl Counts {
    /// Counts one more row.
    pub(crate) fn add(&mut self, row: &Row, outcome: &Outcome) {
        let agrees = row.agrees(outcome);
        self.rows += 1;
        self.agreed += u64::from(agrees);
        self.known_misses += u64::from(!agrees && row.reason.is_some());
        if agrees && verdict(outcome) == "correct" {
            self.equal += 1;
            self.one_form += u64::from(two_forms(outcome).is_none());
        }
    }

    /// Adds the counts of other rows.
    pub(crate) fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.agreed += other.agreed;
        self.known_misses += other.known_misses;
        self.equal += other.equal;
        self.one_form += other.one_form;
    }
}

/// The canonical forms of the gold and of a correct answer, each by itself and with the default
/// options, if they differ.
pub(crate) fn two_forms(outcome: &Outcome) -> Option<[String; 2]> {
    let Outcome::Graded(grade) = outcome else {
        return None;
    };
    let evidence = grade.evidence.facts();
    let form = |key| {
        let text = evidence.get(key).and_then(|text| text.as_str())?;
        assay_math::normal_form(text, &assay_math::Options::default())
    };
    let forms = ["gold", "extracted"].map(form);
    let differ = verdict(outcome) == "correct" && forms[0] != forms[1];
    differ.then(|| forms.map(Option::unwrap_or_default))
}

/// Counts by kind.
pub(crate) type Table = BTreeMap<String, Counts>;

/// The counts that the grader must reach.
///
/// # Panics
/// If the file is malformed.
pub(crate) fn table() -> Table {
    serde_json::from_str(TABLE).expect("counts by kind")
}

/// The kinds in which fewer verdicts or forms are right than the table says, one line for each.
pub(crate) fn drops(found: &Table) -> Vec<String> {
    let mut drops = Vec::new();
    for (kind, expected) in table() {
        let found = found.get(&kind).copied().unwrap_or_default();
        if found.agreed < expected.agreed
            || found.one_form < expected.one_form
            || found.rows != expected.rows
        {
            drops.push(format!("`{kind}` has {found:?}, expected {expected:?}"));
        }
    }
    drops
}
