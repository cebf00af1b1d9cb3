//! Did a channel change? Its newer half is compared with its older half.

use serde::Serialize;

use super::window::{Bucket, Window};

/// A share, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// Share of checks that disagreed, in the older half.
    pub before: f64,
    /// The same, in the newer half.
    pub after: f64,
    /// Two-sided probability of a difference this large if nothing changed.
    pub p_value: f64,
}

/// Whether a channel changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// Of negatives: the share that a check overturns.
    pub negatives: Option<Change>,
    /// Of positives.
    pub positives: Option<Change>,
    /// Whether either changed: a p-value below 0.005, which with two looks is 0.01 in all.
    pub drifting: bool,
}

/// Checks that each half needs before the two are compared.
const LEAST_CHECKS: f64 = 10.0;

/// Compares the older and the newer half of the checks in `buckets`, oldest first, by a test of
/// two shares with pooled variance. The halves are cut between buckets, where the checks of a
/// side come closest to half. `None` where a half has fewer than 10 checks.
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

/// Share of the checks of one side that disagreed, and how many equal checks they are worth.
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

/// Two-sided tail of the standard normal distribution, to within 2e-7 (Abramowitz and Stegun,
/// formula 7.1.26).
#[must_use]
pub fn two_sided(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let advantages = [
        1.061_405_429,
        -1.453_152_027,
        1.421_413_741,
        -0.284_496_736,
        0.254_829_592,
    ];
    let polynomial = advantages
        .into_iter()
        .fold(0.0, |sum, advantage| (sum + advantage) * t);
    (polynomial * (-x * x).exp()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use assay_core::channel::{Checked, Checker, Graded};

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
    fn the_tail_is_the_textbook_one() {
        // scipy: 2 * norm.sf(1.959964) = 0.05, 2 * norm.sf(3) = 0.0026998
        assert!((two_sided(1.959_964) - 0.05).abs() < 1e-6);
        assert!((two_sided(-3.0) - 0.002_699_8).abs() < 1e-6);
        assert!((two_sided(0.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_change_is_found_and_a_steady_channel_is_not() {
        // 10 of 100 against 30 of 100: pooled 0.2, z = 0.2 / sqrt(0.16 * 0.02) = 3.5355, p =
        // 0.000407.
        let changed = drift(&[bucket(50, 5), bucket(50, 5), bucket(100, 30)]);
        let change = changed.negatives.unwrap();
        assert!((change.p_value - 0.000_407).abs() < 2e-6, "{change:?}");
        assert!(changed.drifting && changed.positives.is_none());
        assert!(!drift(&[bucket(100, 10), bucket(100, 12)]).drifting);
    }

    #[test]
    fn a_few_checks_prove_nothing() {
        assert_eq!(drift(&[bucket(5, 0), bucket(9, 9)]).negatives, None);
        assert_eq!(
            drift(&[bucket(500, 10)]).negatives,
            None,
            "one bucket has no halves"
        );
        assert_eq!(drift(&[]).negatives, None);
    }
}
