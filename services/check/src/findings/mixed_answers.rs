//! `mixed-answers`: nearly all `math` golds are of one kind, and this one is of another.

use std::collections::BTreeMap;

use super::code::{Code, code};
use super::rule::DatasetRule;
use super::{Sink, gold_missing};
use crate::graded_row::{GradedRow, excerpt};
use crate::probes::Purpose;
use crate::row::RowLocation;
use crate::thresholds::is_share;

pub(super) const CODE: Code = code!("mixed-answers", Warning);

/// Minimum number of golds for a finding.
const MIN_GOLDS: u64 = 20;

/// Maximum number of rows kept per kind.
const MAX_ROWS_PER_KIND: usize = 1_000;

/// The kind of a gold, by its characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AnswerKind {
    Number,
    Letter,
    Words,
    Expression,
}

impl AnswerKind {
    fn of(gold: &str) -> Self {
        let gold = gold.trim().trim_matches('$').trim();
        let figure =
            |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | ',' | '/' | '%' | ' ');
        if gold.chars().all(figure) {
            return Self::Number;
        }
        let letters = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'');
        match gold.chars().count() {
            1 if gold.chars().all(|c| c.is_ascii_uppercase()) => Self::Letter,
            2.. if gold.chars().all(letters) => Self::Words,
            _ => Self::Expression,
        }
    }

    fn singular(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Letter => "a letter",
            Self::Words => "words",
            Self::Expression => "an expression",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Number => "numbers",
            Self::Letter => "letters",
            Self::Words => "words",
            Self::Expression => "expressions",
        }
    }
}

/// The golds so far, by kind.
#[derive(Default)]
pub(super) struct AnswerKinds(BTreeMap<AnswerKind, Golds>);

#[derive(Default)]
struct Golds {
    count: u64,
    /// Location, key and gold of the first rows.
    first: Vec<(RowLocation, String, String)>,
}

impl DatasetRule for AnswerKinds {
    fn add_row(&mut self, row: &GradedRow, _sink: &mut Sink<'_>) {
        let (Some("math"), Ok(subject)) = (row.kind(), &row.subject) else {
            return;
        };
        // Golds that do not pass have findings of their own.
        let is_gold = |purpose| matches!(purpose, Purpose::Gold { .. });
        if !row
            .graded()
            .any(|(probe, grade)| is_gold(probe.purpose) && grade.pass)
        {
            return;
        }
        let Some(gold) = subject
            .body
            .get("answer")
            .and_then(serde_json::Value::as_str)
        else {
            return;
        };
        if gold_missing::applies(gold) {
            return;
        }
        let golds = self.0.entry(AnswerKind::of(gold)).or_default();
        golds.count += 1;
        if golds.first.len() < MAX_ROWS_PER_KIND {
            golds
                .first
                .push((row.location.clone(), row.key.clone(), excerpt(gold)));
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        let all: u64 = self.0.values().map(|golds| golds.count).sum();
        let share = sink.thresholds().main_answer_share;
        let main = self
            .0
            .iter()
            .find(|(_, golds)| is_share(golds.count, all, share))
            .map(|(kind, _)| *kind);
        let Some(main) = main.filter(|_| all >= MIN_GOLDS) else {
            return;
        };
        for (kind, golds) in self.0.iter().filter(|(kind, _)| **kind != main) {
            for (location, key, gold) in &golds.first {
                let message = format!(
                    "the gold `{gold}` is {}, but nearly all others are {}",
                    kind.singular(),
                    main.plural()
                );
                sink.add(&CODE, location, key, message);
            }
        }
    }
}
