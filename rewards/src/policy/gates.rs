//! Vetoes and format gates: parts that limit or reduce a reward when they are not met. Neither
//! increases a reward.

use serde::{Deserialize, Serialize};

use super::line::Line;
use super::section::{RequiredInputs, Section};
use super::validate;
use super::validate::ValidationResult;

/// Parts that limit the reward when they are not met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Veto {
    /// Names of the parts. The veto applies if any of them is not met.
    pub parts: Vec<String>,
    /// Minimum score of a met part, in (0, 1]; by default a part is met if it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Upper limit of the reward, in \[-10, 0\].
    #[serde(default)]
    pub reward: f64,
}

/// A part that reduces the reward when it is not met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Name of the part.
    pub part: String,
    /// Minimum score of a met part, in (0, 1]; by default it is met if it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Factor in \[0, 1\] on a reward above 0.
    #[serde(default)]
    pub factor: f64,
    /// Penalty in \[0, 10\], subtracted after the factor.
    #[serde(default)]
    pub penalty: f64,
}

/// Reward under a veto: the minimum of `reward`, of the reward of a wrong answer with the same
/// parts (`as_wrong`), and of `bound` (at most 0), so that a veto never raises a reward (own
/// derivation).
#[must_use]
pub fn vetoed(reward: f64, as_wrong: f64, bound: f64) -> f64 {
    reward.min(as_wrong).min(bound)
}

/// Reward behind a closed gate: factor max(R, 0) + min(R, 0) - penalty (own derivation). It
/// increases with the reward R and is at most R. With factor 0 and penalty 1 it is the -1 of the
/// format reward in the code of Router-R1 (arXiv 2506.09033).
#[must_use]
pub fn closed(reward: f64, factor: f64, penalty: f64) -> f64 {
    let reduced = if reward > 0.0 {
        reward * factor
    } else {
        reward
    };
    reduced - penalty
}

fn check_bound(field: impl std::fmt::Display, at_least: Option<f64>) -> ValidationResult {
    at_least.map_or(Ok(()), |bound| {
        validate::check_positive(field.to_string(), bound)?;
        validate::check_range(field, bound, 0.0, 1.0)
    })
}

fn met(at_least: Option<f64>) -> String {
    at_least.map_or_else(|| "passed".to_owned(), |bound| format!(">= {bound}"))
}

impl Section for Veto {
    fn check(&self) -> ValidationResult {
        validate::check_distinct("parts", self.parts.iter().map(String::as_str))?;
        self.parts
            .iter()
            .enumerate()
            .try_for_each(|(at, name)| validate::check_part(format!("parts/{at}"), name))?;
        check_bound("at_least", self.at_least)?;
        validate::check_range("reward", self.reward, -10.0, 0.0)
    }

    fn required_inputs<'p>(&'p self, inputs: &mut RequiredInputs<'p>) {
        self.parts.iter().for_each(|name| inputs.part(name));
    }

    fn explain(&self) -> Vec<Line> {
        let formula = format!(
            "R <= {} unless {} all {}",
            self.reward,
            self.parts.join(", "),
            met(self.at_least)
        );
        let meaning = "limits the reward if a part is not met; never above that of a wrong answer \
                       with the same parts";
        vec![Line::new("", "veto", formula, meaning)]
    }
}

impl Section for Vec<Gate> {
    fn check(&self) -> ValidationResult {
        validate::check_distinct("", self.iter().map(|gate| gate.part.as_str()))?;
        for (at, gate) in self.iter().enumerate() {
            validate::check_part(format!("{at}/part"), &gate.part)?;
            check_bound(format!("{at}/at_least"), gate.at_least)?;
            validate::check_range(format!("{at}/factor"), gate.factor, 0.0, 1.0)?;
            validate::check_range(format!("{at}/penalty"), gate.penalty, 0.0, 10.0)?;
        }
        Ok(())
    }

    fn required_inputs<'p>(&'p self, inputs: &mut RequiredInputs<'p>) {
        self.iter().for_each(|gate| inputs.part(&gate.part));
    }

    fn explain(&self) -> Vec<Line> {
        let line = |(at, gate): (usize, &Gate)| {
            let Gate {
                part,
                at_least,
                factor,
                penalty,
            } = gate;
            let formula = format!(
                "{part} {}, or R = {factor} max(R, 0) + min(R, 0) - {penalty}",
                met(*at_least)
            );
            Line::new(
                &at.to_string(),
                "gate",
                formula,
                "reduces the reward if the part is not met",
            )
        };
        self.iter().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn veto_never_raises_a_reward() {
        assert_close(vetoed(1.0, 0.0, 0.0), 0.0);
        assert_close(vetoed(1.0, -0.4, 0.0), -0.4);
        assert_close(vetoed(-0.5, -0.4, 0.0), -0.5);
        assert_close(vetoed(1.0, 0.0, -1.0), -1.0);
    }

    #[test]
    fn closed_gate_multiplies_gains_and_subtracts_the_penalty() {
        assert_close(closed(1.0, 0.25, 0.0), 0.25);
        assert_close(closed(1.0, 0.0, 1.0), -1.0);
        assert_close(closed(-0.4, 0.25, 0.1), -0.5);
    }

    proptest! {
        #[test]
        fn closed_gate_is_monotone_and_never_raises_a_reward(
            a in -3.0..3.0f64,
            b in -3.0..3.0f64,
            factor in 0.0..=1.0f64,
            penalty in 0.0..2.0f64,
        ) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(closed(low, factor, penalty) <= closed(high, factor, penalty));
            prop_assert!(closed(low, factor, penalty) <= low);
        }
    }
}
