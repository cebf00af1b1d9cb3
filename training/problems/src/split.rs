//! Which problems a policy learns from, and which it is only tested on.

use assay_core::Random;
use serde::{Deserialize, Serialize};

/// One problem in so many is held out.
const HELD_OUT_ONE_IN: u64 = 8;

/// The two sides of the problems, which have none in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// To learn from: seven in eight.
    Train,
    /// To test on: one in eight.
    HeldOut,
}

impl Split {
    /// The side of a problem, by a hash of its canonical text alone.
    #[must_use]
    pub fn of(canonical: &str) -> Self {
        let word = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        let length = canonical.len() as u64;
        let words: Vec<u64> = [length]
            .into_iter()
            .chain(canonical.as_bytes().chunks(8).map(word))
            .collect();
        let held_out = Random::stream(&words)
            .bits()
            .is_multiple_of(HELD_OUT_ONE_IN);
        if held_out { Self::HeldOut } else { Self::Train }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_in_eight_is_held_out() {
        let held_out = (0..80_000)
            .filter(|n| Split::of(&format!("text/{n}")) == Split::HeldOut)
            .count();
        // Three standard deviations of a binomial count.
        assert!(held_out.abs_diff(10_000) < 281, "{held_out}");
    }

    #[test]
    fn sides_are_what_they_were() {
        // A change here moves problems from one side to the other: policies trained before it would
        // be tested on what they saw.
        let sides: Vec<_> = (0..24)
            .filter(|n| Split::of(&format!("arithmetic/+{n}+1")) == Split::HeldOut)
            .collect();
        assert_eq!(sides, [2, 11, 12]);
    }
}
