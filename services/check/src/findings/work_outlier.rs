//! `work-outlier`: grading a right answer takes far more work than for other rows. Work is counted,
//! not timed, so the finding is the same on all machines.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Sink;
use super::code::{Code, code};
use super::rule::DatasetRule;
use crate::graded_row::GradedRow;
use crate::probes::Purpose;
use crate::row::RowLocation;

pub(super) const CODE: Code = code!("work-outlier", Warning);

/// Minimum number of rows for a finding.
const MIN_ROWS: u64 = 20;

/// Percentile of the work that outliers are compared with.
const PERCENTILE: u64 = 90;

/// Lower bound of the percentile, in units of work. Below it, work varies much and costs nothing.
const MIN_PERCENTILE: u64 = 50;

/// Number of rows kept: those with the most work.
const MAX_ROWS: usize = 100;

/// The work so far, by type of task.
#[derive(Default)]
pub(super) struct WorkByType(BTreeMap<String, WorkStatistics>);

#[derive(Default)]
struct WorkStatistics {
    rows: u64,
    /// Number of rows by class of work, with four classes per doubling.
    classes: BTreeMap<u32, u64>,
    /// Work, number and key of the rows with the most work.
    heaviest: BinaryHeap<Reverse<(u64, u64, String)>>,
    /// Locations of these rows, by number.
    locations: BTreeMap<u64, RowLocation>,
}

/// The class of an amount of work: four per doubling.
fn class(work: u64) -> u32 {
    let above_zero = u128::from(work) + 1;
    let doublings = above_zero.ilog2();
    let quarter = (above_zero << 2 >> doublings) & 3;
    doublings * 4 + u32::try_from(quarter).unwrap_or_default()
}

/// The upper bound of a class, inclusive.
fn upper_bound(class: u32) -> u64 {
    let quarters = 4 + u128::from(class % 4) + 1;
    u64::try_from(((quarters << (class / 4)) >> 2).saturating_sub(1)).unwrap_or(u64::MAX)
}

impl DatasetRule for WorkByType {
    fn add_row(&mut self, row: &GradedRow, _sink: &mut Sink<'_>) {
        let Some(kind) = row.kind() else { return };
        let right = row
            .graded()
            .filter(|(probe, _)| matches!(probe.purpose, Purpose::Gold { .. } | Purpose::Solution));
        let Some(work) = right.map(|(_, grade)| grade.work).max() else {
            return;
        };
        if !self.0.contains_key(kind) {
            self.0.insert(kind.to_owned(), WorkStatistics::default());
        }
        let Some(statistics) = self.0.get_mut(kind) else {
            return;
        };
        statistics.rows += 1;
        *statistics.classes.entry(class(work)).or_default() += 1;
        let lightest = statistics
            .heaviest
            .peek()
            .map_or(0, |Reverse((work, ..))| *work);
        if statistics.heaviest.len() < MAX_ROWS || work > lightest {
            let number = statistics.rows;
            statistics
                .heaviest
                .push(Reverse((work, number, row.key.clone())));
            statistics.locations.insert(number, row.location.clone());
            if statistics.heaviest.len() > MAX_ROWS
                && let Some(Reverse((_, number, _))) = statistics.heaviest.pop()
            {
                statistics.locations.remove(&number);
            }
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        let ratio = sink.thresholds().work_ratio;
        for statistics in self.0.values().filter(|kind| kind.rows >= MIN_ROWS) {
            let mut rows_so_far = 0;
            let percentile = statistics.classes.iter().find(|(_, rows)| {
                rows_so_far += **rows;
                rows_so_far * 100 >= statistics.rows * PERCENTILE
            });
            let Some(percentile) =
                percentile.map(|(class, _)| upper_bound(*class).max(MIN_PERCENTILE))
            else {
                continue;
            };
            let mut heaviest: Vec<_> = statistics
                .heaviest
                .iter()
                .map(|Reverse((work, number, key))| (*number, *work, key))
                .collect();
            heaviest.sort_unstable();
            for (number, work, key) in heaviest
                .into_iter()
                .filter(|(_, work, _)| *work >= percentile.saturating_mul(ratio))
            {
                let Some(location) = statistics.locations.get(&number) else {
                    continue;
                };
                let message = format!(
                    "grading takes {work} units of work, but at most {percentile} for 90 % of the \
                     rows; reduce the work or set `limits`"
                );
                sink.add(&CODE, location, key, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_bound_of_a_class_exceeds_the_work_by_at_most_a_quarter() {
        for work in [0, 1, 2, 3, 7, 100, 1_000_000, u64::MAX >> 3, u64::MAX] {
            let bound = upper_bound(class(work));
            assert!(
                work <= bound && bound - work <= work / 4 + 1,
                "{work}: {bound}"
            );
        }
    }
}
