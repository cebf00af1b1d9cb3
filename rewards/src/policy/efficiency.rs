//! Factors on right answers by tool calls, work and cost.
//!
//! Each factor is in \[1 - alpha, 1\] and multiplies the difference between a right and a wrong
//! answer, so wrong answers are not affected. Time is not an input, because it depends on the load
//! of the machine.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::line::{Line, rounded};
use super::number::NumberOrMeasure;
use super::section::{RequiredInputs, Section};
use super::shape::ramp;
use super::validate;
use super::validate::{PolicyError, ValidationResult};

/// Factors on right answers. Several functions multiply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Efficiency {
    /// [`otc_ppo`] or [`otc_grpo`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otc: Option<Otc>,
    /// [`work_steps`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// [`cost_reward`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// Variant of OTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Relative to a given number of calls.
    Ppo,
    /// Relative to the fewest calls of a right answer of the group.
    #[default]
    Grpo,
}

/// Factor by the number of tool calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Otc {
    /// Variant of the formula.
    #[serde(default)]
    pub form: Form,
    /// Maximum reduction, in \[0, 1\]; 1 is the formula of the paper.
    #[serde(default = "half")]
    pub alpha: f64,
    /// Name of the measure with the number of calls.
    #[serde(default = "calls")]
    pub measure: String,
    /// Constant c, in calls, above 0; the larger, the smaller the reduction. Required by `ppo`;
    /// `grpo` uses it if the fewest calls are 0 (default 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// Factor by work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Maximum reduction, in \[0, 1\].
    #[serde(default = "half")]
    pub alpha: f64,
    /// Name of the measure with the work.
    #[serde(default = "work")]
    pub measure: String,
    /// Work of a reference solution, in the same unit, above 0.
    pub reference: NumberOrMeasure,
    /// Number of doublings of work below and above the reference over which the factor falls from 1
    /// to 1 - alpha, from 1 to 10.
    #[serde(default = "two")]
    pub doublings: u32,
}

/// Factor by cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Maximum reduction, in \[0, 1\]: beta of Router-R1.
    #[serde(default = "half")]
    pub alpha: f64,
    /// Name of the measure with the cost, at least 0, in any unit.
    #[serde(default = "cost")]
    pub measure: String,
    /// Cost with the maximum reduction, in the same unit, above 0.
    pub max: f64,
}

fn half() -> f64 {
    0.5
}
fn two() -> u32 {
    2
}
fn calls() -> String {
    "calls".to_owned()
}
fn work() -> String {
    "work".to_owned()
}
fn cost() -> String {
    "cost".to_owned()
}

/// Maps x in \[0, 1\] to a factor 1 - alpha + alpha x in \[1 - alpha, 1\].
#[must_use]
pub fn bounded(x: f64, alpha: f64) -> f64 {
    1.0 - alpha * (1.0 - x.clamp(0.0, 1.0))
}

/// OTC-PPO (arXiv 2504.14870): cos(m pi / (2 m + c)) for m >= 0 calls and a constant c > 0. In
/// \[0, 1\]: 1 without calls, and near 0 for many.
#[must_use]
pub fn otc_ppo(m: f64, c: f64) -> f64 {
    let calls = m.max(0.0);
    if calls > 0.0 {
        (PI * (calls / (2.0 * calls + c))).cos().max(0.0)
    } else {
        1.0
    }
}

/// OTC-GRPO (arXiv 2504.14870) for m calls, where n is the fewest calls of a right answer of the
/// group: 1 if m = n = 0; cos(m pi / (2 m + c)) if n = 0; else sin(f pi / (2 n)) with f = 2 n m /
/// (m + n). In \[0, 1\], and 1 at m = n.
#[must_use]
pub fn otc_grpo(m: f64, n: f64, c: f64) -> f64 {
    let (calls, fewest) = (m.max(0.0), n.max(0.0));
    // f / (2 n) = m / (m + n), which avoids overflow of the product.
    if fewest > 0.0 {
        (PI * (calls / (calls + fewest))).sin().clamp(0.0, 1.0)
    } else {
        otc_ppo(calls, c)
    }
}

/// Step function of work: (s + d) / (2 d) with s = floor(log2(reference / work)) clamped to -+d
/// doublings (after the idea of ACECode, arXiv 2412.17264; own derivation of the formula). In \[0,
/// 1\]: 1/2 at the reference, and 1 if the work is at most reference / 2^d.
///
/// `work` and `reference` are deterministic units, not seconds; values below 1 are raised to 1.
#[must_use]
pub fn work_steps(work: f64, reference: f64, doublings: u32) -> f64 {
    let d = f64::from(doublings.max(1));
    let step = (reference.max(1.0).log2() - work.max(1.0).log2())
        .floor()
        .clamp(-d, d);
    (step + d) / (2.0 * d)
}

/// Reward for low cost, 1 - min(cost / max, 1), in \[0, 1\]: the `cost_reward` in the code of
/// Router-R1 (arXiv 2506.09033). The normalisation is an own choice; the code expects a normalised
/// number.
#[must_use]
pub fn cost_reward(cost: f64, max: f64) -> f64 {
    1.0 - ramp(cost, max)
}

impl Otc {
    /// The factor of a right answer with `m` calls, in a group in which `fewest` is the fewest
    /// calls of a right answer.
    #[must_use]
    pub fn factor(&self, m: f64, fewest: f64) -> f64 {
        let c = self.max.unwrap_or(1.0);
        let x = match self.form {
            Form::Ppo => otc_ppo(m, c),
            Form::Grpo => otc_grpo(m, fewest, c),
        };
        bounded(x, self.alpha)
    }
}

impl Work {
    /// The factor of a right answer with this work.
    #[must_use]
    pub fn factor(&self, work: f64, reference: f64) -> f64 {
        bounded(work_steps(work, reference, self.doublings), self.alpha)
    }
}

impl Cost {
    /// The factor of a right answer with this cost: (1 - beta) + beta cost_reward (Router-R1).
    #[must_use]
    pub fn factor(&self, cost: f64) -> f64 {
        bounded(cost_reward(cost, self.max), self.alpha)
    }
}

impl Section for Efficiency {
    fn check(&self) -> ValidationResult {
        validate::check_not_empty(
            self.otc.is_some() || self.work.is_some() || self.cost.is_some(),
            "`otc`, `work`, `cost`",
        )?;
        if let Some(of) = &self.otc {
            validate::check_range("otc/alpha", of.alpha, 0.0, 1.0)?;
            validate::check_name("otc/measure", &of.measure)?;
            of.max
                .map_or(Ok(()), |max| validate::check_positive("otc/max", max))?;
            if of.form == Form::Ppo && of.max.is_none() {
                return Err(PolicyError::at(
                    "otc/max",
                    "required by the form `ppo`; set it to a number of calls above 0",
                ));
            }
        }
        if let Some(of) = &self.work {
            validate::check_range("work/alpha", of.alpha, 0.0, 1.0)?;
            validate::check_name("work/measure", &of.measure)?;
            of.reference.check("work/reference")?;
            if let NumberOrMeasure::Number(reference) = of.reference {
                validate::check_positive("work/reference", reference)?;
            }
            validate::check_range("work/doublings", f64::from(of.doublings), 1.0, 10.0)?;
        }
        if let Some(of) = &self.cost {
            validate::check_range("cost/alpha", of.alpha, 0.0, 1.0)?;
            validate::check_name("cost/measure", &of.measure)?;
            validate::check_positive("cost/max", of.max)?;
        }
        Ok(())
    }

    fn required_inputs<'p>(&'p self, inputs: &mut RequiredInputs<'p>) {
        if let Some(of) = &self.otc {
            inputs.measure(&of.measure);
        }
        if let Some(of) = &self.work {
            inputs.measure(&of.measure);
            of.reference.required_inputs(inputs);
        }
        if let Some(of) = &self.cost {
            inputs.measure(&of.measure);
        }
    }

    fn explain(&self) -> Vec<Line> {
        let otc = self.otc.as_ref().map(|of| {
            let (least, alpha, m, c) = (
                rounded(1.0 - of.alpha),
                of.alpha,
                &of.measure,
                of.max.unwrap_or(1.0),
            );
            let formula = match of.form {
                Form::Ppo => {
                    format!("W + (R - W) ({least} + {alpha} cos({m} pi / (2 {m} + {c}))) if right")
                }
                Form::Grpo => format!(
                    "W + (R - W) ({least} + {alpha} sin({m} pi / ({m} + n))) if right, n the \
                     fewest of the group's right answers; cos({m} pi / (2 {m} + {c})) instead of \
                     the sine if n = 0"
                ),
            };
            Line::new(
                "otc",
                "otc",
                formula,
                "right answers with more tool calls get less",
            )
        });
        let work = self.work.as_ref().map(|of| {
            let (least, alpha, d) = (rounded(1.0 - of.alpha), of.alpha, of.doublings);
            let (measure, reference) = (&of.measure, &of.reference);
            let formula = format!(
                "W + (R - W) ({least} + {alpha} (s + {d}) / {}) if right, s = \
                 floor(log2({reference} / {measure})) within -+{d}",
                2 * d
            );
            Line::new(
                "work",
                "work",
                formula,
                "right answers with more work relative to the reference get less",
            )
        });
        let cost = self.cost.as_ref().map(|of| {
            let formula = format!(
                "W + (R - W) ({} + {} (1 - min({} / {}, 1))) if right",
                rounded(1.0 - of.alpha),
                of.alpha,
                of.measure,
                of.max
            );
            Line::new(
                "cost",
                "cost",
                formula,
                "right answers with higher cost get less",
            )
        });
        [otc, work, cost].into_iter().flatten().collect()
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
    fn otc_ppo_matches_reference_values() {
        assert_close(otc_ppo(0.0, 4.0), 1.0);
        // cos(2 pi / (4 + 4)) = cos(pi / 4)
        assert_close(otc_ppo(2.0, 4.0), std::f64::consts::FRAC_1_SQRT_2);
    }

    #[test]
    fn otc_grpo_is_one_at_the_fewest_calls() {
        assert_close(otc_grpo(0.0, 0.0, 4.0), 1.0);
        assert_close(otc_grpo(2.0, 0.0, 4.0), std::f64::consts::FRAC_1_SQRT_2);
        assert_close(otc_grpo(2.0, 2.0, 4.0), 1.0);
        // n = 1, m = 3: f = 6/4 = 1.5, sin(1.5 pi / 2) = sin(3 pi / 4)
        assert_close(otc_grpo(3.0, 1.0, 4.0), std::f64::consts::FRAC_1_SQRT_2);
    }

    #[test]
    fn work_steps_count_doublings() {
        assert_close(work_steps(1000.0, 1000.0, 2), 0.5);
        // floor(log2(1000 / 400)) = 1: (1 + 2) / 4
        assert_close(work_steps(400.0, 1000.0, 2), 0.75);
        // floor(log2(1000 / 1500)) = -1: (-1 + 2) / 4
        assert_close(work_steps(1500.0, 1000.0, 2), 0.25);
        assert_close(work_steps(1.0, 1e9, 2), 1.0);
        assert_close(work_steps(1e9, 1.0, 2), 0.0);
        assert_close(work_steps(0.0, 0.0, 2), 0.5);
    }

    #[test]
    fn cost_factor_matches_router_r1() {
        assert_close(cost_reward(25.0, 100.0), 0.75);
        assert_close(cost_reward(300.0, 100.0), 0.0);
        // (1 - 0.6) * 1 + 0.6 * 0.75
        assert_close(
            Cost {
                alpha: 0.6,
                measure: cost(),
                max: 100.0,
            }
            .factor(25.0),
            0.85,
        );
    }

    proptest! {
        #[test]
        fn factors_stay_within_their_bounds(
            m in 0.0..1e12f64,
            n in 0.0..1e12f64,
            alpha in 0.0..=1.0f64,
            c in 1e-3..1e3f64,
        ) {
            let otc = |form| Otc { form, alpha, measure: calls(), max: Some(c) };
            let reference = NumberOrMeasure::Number(1.0);
            let work = Work { alpha, measure: work(), reference, doublings: 3 };
            let cost = Cost { alpha, measure: cost(), max: c };
            let factors = [
                otc(Form::Ppo).factor(m, n),
                otc(Form::Grpo).factor(m, n),
                work.factor(m, n),
                cost.factor(m),
            ];
            for factor in factors {
                prop_assert!((1.0 - alpha..=1.0).contains(&factor), "{factor}");
            }
        }
    }
}
