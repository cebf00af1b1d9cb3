//! Factors for right answers that took little: calls of tools, work, cost. Each is in \[1 - alpha,
//! 1\] and acts on what a right answer has above a wrong one, so that none lifts a wrong answer.
//! Time is no input: it depends on the machine's load.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::explain::{Line, tidy};
use super::read::{self, Checked, Level, PolicyError};
use super::shape::ramp;
use super::{Needs, Section};

/// Factors on right answers. The functions may be used together; they multiply.
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

/// Which form of OTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Against a number of calls that is given.
    Ppo,
    /// Against the fewest calls of a right answer of the group.
    #[default]
    Grpo,
}

/// Few calls of tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Otc {
    /// The form.
    #[serde(default)]
    pub form: Form,
    /// The most that calls can cost, in \[0, 1\]; 1 is the paper's own form.
    #[serde(default = "half")]
    pub alpha: f64,
    /// The measure that counts calls.
    #[serde(default = "calls")]
    pub measure: String,
    /// The constant c, in calls: larger ones forgive more. `ppo` needs it; `grpo` uses it where the
    /// fewest are 0 (1 when absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}

/// Little work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The most that work can cost, in \[0, 1\].
    #[serde(default = "half")]
    pub alpha: f64,
    /// The measure that counts work.
    #[serde(default = "work")]
    pub measure: String,
    /// The work of a reference solution, in the same unit, above 0.
    pub reference: Level,
    /// Doublings of work on either side of the reference over which the factor goes from 1 to 1 -
    /// alpha: 1 to 10.
    #[serde(default = "two")]
    pub doublings: u32,
}

/// Low cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// The most that cost can take, in \[0, 1\]: Router-R1's beta.
    #[serde(default = "half")]
    pub alpha: f64,
    /// The measure that holds the cost, from 0 up, in any unit.
    #[serde(default = "cost")]
    pub measure: String,
    /// The cost that gets nothing, in the same unit, above 0.
    pub most: f64,
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

/// A reward in \[0, 1\] as a factor in \[1 - alpha, 1\]: 1 - alpha + alpha x.
#[must_use]
pub fn bounded(x: f64, alpha: f64) -> f64 {
    1.0 - alpha * (1.0 - x.clamp(0.0, 1.0))
}

/// OTC-PPO (arXiv 2504.14870): cos(m pi / (2 m + c)) for m >= 0 calls and a constant c > 0. 1
/// without calls, towards 0 for many.
#[must_use]
pub fn otc_ppo(m: f64, c: f64) -> f64 {
    let calls = m.max(0.0);
    if calls > 0.0 {
        (PI * (calls / (2.0 * calls + c))).cos().max(0.0)
    } else {
        1.0
    }
}

/// OTC-GRPO (arXiv 2504.14870), n the fewest calls of a right answer of the group: 1 when m = n =
/// 0; cos(m pi / (2 m + c)) when n = 0; else sin(f pi / (2 n)) with f = 2 n m / (m + n). 1 at m =
/// n, in \[0, 1\].
#[must_use]
pub fn otc_grpo(m: f64, n: f64, c: f64) -> f64 {
    let (calls, fewest) = (m.max(0.0), n.max(0.0));
    // f / (2 n) = m / (m + n), which does not overflow where the product would.
    if fewest > 0.0 {
        (PI * (calls / (calls + fewest))).sin().clamp(0.0, 1.0)
    } else {
        otc_ppo(calls, c)
    }
}

/// Step function of work (idea of ACECode, arXiv 2412.17264; the form is an own derivation): with s
/// = floor(log2(reference / work)) held within -+d doublings, (s + d) / (2 d). 1/2 at the
/// reference, 1 from 2^d times less work on. In \[0, 1\].
///
/// `work` and `reference` are deterministic units, not seconds, and at least 1 of them is counted.
#[must_use]
pub fn work_steps(work: f64, reference: f64, doublings: u32) -> f64 {
    let d = f64::from(doublings.max(1));
    let step = (reference.max(1.0).log2() - work.max(1.0).log2())
        .floor()
        .clamp(-d, d);
    (step + d) / (2.0 * d)
}

/// Reward of a low cost, the higher the cheaper, as Router-R1's `cost_reward` wants it: 1 -
/// min(cost / most, 1). In \[0, 1\]. (The normalisation is an own choice; the source takes the
/// number as given.)
#[must_use]
pub fn cost_reward(cost: f64, most: f64) -> f64 {
    1.0 - ramp(cost, most)
}

impl Otc {
    /// The factor of a right answer with `m` calls, in a group whose right answers have `fewest` or
    /// more.
    #[must_use]
    pub fn factor(&self, m: f64, fewest: f64) -> f64 {
        let c = self.most.unwrap_or(1.0);
        let x = match self.form {
            Form::Ppo => otc_ppo(m, c),
            Form::Grpo => otc_grpo(m, fewest, c),
        };
        bounded(x, self.alpha)
    }
}

impl Work {
    /// The factor of a right answer that took this work.
    #[must_use]
    pub fn factor(&self, work: f64, reference: f64) -> f64 {
        bounded(work_steps(work, reference, self.doublings), self.alpha)
    }
}

impl Cost {
    /// The factor of a right answer at this cost: Router-R1's (1 - beta) + beta cost_reward.
    #[must_use]
    pub fn factor(&self, cost: f64) -> f64 {
        bounded(cost_reward(cost, self.most), self.alpha)
    }
}

impl Section for Efficiency {
    fn check(&self) -> Checked {
        read::some_function(
            self.otc.is_some() || self.work.is_some() || self.cost.is_some(),
            "`otc`, `work`, `cost`",
        )?;
        if let Some(of) = &self.otc {
            read::within("otc/alpha", of.alpha, 0.0, 1.0)?;
            read::named("otc/measure", &of.measure)?;
            of.most
                .map_or(Ok(()), |most| read::positive("otc/most", most))?;
            if of.form == Form::Ppo && of.most.is_none() {
                return Err(PolicyError::at(
                    "otc/most",
                    "the form `ppo` needs it: a number of calls, larger to forgive more",
                ));
            }
        }
        if let Some(of) = &self.work {
            read::within("work/alpha", of.alpha, 0.0, 1.0)?;
            read::named("work/measure", &of.measure)?;
            of.reference.check("work/reference")?;
            if let Level::Number(reference) = of.reference {
                read::positive("work/reference", reference)?;
            }
            read::within("work/doublings", f64::from(of.doublings), 1.0, 10.0)?;
        }
        if let Some(of) = &self.cost {
            read::within("cost/alpha", of.alpha, 0.0, 1.0)?;
            read::named("cost/measure", &of.measure)?;
            read::positive("cost/most", of.most)?;
        }
        Ok(())
    }

    fn needs<'p>(&'p self, needs: &mut Needs<'p>) {
        if let Some(of) = &self.otc {
            needs.measure(&of.measure);
        }
        if let Some(of) = &self.work {
            needs.measure(&of.measure);
            of.reference.needs(needs);
        }
        if let Some(of) = &self.cost {
            needs.measure(&of.measure);
        }
    }

    fn explain(&self) -> Vec<Line> {
        let otc = self.otc.as_ref().map(|of| {
            let (keep, alpha, m, c) = (
                tidy(1.0 - of.alpha),
                of.alpha,
                &of.measure,
                of.most.unwrap_or(1.0),
            );
            let formula = match of.form {
                Form::Ppo => format!(
                    "W + (R - W) ({keep} + {alpha} cos({m} pi / (2 {m} + {c}))) \
                                      if right"
                ),
                Form::Grpo => format!(
                    "W + (R - W) ({keep} + {alpha} sin({m} pi / ({m} + n))) if right, n the \
                     fewest of the group's right answers; cos({m} pi / (2 {m} + {c})) for the \
                     sine when n = 0"
                ),
            };
            Line::new(
                "otc",
                "otc",
                formula,
                "right answers with more calls than needed get less",
            )
        });
        let work = self.work.as_ref().map(|of| {
            let (keep, alpha, d) = (tidy(1.0 - of.alpha), of.alpha, of.doublings);
            let (measure, reference) = (&of.measure, &of.reference);
            let formula = format!(
                "W + (R - W) ({keep} + {alpha} (s + {d}) / {}) if right, s = \
                 floor(log2({reference} / {measure})) within -+{d}",
                2 * d
            );
            Line::new(
                "work",
                "work",
                formula,
                "right answers that took less work than the reference get more of their reward",
            )
        });
        let cost = self.cost.as_ref().map(|of| {
            let formula = format!(
                "W + (R - W) ({} + {} (1 - min({} / {}, 1))) if right",
                tidy(1.0 - of.alpha),
                of.alpha,
                of.measure,
                of.most
            );
            Line::new(
                "cost",
                "cost",
                formula,
                "right answers that cost more get less",
            )
        });
        [otc, work, cost].into_iter().flatten().collect()
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
    fn otc_for_ppo_is_a_cosine() {
        near(otc_ppo(0.0, 4.0), 1.0);
        // cos(2 pi / (4 + 4)) = cos(pi / 4)
        near(otc_ppo(2.0, 4.0), std::f64::consts::FRAC_1_SQRT_2);
    }

    #[test]
    fn otc_for_grpo_peaks_at_the_fewest() {
        near(otc_grpo(0.0, 0.0, 4.0), 1.0);
        near(otc_grpo(2.0, 0.0, 4.0), std::f64::consts::FRAC_1_SQRT_2);
        near(otc_grpo(2.0, 2.0, 4.0), 1.0);
        // n = 1, m = 3: f = 6/4 = 1.5, sin(1.5 pi / 2) = sin(3 pi / 4)
        near(otc_grpo(3.0, 1.0, 4.0), std::f64::consts::FRAC_1_SQRT_2);
    }

    #[test]
    fn work_goes_by_doublings() {
        near(work_steps(1000.0, 1000.0, 2), 0.5);
        // floor(log2(1000 / 400)) = 1: (1 + 2) / 4
        near(work_steps(400.0, 1000.0, 2), 0.75);
        // floor(log2(1000 / 1500)) = -1: (-1 + 2) / 4
        near(work_steps(1500.0, 1000.0, 2), 0.25);
        near(work_steps(1.0, 1e9, 2), 1.0);
        near(work_steps(1e9, 1.0, 2), 0.0);
        near(work_steps(0.0, 0.0, 2), 0.5);
    }

    #[test]
    fn cost_is_router_r1s_mixture() {
        near(cost_reward(25.0, 100.0), 0.75);
        near(cost_reward(300.0, 100.0), 0.0);
        // (1 - 0.6) * 1 + 0.6 * 0.75
        near(
            Cost {
                alpha: 0.6,
                measure: cost(),
                most: 100.0,
            }
            .factor(25.0),
            0.85,
        );
    }

    proptest! {
        #[test]
        fn factors_stay_within_their_bounds(m in 0.0..1e12f64, n in 0.0..1e12f64, alpha in 0.0..=1.0f64, c in 1e-3..1e3f64) {
            let otc = |form| Otc { form, alpha, measure: calls(), most: Some(c) };
            let work = Work { alpha, measure: work(), reference: Level::Number(1.0), doublings: 3 };
            let cost = Cost { alpha, measure: cost(), most: c };
            let factors = [otc(Form::Ppo).factor(m, n), otc(Form::Grpo).factor(m, n), work.factor(m, n), cost.factor(m)];
            for factor in factors {
                prop_assert!((1.0 - alpha..=1.0).contains(&factor), "{factor}");
            }
        }
    }
}
