//! From the verdicts of a group to the numbers used as advantages, by the functions of the crate. Owns the choice; the formulas
//! are the crate's.

use assay_core::Reward;
use assay_correction::{Member, Rates, coefficients};

/// Rollouts of a group.
pub(crate) const GROUP: usize = 8;

/// What is used as the advantage of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Estimator {
    /// The verdict.
    Raw,
    /// (r - rho0) / J.
    Backward,
    /// r - (1 - rho1).
    Forward,
    /// r minus the mean of the group; centring takes out what backward (up to 1 / J) and forward would add.
    Mean,
    /// (r minus the mean of the group) / J: [`Self::Backward`] under a trainer that centres.
    Gain,
    /// (r minus the mean of the group) / its standard deviation; the same number for raw, backward and forward.
    Z,
    /// (r minus the mean of the group) / J / sqrt(p^ (1 - p^)), p^ = (mean - rho0) / J within \[1/2G, 1 - 1/2G\].
    ZFix,
}

impl Estimator {
    /// The columns of the table of estimators.
    pub(crate) const COLUMNS: [Self; 6] = [Self::Raw, Self::Backward, Self::Forward, Self::Mean, Self::Z, Self::ZFix];

    /// Name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Backward => "backward",
            Self::Forward => "forward",
            Self::Mean => "mean",
            Self::Gain => "mean / J",
            Self::Z => "z",
            Self::ZFix => "zfix",
        }
    }

    /// Advantage of every verdict in every group: verdicts are alike, so only their number counts.
    pub(crate) fn table(self, assumed: Rates) -> Advantages {
        let mut table = [[0.0; 2]; GROUP + 1];
        for (passes, row) in table.iter_mut().enumerate() {
            let centred = centred(passes);
            let scale = match self {
                Self::Z => inverse(deviation(passes)),
                Self::Gain => inverse(assumed.j()),
                Self::ZFix => inverse(assumed.j()) * inverse(fixed_deviation(passes, assumed)),
                Self::Raw | Self::Backward | Self::Forward | Self::Mean => 1.0,
            };
            for (verdict, advantage) in row.iter_mut().enumerate() {
                let pass = verdict == 1;
                *advantage = match self {
                    Self::Raw => f64::from(u8::from(pass)),
                    Self::Backward => assumed.backward(pass).unwrap_or_else(|| unguarded_backward(assumed, pass)),
                    Self::Forward => assumed.forward(pass),
                    Self::Mean | Self::Gain | Self::Z | Self::ZFix => centred[verdict] * scale,
                };
            }
        }
        Advantages(table)
    }
}

/// Advantages by the number of passes of the group and the verdict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Advantages([[f64; 2]; GROUP + 1]);

impl Advantages {
    /// Of a member with this verdict in a group with this many passes.
    pub(crate) fn of(&self, pass: bool, passes: usize) -> f64 {
        self.0[passes][usize::from(pass)]
    }
}

/// Reward minus the group's mean, of a member that did not and of one that did pass; 0 where there is no such member.
fn centred(passes: usize) -> [f64; 2] {
    let reward = |value: bool| Reward::new(f64::from(u8::from(value))).ok();
    let members: Vec<Member> =
        (0..GROUP).map(|at| Member { reward: reward(at < passes), pass: Some(at < passes) }).collect();
    let all = coefficients(&members);
    let of = |at: usize| all.get(at).copied().flatten().unwrap_or(0.0);
    let (first, last) = (of(0), of(GROUP - 1));
    [if passes < GROUP { last } else { 0.0 }, if passes > 0 { first } else { 0.0 }]
}

fn share(passes: usize) -> f64 {
    passes as f64 / GROUP as f64
}

fn deviation(passes: usize) -> f64 {
    (share(passes) * (1.0 - share(passes))).sqrt()
}

fn fixed_deviation(passes: usize, assumed: Rates) -> f64 {
    let least = 0.5 / GROUP as f64;
    let p = ((share(passes) - assumed.rho0) / assumed.j()).clamp(least, 1.0 - least);
    (p * (1.0 - p)).sqrt()
}

/// 0 of 0: a group without deviation teaches nothing.
fn inverse(number: f64) -> f64 {
    if number.abs() > 0.0 { 1.0 / number } else { 0.0 }
}

/// What the crate refuses, because J <= 0: the experiments on wrong rates show why.
fn unguarded_backward(assumed: Rates, pass: bool) -> f64 {
    (f64::from(u8::from(pass)) - assumed.rho0) * inverse(assumed.j())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_estimator_is_its_formula() {
        let rates = Rates::new(0.1, 0.2).unwrap();
        // 6 passes of 8, by hand: mean .75, deviation sqrt(.75 * .25) = .433013, p^ = .65 / .7 = .928571 -> sqrt(p^ (1 - p^)) = .257539.
        let expected = [1.0, 0.9 / 0.7, 0.2, 0.25, 0.577_350, 1.386_750];
        for (estimator, expected) in Estimator::COLUMNS.into_iter().zip(expected) {
            let found = estimator.table(rates).of(true, 6);
            assert!((found - expected).abs() < 1e-5, "{}: {found}", estimator.name());
        }
        assert!((Estimator::Gain.table(rates).of(false, 6) + 0.75 / 0.7).abs() < 1e-12);
    }

    #[test]
    fn centred_groups_that_agree_teach_nothing() {
        let rates = Rates::new(0.1, 0.2).unwrap();
        for estimator in [Estimator::Mean, Estimator::Gain, Estimator::Z, Estimator::ZFix] {
            assert!(estimator.table(rates).of(true, GROUP).abs() < 1e-12);
            assert!(estimator.table(rates).of(false, 0).abs() < 1e-12);
        }
    }

    #[test]
    fn without_noise_the_fixed_z_score_is_the_z_score() {
        for passes in 1..GROUP {
            let of = |estimator: Estimator| estimator.table(Rates::CLEAN).of(true, passes);
            assert!((of(Estimator::Z) - of(Estimator::ZFix)).abs() < 1e-12);
        }
    }
}
