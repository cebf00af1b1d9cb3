//! Drift of a channel: compares the newer half of its checks with the older half.

use serde::Serialize;

use super::window::{Bucket, Window};

/// Shares of disagreement in the two halves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// Share of the checks of the older half that disagreed, in \[0, 1\].
    pub before: f64,
    /// Share of the checks of the newer half that disagreed, in \[0, 1\].
    pub after: f64,
    /// Two-sided p-value: probability of a difference at least this large without a change.
    pub p_value: f64,
}

/// Drift of both sides of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// Checks of negatives.
    pub negatives: Option<Change>,
    /// Checks of positives.
    pub positives: Option<Change>,
    /// Whether either side has a p-value below 0.005: with two tests, a false alarm rate of 0.01.
    pub drifting: bool,
}

/// Minimum effective number of checks in each half.
const LEAST_CHECKS: f64 = 10.0;

/// Compares the older and the newer half of the checks in `buckets`, oldest first, by the z-test of
/// two proportions with pooled variance: z = (after - before) / sqrt(q (1 - q) (1 / n_before + 1 /
/// n_after)), q the pooled share and n effective numbers of checks.
///
/// Each side is split between two buckets, as close to half of its checks as possible. A side is
/// `None` where a half has fewer than 10 checks.
#[must_use]
pub fn drift(buckets: &[Bucket]) -> Drift {
    let [negatives, positives] = [false, true].map(|passes| change(buckets, passes));
    let drifting = [negatives, positives]
        .into_iter()
        .flatten()
        .any(|change| change.p_value < 0.005);
    Drift {
        negatives,
        positives,
        drifting,
    }
}

fn change(buckets: &[Bucket], passes: bool) -> Option<Change> {
    let checks: Vec<u64> = buckets
        .iter()
        .map(|bucket| {
            let side = bucket
                .checked
                .iter()
                .filter(|(checker, _)| checker.passes == passes);
            side.map(|(_, checked)| checked.checks).sum()
        })
        .collect();
    let total: u64 = checks.iter().sum();
    let mut passed = 0;
    let cuts = checks.iter().map(|checks| {
        passed += checks;
        passed
    });
    let (cut, _) = cuts
        .enumerate()
        .min_by_key(|(_, passed)| (2 * passed).abs_diff(total))?;
    let (older, newer) = buckets.split_at_checked(cut + 1)?;
    let (before, n_before) = disagreed(older, passes)?;
    let (after, n_after) = disagreed(newer, passes)?;
    if n_before.min(n_after) < LEAST_CHECKS {
        return None;
    }
    let pooled = (before * n_before + after * n_after) / (n_before + n_after);
    let deviation = (pooled * (1.0 - pooled) * (1.0 / n_before + 1.0 / n_after)).sqrt();
    let p_value = if deviation > 0.0 {
        two_sided((after - before) / deviation)
    } else {
        1.0
    };
    Some(Change {
        before,
        after,
        p_value,
    })
}

/// Share of the checks of one side that disagreed, and their effective number.
fn disagreed(buckets: &[Bucket], passes: bool) -> Option<(f64, f64)> {
    let window = Window::of(buckets, f64::INFINITY);
    let side = window
        .checkers
        .iter()
        .filter(|found| found.checker.passes == passes);
    let (mut checks, mut disagreed) = (crate::Tally::default(), 0.0);
    for found in side {
        checks.add(&found.checks, 1.0);
        disagreed += found.disagreed;
    }
    (checks.sum > 0.0).then(|| (disagreed / checks.sum, checks.effective()))
}

/// Two-sided tail probability P(|Z| >= |z|) of the standard normal distribution, with an absolute
/// error below 2e-7 (Abramowitz and Stegun, formula 7.1.26).
#[must_use]
pub fn two_sided(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let coefficients = [
        1.061_405_429,
        -1.453_152_027,
        1.421_413_741,
        -0.284_496_736,
        0.254_829_592,
    ];
    let polynomial = coefficients
        .into_iter()
        .fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    (polynomial * (-x * x).exp()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use crate::channel::counts::{Checked, Checker, Graded};

    use super::*;

    fn bucket(checks: u64, disagreed: u64) -> Bucket {
        let checker = Checker {
            judge: "j@1".to_owned(),
            sensitivity: 1.0,
            specificity: 1.0,
            passes: false,
        };
        let weight = |count: u64| f64::from(u32::try_from(count).unwrap());
        let checked = Checked {
            checks,
            disagreed: disagreed.cast_signed(),
            weight: weight(checks),
            squares: weight(checks),
            disagreed_weight: weight(disagreed),
        };
        Bucket {
            graded: Graded {
                negatives: checks,
                ..Graded::default()
            },
            checked: vec![(checker, checked)],
        }
    }

    #[test]
    fn two_sided_matches_scipy() {
        // scipy: 2 * norm.sf(1.959964) = 0.05, 2 * norm.sf(3) = 0.0026998
        assert!((two_sided(1.959_964) - 0.05).abs() < 1e-6);
        assert!((two_sided(-3.0) - 0.002_699_8).abs() < 1e-6);
        assert!((two_sided(0.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn detects_a_change_but_not_a_steady_channel() {
        // 10 of 100 against 30 of 100: pooled 0.2, z = 0.2 / sqrt(0.16 * 0.02) = 3.5355, p =
        // 0.000407.
        let changed = drift(&[bucket(50, 5), bucket(50, 5), bucket(100, 30)]);
        let change = changed.negatives.unwrap();
        assert!((change.p_value - 0.000_407).abs() < 2e-6, "{change:?}");
        assert!(changed.drifting && changed.positives.is_none());
        assert!(!drift(&[bucket(100, 10), bucket(100, 12)]).drifting);
    }

    #[test]
    fn needs_ten_checks_in_each_half() {
        assert_eq!(drift(&[bucket(5, 0), bucket(9, 9)]).negatives, None);
        assert_eq!(
            drift(&[bucket(500, 10)]).negatives,
            None,
            "one bucket cannot be split"
        );
        assert_eq!(drift(&[]).negatives, None);
    }
}
