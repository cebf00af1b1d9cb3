//! `work-outlier`: grading a right answer takes many times the work it takes elsewhere in the
//! dataset. Work is counted, not timed, so the finding is the same on every machine.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{Code, Severity, Sink, Survey};
use crate::examined::Examined;
use crate::probes::Purpose;
use crate::row::Place;

pub(super) const CODE: Code = Code {
    name: "work-outlier",
    severity: Severity::Warning,
    title: "grading takes many times the work of other rows",
};

/// Fewest rows of which a rule can be said.
const FEWEST: u64 = 20;

/// Share of the rows, in hundredths, whose work is the measure.
const RULE: u64 = 90;

/// How many times that work is told. The heaviest program of HumanEval takes 1,065 times the work
/// of nine in ten others.
const TIMES: u64 = 2_000;

/// The least measure, in units of work: below it rows differ by much and cost nothing.
const LEAST: u64 = 50;

/// Rows remembered: those of the most work.
const MOST: usize = 100;

/// Work so far, by grader.
#[derive(Default)]
pub(super) struct Works(BTreeMap<String, Seen>);

#[derive(Default)]
struct Seen {
    rows: u64,
    /// Rows by the size of their work: four classes for each doubling.
    classes: BTreeMap<u32, u64>,
    most: BinaryHeap<Reverse<(u64, u64, String)>>,
    places: BTreeMap<u64, Place>,
}

/// The class of a work: its doublings, and the quarter of the next.
fn class(work: u64) -> u32 {
    let beyond = u128::from(work) + 1;
    let doublings = beyond.ilog2();
    let quarter = (beyond << 2 >> doublings) & 3;
    doublings * 4 + u32::try_from(quarter).unwrap_or_default()
}

/// The most work of a class.
fn end(class: u32) -> u64 {
    let quarters = 4 + u128::from(class % 4) + 1;
    u64::try_from(((quarters << (class / 4)) >> 2).saturating_sub(1)).unwrap_or(u64::MAX)
}

impl Survey for Works {
    fn note(&mut self, row: &Examined, _sink: &mut Sink<'_>) {
        let Some(kind) = row.kind() else { return };
        let right = row.graded().filter(|(answer, _)| {
            matches!(answer.purpose, Purpose::Gold { .. } | Purpose::Solution)
        });
        let Some(work) = right.map(|(_, graded)| graded.work).max() else {
            return;
        };
        if !self.0.contains_key(kind) {
            self.0.insert(kind.to_owned(), Seen::default());
        }
        let Some(seen) = self.0.get_mut(kind) else {
            return;
        };
        seen.rows += 1;
        *seen.classes.entry(class(work)).or_default() += 1;
        let least = seen.most.peek().map_or(0, |Reverse((work, ..))| *work);
        if seen.most.len() < MOST || work > least {
            seen.most.push(Reverse((work, seen.rows, row.key.clone())));
            seen.places.insert(seen.rows, row.place.clone());
            if seen.most.len() > MOST
                && let Some(Reverse((_, number, _))) = seen.most.pop()
            {
                seen.places.remove(&number);
            }
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        for seen in self.0.values().filter(|seen| seen.rows >= FEWEST) {
            let mut passed = 0;
            let rule = seen.classes.iter().find(|(_, rows)| {
                passed += **rows;
                passed * 100 >= seen.rows * RULE
            });
            let Some(rule) = rule.map(|(class, _)| end(*class).max(LEAST)) else {
                continue;
            };
            let mut most: Vec<_> = seen
                .most
                .iter()
                .map(|Reverse((work, number, key))| (*number, *work, key))
                .collect();
            most.sort_unstable();
            for (number, work, key) in most
                .into_iter()
                .filter(|(_, work, _)| *work >= rule.saturating_mul(TIMES))
            {
                let Some(place) = seen.places.get(&number) else {
                    continue;
                };
                let message = format!(
                    "grading it takes {work} units of work, and nine in ten rows take at most \
                     {rule}"
                );
                sink.tell(&CODE, place, key, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_the_works_up_to_its_end_and_is_a_quarter_wide() {
        for work in [0, 1, 2, 3, 7, 100, 1_000_000, u64::MAX >> 3, u64::MAX] {
            let end = end(class(work));
            assert!(work <= end && end - work <= work / 4 + 1, "{work}: {end}");
        }
    }
}
