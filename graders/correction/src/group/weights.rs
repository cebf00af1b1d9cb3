//! How many members a group or batch is worth once each carries an importance weight. Computes no
//! weights: they need the probabilities of two policies, which only the trainer has.

use serde::Serialize;

use super::as_f64;
use crate::Tally;

/// Worth of weighted sequences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effective {
    /// Effective sample size (sum w)^2 / sum w^2, from 1 to the number of weights.
    pub size: f64,
    /// The same for each weight, in (0, 1\]: what VCPO (arXiv 2602.17616) scales the learning rate
    /// by, relative to the share of a run that is on policy.
    pub share: f64,
}

/// Effective sample size of sequences with these importance ratios; `None` in place of a masked
/// one.
///
/// `None` without a weight above 0, with a negative or infinite one, and where squares leave the
/// range of numbers.
#[must_use]
pub fn effective(weights: &[Option<f64>]) -> Option<Effective> {
    let mut tally = Tally::default();
    let mut count = 0;
    for weight in weights.iter().flatten() {
        if !(0.0..f64::INFINITY).contains(weight) {
            return None;
        }
        tally.push(*weight);
        count += 1;
    }
    let usable = tally.squares > 0.0 && (tally.sum * tally.sum).is_finite();
    usable.then(|| Effective {
        size: tally.effective(),
        share: tally.effective() / as_f64(count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_heavy_sequence_leaves_little_else() {
        // (1 + 1 + 4)^2 / (1 + 1 + 16) = 36 / 18 = 2, of three.
        let effective = effective(&[Some(1.0), None, Some(1.0), Some(4.0)]).unwrap();
        assert!(
            (effective.size - 2.0).abs() < 1e-12 && (effective.share - 2.0 / 3.0).abs() < 1e-12
        );
    }

    #[test]
    fn weights_that_say_nothing_have_no_size() {
        assert_eq!(effective(&[None, Some(0.0)]), None);
        assert_eq!(effective(&[Some(-1.0), Some(2.0)]), None);
        assert_eq!(effective(&[Some(f64::NAN)]), None);
        assert_eq!(effective(&[Some(1e200), Some(1e200)]), None);
    }
}
