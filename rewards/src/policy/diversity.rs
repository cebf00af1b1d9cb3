//! Factor on right answers that differ from the others of their group. Wrong answers get none,
//! because wrong answers differ easily.

use serde::{Deserialize, Serialize};

use super::line::Line;
use super::section::{Section, as_f64};
use super::validate;
use super::validate::ValidationResult;

/// A bonus on right answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diversity {
    /// Maximum increase, as a share of the difference to the floor W, in \[0, 1\].
    pub lambda: f64,
}

/// Factor 1 + lambda d with d = 1 - (others with an equal answer) / (G - 1), where G is the number
/// of `members` with an answer (own derivation). `equal` includes the member itself. In \[1, 1 +
/// lambda\]; 1 in a group of one.
#[must_use]
pub fn diversity(equal: usize, members: usize, lambda: f64) -> f64 {
    if members < 2 {
        return 1.0;
    }
    let others = as_f64(equal.saturating_sub(1)) / as_f64(members - 1);
    1.0 + lambda * (1.0 - others).clamp(0.0, 1.0)
}

impl Section for Diversity {
    fn check(&self) -> ValidationResult {
        validate::check_range("lambda", self.lambda, 0.0, 1.0)
    }

    fn explain(&self) -> Vec<Line> {
        let formula = format!(
            "W + (R - W) (1 + {} (1 - equal others / (G - 1))) if right",
            self.lambda
        );
        vec![Line::new(
            "",
            "diversity",
            formula,
            "right answers that are rare in the group get more",
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_answers_get_a_larger_factor() {
        // 3 of 5 members have the answer: d = 1 - 2 / 4.
        assert!((diversity(3, 5, 0.4) - 1.2).abs() < 1e-12);
        assert!((diversity(5, 5, 0.4) - 1.0).abs() < 1e-12);
        assert!((diversity(1, 5, 0.4) - 1.4).abs() < 1e-12);
        assert!((diversity(1, 1, 0.4) - 1.0).abs() < 1e-12);
    }
}
