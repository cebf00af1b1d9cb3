//! Numbers with a range. Constructors check the range once.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number is outside the range of its type.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{what} must be {range}: {value}")]
pub struct OutOfRange {
    what: &'static str,
    range: &'static str,
    value: f64,
}

macro_rules! ranged {
    ($(#[$doc:meta])* $name:ident, $what:literal, $range:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            /// Checks `value` and wraps it.
            ///
            /// # Errors
            /// [`OutOfRange`] for NaN, infinities and anything outside the type's range.
            pub fn new(value: f64) -> Result<Self, OutOfRange> {
                let check: fn(f64) -> bool = $check;
                if check(value) {
                    // Adding zero turns -0.0 into 0.0, which JSON would otherwise show.
                    Ok(Self(value + 0.0))
                } else {
                    Err(OutOfRange { what: $what, range: $range, value })
                }
            }

            /// The number.
            #[must_use]
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = OutOfRange;
            fn try_from(value: f64) -> Result<Self, OutOfRange> {
                Self::new(value)
            }
        }

        impl From<$name> for f64 {
            fn from(number: $name) -> f64 {
                number.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

ranged! {
    /// Correctness of a completion as determined by its grader: finite, in \[0, 1\].
    Score, "a score", "finite and in [0, 1]", |v| (0.0..=1.0).contains(&v)
}
ranged! {
    /// The number that a trainer maximises, computed from score, checks and measures by the reward
    /// policy: finite, any sign.
    Reward, "a reward", "finite", f64::is_finite
}
ranged! {
    /// Any other number that a grader reports, such as work, calls or length: finite. The
    /// [`Spec`](crate::Spec) of the grader states its unit.
    Measure, "a measure", "finite", f64::is_finite
}

impl Score {
    /// Fully correct.
    pub const ONE: Self = Self(1.0);
    /// Not correct.
    pub const ZERO: Self = Self(0.0);
}

impl From<Score> for Reward {
    fn from(score: Score) -> Self {
        Self(score.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_scores_outside_the_unit_interval() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.1, 1.000_001] {
            assert!(Score::new(bad).is_err(), "{bad}");
        }
        assert_eq!(Score::new(-0.0).unwrap().get().to_string(), "0");
    }

    #[test]
    fn accepts_negative_rewards_and_rejects_nan() {
        assert!(Reward::new(-3.5).is_ok());
        assert!(Reward::new(f64::NAN).is_err());
    }

    #[test]
    fn checks_numbers_read_from_json() {
        let error = serde_json::from_str::<Score>("1.5")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("a score must be finite and in [0, 1]: 1.5"),
            "{error}"
        );
    }
}
