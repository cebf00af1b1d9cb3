//! Effective sample size of members with importance weights. The weights come from the trainer,
//! because they depend on the probabilities of two policy models.

use serde::Serialize;

use super::member::as_f64;
use crate::Tally;

/// Effective sample size of weighted sequences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effective {
    /// Effective sample size (sum w)^2 / sum w^2 (Kish 1965), from 1 to the number of weights.
    pub size: f64,
    /// `size` divided by the number of weights, in (0, 1\]. VCPO (arXiv 2602.17616) scales the
    /// learning rate by it, relative to its value in an on-policy run.
    pub share: f64,
}

/// Effective sample size of sequences with these importance ratios; a masked sequence is `None`.
///
/// Returns `None` without a weight above 0, with a negative, infinite or NaN weight, and if a sum
/// of squares overflows.
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
    fn uneven_weights_reduce_the_effective_size() {
        // (1 + 1 + 4)^2 / (1 + 1 + 16) = 36 / 18 = 2, of three.
        let effective = effective(&[Some(1.0), None, Some(1.0), Some(4.0)]).unwrap();
        assert!(
            (effective.size - 2.0).abs() < 1e-12 && (effective.share - 2.0 / 3.0).abs() < 1e-12
        );
    }

    #[test]
    fn unusable_weights_have_no_size() {
        assert_eq!(effective(&[None, Some(0.0)]), None);
        assert_eq!(effective(&[Some(-1.0), Some(2.0)]), None);
        assert_eq!(effective(&[Some(f64::NAN)]), None);
        assert_eq!(effective(&[Some(1e200), Some(1e200)]), None);
    }
}
