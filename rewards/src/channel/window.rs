//! An exponential window over the counts of a channel. It is measured in items, not in time: an
//! idle channel forgets nothing, and equal counts always yield equal estimates.

use crate::channel::counts::{Checked, Checker, Graded, OPERATOR};

use crate::Tally;

/// Default half-life: an item weighs half after this many newer items.
pub const HALF_LIFE: f64 = 100_000.0;

/// Counts of one time bucket.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bucket {
    /// Counts of graded items.
    pub graded: Graded,
    /// Counts of checks by checker.
    pub checked: Vec<(Checker, Checked)>,
}

/// Weighted counts of a channel. If judges checked items of it, the items that no judge could have
/// checked are left out: they may have other error rates, and a share of right answers that no
/// check has measured. An operator can check every item.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Window {
    /// Items that did not pass.
    pub negatives: Tally,
    /// Items that passed.
    pub positives: Tally,
    /// Weighted counts of each checker.
    pub checkers: Vec<Findings>,
    /// Weight of the negatives, then of the positives, whose final verdict is a judge's.
    pub judge_decided: [f64; 2],
}

/// Weighted counts of the checks of one checker.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// The checker, and the side it checked.
    pub checker: Checker,
    /// Checks, each with weight 1 / selection probability.
    pub checks: Tally,
    /// Sum of the weights of the checks that disagreed with the grader.
    pub disagreed: f64,
    /// Number of checks, unweighted.
    pub count: u64,
}

impl Window {
    /// The window over `buckets`, oldest first. An item has weight 2^(-k / `half_life`), where k is
    /// the number of items graded in later buckets. With an infinite half-life all weights are 1.
    #[must_use]
    pub fn of(buckets: &[Bucket], half_life: f64) -> Self {
        let mut window = Self::default();
        let mut later = 0.0;
        let is_judged = buckets
            .iter()
            .flat_map(|bucket| &bucket.checked)
            .any(|(checker, _)| checker.judge != OPERATOR);
        for bucket in buckets.iter().rev() {
            let weight = (-later / half_life).exp2();
            window.add(bucket, weight, is_judged);
            later += count(bucket.graded.items());
        }
        window
    }

    fn add(&mut self, bucket: &Bucket, weight: f64, is_judged: bool) {
        let graded = &bucket.graded;
        let unjudged = [graded.unjudged_negatives, graded.unjudged_positives];
        let [unjudged_negatives, unjudged_positives] =
            unjudged.map(|n| if is_judged { n } else { 0 });
        let tally = |all: u64, left_out: u64| Tally::of(count(all.saturating_sub(left_out)));
        self.negatives
            .add(&tally(graded.negatives, unjudged_negatives), weight);
        self.positives
            .add(&tally(graded.positives, unjudged_positives), weight);
        self.judge_decided[0] += weight * count(graded.bound_negatives);
        self.judge_decided[1] += weight * count(graded.bound_positives);
        for (checker, checked) in &bucket.checked {
            let at = self
                .checkers
                .iter()
                .position(|known| known.checker == *checker)
                .unwrap_or_else(|| {
                    let (checks, checker) = (Tally::default(), checker.clone());
                    self.checkers.push(Findings {
                        checker,
                        checks,
                        disagreed: 0.0,
                        count: 0,
                    });
                    self.checkers.len() - 1
                });
            let findings = &mut self.checkers[at];
            findings.checks.add(
                &Tally {
                    sum: checked.weight,
                    squares: checked.squares,
                },
                weight,
            );
            findings.disagreed += weight * checked.disagreed_weight;
            findings.count += checked.checks;
        }
    }
}

pub(crate) fn count(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(negatives: u64, positives: u64) -> Bucket {
        Bucket {
            graded: Graded {
                negatives,
                positives,
                ..Graded::default()
            },
            checked: Vec::new(),
        }
    }

    #[test]
    fn item_weighs_half_after_the_half_life() {
        // 100 items later, the 8 items of the first bucket weigh 4. Their effective size is (8 *
        // 0.5)^2 / (8 * 0.25) = 8.
        let window = Window::of(&[bucket(8, 0), bucket(0, 100)], 100.0);
        assert!(
            (window.negatives.sum - 4.0).abs() < 1e-12
                && (window.negatives.effective() - 8.0).abs() < 1e-12
        );
        assert!((window.positives.sum - 100.0).abs() < 1e-12);
    }

    #[test]
    fn items_without_a_judge_are_left_out_if_judges_checked_others() {
        let mut bucket = bucket(800, 200);
        (
            bucket.graded.unjudged_negatives,
            bucket.graded.unjudged_positives,
        ) = (500, 150);
        let sums = |bucket: &Bucket| {
            let window = Window::of(std::slice::from_ref(bucket), f64::INFINITY);
            [window.negatives, window.positives].map(|tally| tally.sum)
        };
        let checker = |judge: &str| Checker {
            judge: judge.to_owned(),
            sensitivity: 1.0,
            specificity: 1.0,
            passes: false,
        };
        let close = |sums: [f64; 2], expected: [f64; 2]| {
            sums.iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-12)
        };
        assert!(close(sums(&bucket), [800.0, 200.0]));
        bucket.checked.push((checker(OPERATOR), Checked::default()));
        assert!(close(sums(&bucket), [800.0, 200.0]));
        bucket
            .checked
            .push((checker("judge@1"), Checked::default()));
        assert!(close(sums(&bucket), [300.0, 50.0]));
    }

    #[test]
    fn infinite_half_life_weighs_all_items_equally() {
        let window = Window::of(&[bucket(8, 2), bucket(1, 100)], f64::INFINITY);
        assert!(
            (window.negatives.sum - 9.0).abs() < 1e-12
                && (window.positives.sum - 102.0).abs() < 1e-12
        );
    }
}
