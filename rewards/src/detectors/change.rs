//! The change of a series at a step: the mean of the steps from there on, compared with the mean of
//! the steps before it.

use serde::Serialize;

use super::series::Point;

/// Steps before a change that it is compared with. Training changes most series slowly; a longer
/// comparison would add up slow changes.
pub const BEFORE: usize = 40;

/// Fewest steps before a change.
const LEAST_BEFORE: usize = 10;

/// Steps from a change on that are averaged. Changes that do not last this long are averaged with
/// what follows.
pub const AFTER: usize = 10;

/// A change of a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// Mean before.
    pub before: f64,
    /// Mean after.
    pub after: f64,
    /// Difference in standard errors.
    pub errors: f64,
}

/// The change at index `at` of a series; `None` near its ends.
///
/// The variance of a step is the larger of two: its sampling variance, and half of the mean squared
/// difference of consecutive steps before the change (von Neumann 1941). The second one contains
/// the variation of prompts between steps, and little of a slow trend.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of steps are far below 2^52"
)]
pub fn change(points: &[Point], at: usize) -> Option<Change> {
    let before = points.get(at.saturating_sub(BEFORE)..at)?;
    let after = points.get(at..at.checked_add(AFTER)?)?;
    if before.len() < LEAST_BEFORE {
        return None;
    }
    let mean = |points: &[Point], of: fn(&Point) -> f64| {
        points.iter().map(of).sum::<f64>() / points.len() as f64
    };
    let between: f64 = before
        .windows(2)
        .map(|pair| (pair[1].value - pair[0].value).powi(2))
        .sum::<f64>()
        / (2.0 * (before.len() - 1) as f64);
    let variance =
        |points: &[Point]| between.max(mean(points, |point| point.variance)) / points.len() as f64;
    let error = (variance(before) + variance(after)).sqrt();
    let (before, after) = (
        mean(before, |point| point.value),
        mean(after, |point| point.value),
    );
    // Steps without any variation have no standard error to compare with.
    (error > 0.0).then(|| Change {
        before,
        after,
        errors: (after - before) / error,
    })
}

/// Probability that a standard normal number is above `z` >= 0: an upper bound that is at most 7 %
/// too large above 3 (Gordon 1941, the bound of Mills' ratio by 1 / z).
#[must_use]
pub fn upper_tail(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z > 1.0 { density / z } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64], variance: f64) -> Vec<Point> {
        let point = |(step, value): (i64, &f64)| Point {
            step,
            value: *value,
            variance,
        };
        (0..).zip(values).map(point).collect()
    }

    #[test]
    fn counts_the_change_in_standard_errors() {
        // 40 steps of 1 and 10 of 2, each with variance 0.04: sqrt(0.04 / 40 + 0.04 / 10) = 0.0707.
        let mut values = vec![1.0; 40];
        values.extend([2.0; 10]);
        let change = change(&points(&values, 0.04), 40).unwrap();
        assert!(
            (change.errors - 1.0 / 0.005f64.sqrt()).abs() < 1e-9,
            "{change:?}"
        );
        assert!((change.after - change.before - 1.0).abs() < 1e-12);
    }

    #[test]
    fn variation_between_steps_counts_as_error() {
        // 0 and 2 in turn: mean squared difference 4, variance 2.
        let values: Vec<f64> = (0..50).map(|step| f64::from(step % 2) * 2.0).collect();
        let change = change(&points(&values, 1e-9), 40).unwrap();
        assert!(change.errors.abs() < 1e-6);
        let mut raised = values;
        raised[40..].iter_mut().for_each(|value| *value += 1.0);
        let found = super::change(&points(&raised, 1e-9), 40).unwrap();
        // The ten steps after the change vary as much: sqrt(2 / 40 + 2 / 10) = 0.5.
        assert!((found.errors - 2.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn needs_steps_on_both_sides() {
        let points = points(&[1.0; 30], 1.0);
        assert!(change(&points, 9).is_none() && change(&points, 21).is_none());
        assert!(change(&points, 10).is_some() && change(&points, usize::MAX).is_none());
        let constant = points.iter().map(|point| Point {
            variance: 0.0,
            ..*point
        });
        assert!(change(&constant.collect::<Vec<_>>(), 15).is_none());
    }

    #[test]
    fn the_tail_is_an_upper_bound() {
        for (z, exact) in [
            (3.0, 1.349_898e-3),
            (4.0, 3.167_124e-5),
            (5.0, 2.866_516e-7),
        ] {
            let bound = upper_tail(z);
            assert!(bound >= exact && bound < 1.1 * exact, "{z}: {bound}");
        }
    }
}
