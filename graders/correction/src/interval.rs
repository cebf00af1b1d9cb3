//! Intervals of shares, and how the uncertainties of several numbers add up.

use serde::Serialize;

/// The 0.975 quantile of the standard normal distribution: intervals of this crate hold 95 %.
pub const Z: f64 = 1.959_963_984_540_054;

/// A 95 % interval, `low <= high`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    /// Whether the interval holds `value`, bounds included.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Half its length.
    #[must_use]
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

impl Estimate {
    /// A number that is known.
    #[must_use]
    pub fn known(value: f64) -> Self {
        Self {
            value,
            interval: Interval {
                low: value,
                high: value,
            },
        }
    }

    /// Distances from the number to the bounds of its interval, both at least 0.
    fn reach(&self) -> (f64, f64) {
        (
            (self.value - self.interval.low).max(0.0),
            (self.interval.high - self.value).max(0.0),
        )
    }

    /// `map` of several estimates that are independent of each other.
    ///
    /// Each is moved to its two bounds while the others stay, and the distances that the result
    /// goes down and up are added as the legs of right triangles: MOVER, the method of variance
    /// estimates recovery (Zou and Donner 2008, doi 10.1002/sim.3095), for any map that is monotone
    /// in each of its arguments. The bounds are held within `range`.
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
            interval: Interval {
                low: value - f64::sqrt(down),
                high: value + f64::sqrt(up),
            },
        }
        .within(range)
    }

    /// The same with its interval held within `range`.
    #[must_use]
    pub fn within(mut self, range: Interval) -> Self {
        self.interval.low = self.interval.low.max(range.low);
        self.interval.high = self.interval.high.min(range.high);
        self
    }

    /// The same with number and interval held within `range`.
    #[must_use]
    pub fn held(self, range: Interval) -> Self {
        let held = |bound: f64| bound.clamp(range.low, range.high);
        let interval = Interval {
            low: held(self.interval.low),
            high: held(self.interval.high),
        };
        Self {
            value: held(self.value),
            interval,
        }
    }

    /// The same with the reach of `other`, which stands for another source of error of the same
    /// number, added.
    #[must_use]
    pub fn widened(mut self, other: &Self) -> Self {
        let ((down, up), (other_down, other_up)) = (self.reach(), other.reach());
        self.interval = Interval {
            low: self.value - down.hypot(other_down),
            high: self.value + up.hypot(other_up),
        };
        self
    }
}

/// All shares.
pub const SHARES: Interval = Interval {
    low: 0.0,
    high: 1.0,
};

/// Share of `hits` in `n` and its 95 % Wilson score interval (Wilson 1927, doi 10.2307/2276774);
/// `None` without any.
///
/// Both may be sums of weights; `n` is then the effective number
/// ([`Tally::effective`](crate::Tally::effective)).
#[must_use]
pub fn wilson(hits: f64, n: f64) -> Option<Estimate> {
    let ordered = n > 0.0 && (0.0..=n).contains(&hits);
    ordered.then(|| {
        let share = hits / n;
        let denominator = 1.0 + Z * Z / n;
        let centre = (share + Z * Z / (2.0 * n)) / denominator;
        let half = Z / denominator * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        let interval = Interval {
            low: (centre - half).clamp(0.0, share),
            high: (centre + half).clamp(share, 1.0),
        };
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
    fn wilson_is_the_textbook_interval() {
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
    fn reaches_add_as_legs() {
        let part = |half: f64| Estimate {
            value: 0.5,
            interval: Interval {
                low: 0.5 - half,
                high: 0.5 + half,
            },
        };
        let sum = Estimate::combine(
            [part(0.03), part(0.04)],
            Interval {
                low: -9.0,
                high: 9.0,
            },
            |[a, b]| a - b,
        );
        assert!(sum.value.abs() < 1e-15);
        assert!(
            (sum.interval.low + 0.05).abs() < 1e-12 && (sum.interval.high - 0.05).abs() < 1e-12
        );
    }

    #[test]
    fn intervals_stay_in_range() {
        let wide = Estimate {
            value: 0.1,
            interval: Interval {
                low: 0.0,
                high: 0.9,
            },
        };
        assert_eq!(
            Estimate {
                value: -0.1,
                ..wide
            }
            .held(SHARES),
            Estimate { value: 0.0, ..wide }
        );
        let twice = Estimate::combine([wide], SHARES, |[a]| 2.0 * a);
        assert!((twice.interval.high - 1.0).abs() < 1e-12 && twice.interval.low >= 0.0);
    }
}
