//! Parts that forbid or cut a reward when they are not met: vetoes and format gates. Neither can
//! make a reward larger.

use serde::{Deserialize, Serialize};

use super::explain::Line;
use super::read::{self, Checked};
use super::{Needs, Section};

/// Parts that forbid any gain when they are not met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Veto {
    /// Their names; one that is not met is enough.
    pub parts: Vec<String>,
    /// The score from which a part is met, in (0, 1]; by its pass when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The most that is left, at most 0.
    #[serde(default)]
    pub reward: f64,
}

/// A part that cuts the reward when it is not met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Its name.
    pub part: String,
    /// The score from which it is met, in (0, 1]; by its pass when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Factor in \[0, 1\] on a reward above 0.
    #[serde(default)]
    pub factor: f64,
    /// What is taken off besides, in \[0, 10\].
    #[serde(default)]
    pub penalty: f64,
}

/// What a veto leaves: the least of `bound` (at most 0), of what the item would have got, and of
/// what a wrong answer with the same parts would have got. A veto never pays (own derivation).
#[must_use]
pub fn vetoed(reward: f64, as_wrong: f64, bound: f64) -> f64 {
    reward.min(as_wrong).min(bound)
}

/// What a closed gate leaves: `factor` of a reward above 0, all of one below, minus `penalty` (own
/// derivation). With factor 0 and penalty 1 it is the -1 of Router-R1's format reward. Grows with
/// the reward, never larger than it.
#[must_use]
pub fn closed(reward: f64, factor: f64, penalty: f64) -> f64 {
    let kept = if reward > 0.0 {
        reward * factor
    } else {
        reward
    };
    kept - penalty
}

fn check_bound(field: impl std::fmt::Display, at_least: Option<f64>) -> Checked {
    at_least.map_or(Ok(()), |bound| {
        read::positive(field.to_string(), bound)?;
        read::within(field, bound, 0.0, 1.0)
    })
}

fn met(at_least: Option<f64>) -> String {
    at_least.map_or_else(|| "passed".to_owned(), |bound| format!(">= {bound}"))
}

impl Section for Veto {
    fn check(&self) -> Checked {
        read::distinct("parts", self.parts.iter().map(String::as_str))?;
        self.parts
            .iter()
            .enumerate()
            .try_for_each(|(at, name)| read::part(format!("parts/{at}"), name))?;
        check_bound("at_least", self.at_least)?;
        read::within("reward", self.reward, -10.0, 0.0)
    }

    fn needs<'p>(&'p self, needs: &mut Needs<'p>) {
        self.parts.iter().for_each(|name| needs.part(name));
    }

    fn explain(&self) -> Vec<Line> {
        let formula = format!(
            "R <= {} unless {} all {}",
            self.reward,
            self.parts.join(", "),
            met(self.at_least)
        );
        let meaning = "nothing is gained when one of these parts is not met, and no less is lost \
                       than by a wrong answer";
        vec![Line::new("", "veto", formula, meaning)]
    }
}

impl Section for Vec<Gate> {
    fn check(&self) -> Checked {
        read::distinct("", self.iter().map(|gate| gate.part.as_str()))?;
        for (at, gate) in self.iter().enumerate() {
            read::part(format!("{at}/part"), &gate.part)?;
            check_bound(format!("{at}/at_least"), gate.at_least)?;
            read::within(format!("{at}/factor"), gate.factor, 0.0, 1.0)?;
            read::within(format!("{at}/penalty"), gate.penalty, 0.0, 10.0)?;
        }
        Ok(())
    }

    fn needs<'p>(&'p self, needs: &mut Needs<'p>) {
        self.iter().for_each(|gate| needs.part(&gate.part));
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
                "the reward is cut when this part is not met",
            )
        };
        self.iter().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn a_veto_never_pays() {
        near(vetoed(1.0, 0.0, 0.0), 0.0);
        near(vetoed(1.0, -0.4, 0.0), -0.4);
        near(vetoed(-0.5, -0.4, 0.0), -0.5);
        near(vetoed(1.0, 0.0, -1.0), -1.0);
    }

    #[test]
    fn a_closed_gate_keeps_a_factor() {
        near(closed(1.0, 0.25, 0.0), 0.25);
        near(closed(1.0, 0.0, 1.0), -1.0);
        near(closed(-0.4, 0.25, 0.1), -0.5);
    }

    proptest! {
        #[test]
        fn a_closed_gate_keeps_the_order(a in -3.0..3.0f64, b in -3.0..3.0f64, factor in 0.0..=1.0f64, penalty in 0.0..2.0f64) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(closed(low, factor, penalty) <= closed(high, factor, penalty));
            prop_assert!(closed(low, factor, penalty) <= low);
        }
    }
}
