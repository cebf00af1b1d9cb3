//! Sums of weights with their effective sample size.

use serde::{Deserialize, Serialize};

/// A sum of weights and of their squares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Sum of the weights.
    pub sum: f64,
    /// Sum of the squared weights.
    pub squares: f64,
}

impl Tally {
    /// The tally of `count` weights of 1.
    #[must_use]
    pub fn of(count: f64) -> Self {
        Self {
            sum: count,
            squares: count,
        }
    }

    /// Adds one weight.
    pub fn push(&mut self, weight: f64) {
        self.sum += weight;
        self.squares += weight * weight;
    }

    /// Adds another tally with each of its weights multiplied by `factor`.
    pub fn add(&mut self, other: &Self, factor: f64) {
        self.sum += factor * other.sum;
        self.squares += factor * factor * other.squares;
    }

    /// Effective sample size (sum w)^2 / sum w^2 (Kish 1965, Survey Sampling); 0 without weights.
    #[must_use]
    pub fn effective(&self) -> f64 {
        if self.squares > 0.0 {
            self.sum * self.sum / self.squares
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_have_their_number_as_effective_size() {
        let mut tally = Tally::default();
        (0..7).for_each(|_| tally.push(4.0));
        assert!((tally.sum - 28.0).abs() < 1e-12 && (tally.effective() - 7.0).abs() < 1e-12);
    }

    #[test]
    fn unequal_weights_have_a_smaller_effective_size() {
        // (1 + 3)^2 / (1 + 9)
        let mut tally = Tally::default();
        tally.push(1.0);
        tally.push(3.0);
        assert!((tally.effective() - 1.6).abs() < 1e-12);
        assert!(Tally::default().effective().abs() < 1e-15);
    }
}
