//! `mixed-answers`: nearly all golds of mathematics are of one kind, and this one is of another.

use std::collections::BTreeMap;

use super::{Code, Severity, Sink, Survey, gold_missing};
use crate::examined::{Examined, shown};
use crate::probes::Purpose;
use crate::row::Place;

pub(super) const CODE: Code = Code {
    name: "mixed-answers",
    severity: Severity::Warning,
    title: "the gold is of another kind than nearly all others",
};

/// Fewest golds of which a rule can be said.
const FEWEST: u64 = 20;

/// Share of the golds, in hundredths, that makes their kind the rule.
const RULE: u64 = 95;

/// Rows remembered of each kind. A kind with more is none that slipped in.
const MOST: usize = 1_000;

/// What a gold looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Number,
    Letter,
    Words,
    Expression,
}

impl Kind {
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

    fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Letter => "a letter",
            Self::Words => "words",
            Self::Expression => "an expression",
        }
    }
}

/// Golds so far, by their kind.
#[derive(Default)]
pub(super) struct Answers(BTreeMap<Kind, Seen>);

#[derive(Default)]
struct Seen {
    count: u64,
    first: Vec<(Place, String, String)>,
}

impl Survey for Answers {
    fn note(&mut self, row: &Examined, _sink: &mut Sink<'_>) {
        let (Some("math"), Ok(subject)) = (row.kind(), &row.made) else {
            return;
        };
        // A gold that cannot be graded is told as such.
        let is_gold = |purpose| matches!(purpose, Purpose::Gold { .. });
        if !row
            .graded()
            .any(|(answer, graded)| is_gold(answer.purpose) && graded.pass)
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
        let seen = self.0.entry(Kind::of(gold)).or_default();
        seen.count += 1;
        if seen.first.len() < MOST {
            seen.first
                .push((row.place.clone(), row.key.clone(), shown(gold)));
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        let all: u64 = self.0.values().map(|seen| seen.count).sum();
        let rule = self
            .0
            .iter()
            .find(|(_, seen)| seen.count * 100 >= all * RULE)
            .map(|(kind, _)| *kind);
        let Some(rule) = rule.filter(|_| all >= FEWEST) else {
            return;
        };
        for (kind, seen) in self.0.iter().filter(|(kind, _)| **kind != rule) {
            for (place, key, gold) in &seen.first {
                let message = format!(
                    "the gold `{gold}` is {}, and nearly all others are {}",
                    kind.name(),
                    rule.name()
                );
                sink.tell(&CODE, place, key, message);
            }
        }
    }
}
