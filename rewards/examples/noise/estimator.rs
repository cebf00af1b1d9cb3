//! Advantages from the verdicts of a group, by the functions of the crate. Formulas for rates with
//! J <= 0, which the crate rejects, are defined here.

use assay_core::Reward;
use assay_rewards::{Estimator as Formula, Group, Member, Rates, advantages};

/// Rollouts of a group.
pub(crate) const GROUP: usize = 8;

/// Estimator of the advantage of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Estimator {
    /// The verdict.
    Raw,
    /// (r - rho0) / J.
    Backward,
    /// r - (1 - rho1).
    Forward,
    /// r minus the mean of the group. Centred forward weights are equal to it, centred backward
    /// rewards up to the factor 1 / J.
    Mean,
    /// (r minus the mean of the group) / J: [`Self::Backward`] in a trainer that centres.
    Gain,
    /// (r minus the mean of the group) / its standard deviation; equal for raw, backward and
    /// forward.
    Z,
    /// (r minus the mean of the group) / J / sqrt(p^ (1 - p^)), p^ = (mean - rho0) / J within
    /// \[1/2G, 1 - 1/2G\].
    ZFix,
}

impl Estimator {
    /// The columns of the table of estimators.
    pub(crate) const COLUMNS: [Self; 6] = [
        Self::Raw,
        Self::Backward,
        Self::Forward,
        Self::Mean,
        Self::Z,
        Self::ZFix,
    ];

    /// Column heading.
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

    fn formula(self) -> Option<Formula> {
        match self {
            Self::Raw => None,
            Self::Backward => Some(Formula::Backward),
            Self::Forward => Some(Formula::Forward),
            Self::Mean => Some(Formula::Mean),
            Self::Gain => Some(Formula::Gain),
            Self::Z => Some(Formula::Grpo),
            Self::ZFix => Some(Formula::Zfix),
        }
    }

    /// Advantages for every number of passes of a group and every verdict.
    pub(crate) fn table(self, assumed: Rates) -> Advantages {
        let mut table = [[0.0; 2]; GROUP + 1];
        for (passes, row) in table.iter_mut().enumerate() {
            let of_group = self
                .formula()
                .map(|formula| of_group(formula, passes, assumed));
            for (verdict, advantage) in row.iter_mut().enumerate() {
                let pass = verdict == 1;
                let known = match &of_group {
                    None => Some(number(pass)),
                    // The passes come first.
                    Some(advantages) => advantages
                        .get(if pass { 0 } else { GROUP - 1 })
                        .copied()
                        .flatten(),
                };
                *advantage = known.unwrap_or_else(|| self.unsupported(pass, passes, assumed));
            }
        }
        Advantages(table)
    }

    /// Advantages that the crate does not compute, because J <= 0. The experiments on wrong rates
    /// show the reason.
    fn unsupported(self, pass: bool, passes: usize, assumed: Rates) -> f64 {
        let (j, mean) = (assumed.j(), passes as f64 / GROUP as f64);
        let least = 0.5 / GROUP as f64;
        let p = ((mean - assumed.rho0) / j).clamp(least, 1.0 - least);
        match self {
            Self::Raw | Self::Mean | Self::Z => 0.0,
            Self::Forward => assumed.forward(pass),
            Self::Backward => (number(pass) - assumed.rho0) / j,
            Self::Gain => (number(pass) - mean) / j,
            Self::ZFix => (number(pass) - mean) / j / (p * (1.0 - p)).sqrt(),
        }
    }
}

/// Advantages by the number of passes of the group and the verdict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Advantages([[f64; 2]; GROUP + 1]);

impl Advantages {
    /// Advantage of a member with this verdict in a group with this number of passes.
    pub(crate) fn of(&self, pass: bool, passes: usize) -> f64 {
        self.0[passes][usize::from(pass)]
    }
}

fn number(pass: bool) -> f64 {
    f64::from(u8::from(pass))
}

fn of_group(formula: Formula, passes: usize, assumed: Rates) -> Vec<Option<f64>> {
    let member = |at: usize| {
        let pass = at < passes;
        Member {
            reward: Reward::new(number(pass)).ok(),
            pass: Some(pass),
            ..Member::default()
        }
    };
    let members: Vec<Member<'_>> = (0..GROUP).map(member).collect();
    let group = Group {
        members: &members,
        rates: Some(assumed),
        history: None,
    };
    advantages(formula, &[group]).pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimators_match_their_formulas() {
        let rates = Rates::new(0.1, 0.2).unwrap();
        // 6 passes of 8, by hand: mean .75, deviation sqrt(8 / 7 * .75 * .25) = .462910,
        // p^ = .65 / .7 = .928571 -> sqrt(p^ (1 - p^)) = .257539.
        let expected = [1.0, 0.9 / 0.7, 0.2, 0.25, 0.540_062, 1.386_750];
        for (estimator, expected) in Estimator::COLUMNS.into_iter().zip(expected) {
            let found = estimator.table(rates).of(true, 6);
            assert!(
                (found - expected).abs() < 1e-5,
                "{}: {found}",
                estimator.name()
            );
        }
        assert!((Estimator::Gain.table(rates).of(false, 6) + 0.75 / 0.7).abs() < 1e-12);
    }

    #[test]
    fn centred_advantages_of_uniform_groups_are_zero() {
        let rates = Rates::new(0.1, 0.2).unwrap();
        for estimator in [
            Estimator::Mean,
            Estimator::Gain,
            Estimator::Z,
            Estimator::ZFix,
        ] {
            assert!(estimator.table(rates).of(true, GROUP).abs() < 1e-12);
            assert!(estimator.table(rates).of(false, 0).abs() < 1e-12);
        }
    }

    #[test]
    fn zfix_without_noise_equals_the_z_score() {
        // Up to the divisor n - 1 of the variance, and the epsilon.
        let scale = (7.0f64 / 8.0).sqrt();
        for passes in 1..GROUP {
            let of = |estimator: Estimator| estimator.table(Rates::CLEAN).of(true, passes);
            assert!((of(Estimator::Z) - scale * of(Estimator::ZFix)).abs() < 1e-5);
        }
    }
}
