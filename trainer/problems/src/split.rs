//! The split into training problems and held-out problems.

use assay_base::Random;
use serde::{Deserialize, Serialize};

/// One in this many problems is held out.
const HELD_OUT_ONE_IN: u64 = 8;

/// The two disjoint parts of the problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// For training: seven in eight.
    Train,
    /// For evaluation: one in eight.
    HeldOut,
}

impl Split {
    /// The part of a problem, determined by a hash of its canonical text.
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
    fn holds_out_one_text_in_eight() {
        let held_out = (0..80_000)
            .filter(|n| Split::of(&format!("text/{n}")) == Split::HeldOut)
            .count();
        // Three standard deviations of a binomial count.
        assert!(held_out.abs_diff(10_000) < 281, "{held_out}");
    }

    #[test]
    fn split_is_stable() {
        // A change of the split would evaluate models trained before it on problems from their
        // training set.
        let held_out: Vec<_> = (0..24)
            .filter(|n| Split::of(&format!("arithmetic/+{n}+1")) == Split::HeldOut)
            .collect();
        assert_eq!(held_out, [2, 11, 12]);
    }
}
