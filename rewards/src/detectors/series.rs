//! Sums over the items of one step, and the series that detectors compare.

use crate::sum;

/// Count, sum and sum of squares of a number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    /// Number of items with the number.
    pub count: u64,
    /// Sum.
    pub sum: f64,
    /// Sum of squares.
    pub squares: f64,
}

/// Number of items with a property.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    /// Items with the property.
    pub hits: u64,
    /// Items for which it is known whether they have it.
    pub of: u64,
}

/// Sums over the items of one step. A field without items (a count of 0) is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepSums {
    /// The step.
    pub step: i64,
    /// Reward.
    pub reward: Moments,
    /// Length of the completion in bytes.
    pub length: Moments,
    /// Length of the reasoning in bytes.
    pub reasoning: Moments,
    /// Completions that were cut off.
    pub truncated: Share,
    /// Checks that passed, of those that were graded.
    pub checks: Share,
    /// Completions in the required format.
    pub formatted: Share,
    /// Of the items that pass, those whose answer passes for at least three prompts of the step
    /// with different golds.
    pub repeated: Share,
    /// Of the programs that pass, those that contain an input of one of their tests as a literal.
    pub literals: Share,
    /// Of the items that a judge checked, those that it passes and the rule does not.
    pub judge_only: Share,
    /// Of the items under consensus, those that agree with a label.
    pub agreement: Share,
    /// Of the items under consensus with a gold, those that pass it.
    pub golds: Share,
}

/// The mean of a step and its sampling variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The step.
    pub step: i64,
    /// Mean.
    pub value: f64,
    /// Variance of the mean.
    pub variance: f64,
}

/// A series of a run: its name, and its value at a step.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    /// Name of the series, a field of [`StepSums`].
    pub name: &'static str,
    /// Mean and variance at a step; `None` without items.
    pub at: fn(&StepSums) -> Option<(f64, f64)>,
}

impl Series {
    /// The points of the steps that have items.
    #[must_use]
    pub fn points(&self, steps: &[StepSums]) -> Vec<Point> {
        let point = |sums: &StepSums| {
            let (value, variance) = (self.at)(sums)?;
            Some(Point {
                step: sums.step,
                value,
                variance,
            })
        };
        steps.iter().filter_map(point).collect()
    }
}

impl Moments {
    /// The mean and its variance; `None` without items.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of items are far below 2^52"
    )]
    pub fn mean(&self) -> Option<(f64, f64)> {
        let mean = sum::mean(self.sum, self.count)?;
        let deviation = sum::deviation(self.sum, self.squares, self.count)?;
        Some((mean, sum::square(deviation) / self.count as f64))
    }
}

impl Share {
    /// The share and its variance; `None` without items. The variance is that of (hits + 1) /
    /// (of + 2) (Laplace), which is above 0 also if no item or every item has the property.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of items are far below 2^52"
    )]
    pub fn mean(&self) -> Option<(f64, f64)> {
        let (hits, of) = (self.hits as f64, self.of as f64);
        let smoothed = (hits + 1.0) / (of + 2.0);
        (self.of > 0).then(|| (hits / of, smoothed * (1.0 - smoothed) / of))
    }
}
