//! Confidence intervals of shares, and propagation of the uncertainty of several estimates.

use serde::Serialize;

/// The 0.975 quantile of the standard normal distribution: all intervals of this crate have a
/// confidence level of 95 %.
pub const Z: f64 = 1.959_963_984_540_054;

/// A 95 % confidence interval, `low <= high`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    pub(crate) const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// Whether the interval contains `value`, bounds included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Half of its width.
    #[must_use]
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// A point estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Point estimate.
    pub value: f64,
    /// 95 % interval.
    pub interval: Interval,
}

impl Estimate {
    /// A value known exactly: its interval has no width.
    #[must_use]
    pub fn known(value: f64) -> Self {
        Self {
            value,
            interval: Interval::new(value, value),
        }
    }

    /// Distances from the value to the lower and the upper bound, both at least 0.
    fn margins(&self) -> (f64, f64) {
        (
            (self.value - self.interval.low).max(0.0),
            (self.interval.high - self.value).max(0.0),
        )
    }

    /// `map` of several independent estimates, which must be monotone in each argument.
    ///
    /// MOVER, the method of variance estimates recovery (Zou and Donner 2008, doi
    /// 10.1002/sim.3095): each estimate in turn is set to its two bounds while the others keep
    /// their values, and the resulting changes down and up are added in quadrature. The result is
    /// clamped to `range`.
    #[must_use]
    pub fn combine<const N: usize>(
        parts: [Self; N],
        range: Interval,
        map: impl Fn([f64; N]) -> f64,
    ) -> Self {
        let values = parts.map(|part| part.value);
        let value = map(values).clamp(range.low, range.high);
        let (mut down, mut up) = (0.0, 0.0);
        for (at, part) in parts.iter().enumerate() {
            let moved = [part.interval.low, part.interval.high].map(|bound| {
                let mut values = values;
                values[at] = bound;
                map(values).clamp(range.low, range.high) - value
            });
            let (least, most) = (
                moved[0].min(moved[1]).min(0.0),
                moved[0].max(moved[1]).max(0.0),
            );
            down += least * least;
            up += most * most;
        }
        Self {
            value,
            interval: Interval::new(value - f64::sqrt(down), value + f64::sqrt(up)),
        }
        .within(range)
    }

    /// The estimate with the bounds of its interval limited to `range`.
    #[must_use]
    pub fn within(mut self, range: Interval) -> Self {
        self.interval.low = self.interval.low.max(range.low);
        self.interval.high = self.interval.high.min(range.high);
        self
    }

    /// The estimate with value and bounds clamped to `range`.
    #[must_use]
    pub fn clamped(self, range: Interval) -> Self {
        let clamp = |bound: f64| bound.clamp(range.low, range.high);
        let interval = Interval::new(clamp(self.interval.low), clamp(self.interval.high));
        Self {
            value: clamp(self.value),
            interval,
        }
    }

    /// The estimate with the margins of `other`, a second independent source of error of the same
    /// quantity, added in quadrature.
    #[must_use]
    pub fn widened(mut self, other: &Self) -> Self {
        let ((down, up), (other_down, other_up)) = (self.margins(), other.margins());
        self.interval = Interval::new(
            self.value - down.hypot(other_down),
            self.value + up.hypot(other_up),
        );
        self
    }
}

/// The range of a share, \[0, 1\].
pub const SHARES: Interval = Interval::new(0.0, 1.0);

/// Share `hits` / `n` in \[0, 1\] with its 95 % Wilson score interval (Wilson 1927, doi
/// 10.2307/2276774). `None` unless `n` > 0 and 0 <= `hits` <= `n`.
///
/// For weighted counts, `n` is the effective sample size
/// ([`Tally::effective`](crate::Tally::effective)) and `hits` the weighted share times `n`.
#[must_use]
pub fn wilson(hits: f64, n: f64) -> Option<Estimate> {
    let ordered = n > 0.0 && (0.0..=n).contains(&hits);
    ordered.then(|| {
        let share = hits / n;
        let denominator = 1.0 + Z * Z / n;
        let centre = (share + Z * Z / (2.0 * n)) / denominator;
        let half = Z / denominator * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        let interval = Interval::new(
            (centre - half).clamp(0.0, share),
            (centre + half).clamp(share, 1.0),
        );
        Estimate {
            value: share,
            interval,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_matches_reference_values() {
        let five_of_ten = wilson(5.0, 10.0).unwrap();
        assert!((five_of_ten.interval.low - 0.236_593).abs() < 1e-6);
        assert!((five_of_ten.interval.high - 0.763_407).abs() < 1e-6);
        let none_of_ten = wilson(0.0, 10.0).unwrap();
        assert!(
            none_of_ten.interval.low.abs() < 1e-15
                && (none_of_ten.interval.high - 0.277_533).abs() < 1e-6
        );
        assert_eq!(wilson(0.0, 0.0), None);
        assert_eq!(wilson(2.0, 1.0), None);
    }

    #[test]
    fn margins_of_independent_estimates_add_in_quadrature() {
        let part = |half: f64| Estimate {
            value: 0.5,
            interval: Interval::new(0.5 - half, 0.5 + half),
        };
        let sum = Estimate::combine(
            [part(0.03), part(0.04)],
            Interval::new(-9.0, 9.0),
            |[a, b]| a - b,
        );
        assert!(sum.value.abs() < 1e-15);
        assert!(
            (sum.interval.low + 0.05).abs() < 1e-12 && (sum.interval.high - 0.05).abs() < 1e-12
        );
    }

    #[test]
    fn estimates_are_limited_to_their_range() {
        let wide = Estimate {
            value: 0.1,
            interval: Interval::new(0.0, 0.9),
        };
        assert_eq!(
            Estimate {
                value: -0.1,
                ..wide
            }
            .clamped(SHARES),
            Estimate { value: 0.0, ..wide }
        );
        let twice = Estimate::combine([wide], SHARES, |[a]| 2.0 * a);
        assert!((twice.interval.high - 1.0).abs() < 1e-12 && twice.interval.low >= 0.0);
    }
}
