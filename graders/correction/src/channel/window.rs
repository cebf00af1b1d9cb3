//! An exponential window over the counts of a channel, in items rather than in time: a channel that
//! rests forgets nothing, and the estimate of some counts is the same whenever it is made.

use assay_core::channel::{Checked, Checker, Graded};

use crate::Tally;

/// Items after which older ones weigh half, unless configured otherwise.
pub const HALF_LIFE: f64 = 100_000.0;

/// Counts of one bucket of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bucket {
    /// Items graded.
    pub graded: Graded,
    /// What each checker found.
    pub checked: Vec<(Checker, Checked)>,
}

/// Weighted counts of a channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Window {
    /// Items that did not pass.
    pub negatives: Tally,
    /// Items that passed.
    pub positives: Tally,
    /// What each checker found.
    pub checkers: Vec<Findings>,
    /// Weight of negatives, then of positives, on which a judge had the last word.
    pub bound: [f64; 2],
}

/// What one checker found, weighted.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// Who checked which verdicts.
    pub checker: Checker,
    /// Checks, each weighing 1/probability.
    pub checks: Tally,
    /// Sum of the weights of those that disagreed with the grader.
    pub disagreed: f64,
    /// Checks, not weighted.
    pub count: u64,
}

impl Window {
    /// A window over `buckets`, oldest first. An item weighs 2^(-k / `half_life`), k being the
    /// items graded in later buckets; an infinite half-life weighs all alike.
    #[must_use]
    pub fn of(buckets: &[Bucket], half_life: f64) -> Self {
        let mut window = Self::default();
        let mut later = 0.0;
        for bucket in buckets.iter().rev() {
            let weight = (-later / half_life).exp2();
            window.add(bucket, weight);
            later += count(bucket.graded.items());
        }
        window
    }

    fn add(&mut self, bucket: &Bucket, weight: f64) {
        let graded = &bucket.graded;
        self.negatives
            .add(&Tally::of(count(graded.negatives)), weight);
        self.positives
            .add(&Tally::of(count(graded.positives)), weight);
        self.bound[0] += weight * count(graded.bound_negatives);
        self.bound[1] += weight * count(graded.bound_positives);
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

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of items stay far below 2^53"
)]
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
    fn an_item_weighs_half_after_the_half_life() {
        // 100 items later, the 8 of the first bucket weigh 4 and are worth (8 * 0.5)^2 / (8 *
        // 0.25) = 8 equal ones.
        let window = Window::of(&[bucket(8, 0), bucket(0, 100)], 100.0);
        assert!(
            (window.negatives.sum - 4.0).abs() < 1e-12
                && (window.negatives.effective() - 8.0).abs() < 1e-12
        );
        assert!((window.positives.sum - 100.0).abs() < 1e-12);
    }

    #[test]
    fn without_a_half_life_all_items_weigh_the_same() {
        let window = Window::of(&[bucket(8, 2), bucket(1, 100)], f64::INFINITY);
        assert!(
            (window.negatives.sum - 9.0).abs() < 1e-12
                && (window.positives.sum - 102.0).abs() < 1e-12
        );
    }
}
