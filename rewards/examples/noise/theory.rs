//! Comparison of formulas with draws: the policy gradient of a bandit with twenty equally likely
//! answers, and counts of verdicts.

use assay_base::Random;
use assay_rewards::Rates;
use assay_rewards::channel::estimate::appeals_needed;

use crate::noise::experiments::{CHANNELS, label, rates};
use crate::noise::policy::ANSWERS;
use crate::noise::table::Table;
use crate::noise::verifier::Recheck;

const DRAWS: u32 = 200_000;

/// Numbers of right answers among the twenty.
const RIGHT: [usize; 5] = [2, 6, 10, 14, 18];

/// Moments of one sample of a bandit's policy gradient, advantage times score.
struct Sample {
    /// Mean of the squared length.
    square: f64,
    /// Squared length of the mean.
    signal: f64,
}

impl Sample {
    /// Moments for `ANSWERS` equally likely answers, of which the first `right` are right, and the
    /// advantage r - `baseline`.
    fn of(right: usize, noise: Rates, baseline: f64, random: &mut Random) -> Self {
        let even = 1.0 / ANSWERS as f64;
        let (mut by_answer, mut total, mut square) = ([0.0; ANSWERS], 0.0, 0.0);
        for _ in 0..DRAWS {
            let answer = random.index(&[even; ANSWERS]);
            let pass = random.bernoulli(if answer < right {
                1.0 - noise.rho1
            } else {
                noise.rho0
            });
            let advantage = f64::from(u8::from(pass)) - baseline;
            by_answer[answer] += advantage / f64::from(DRAWS);
            total += advantage / f64::from(DRAWS);
            // The score of an answer is its unit vector minus `even` in every component; its
            // squared length is 1 - even.
            square += advantage * advantage * (1.0 - even) / f64::from(DRAWS);
        }
        let signal: f64 = by_answer
            .iter()
            .map(|part| (part - even * total).powi(2))
            .sum();
        // The squared mean of n draws is biased by its variance.
        Self {
            square,
            signal: signal - (square - signal) / f64::from(DRAWS),
        }
    }
}

/// Number of samples with noise for the SNR of one sample without: q (1 - q) / (J^2 p (1 - p)) (own
/// derivation).
pub(crate) fn inflation() -> Table {
    let columns = RIGHT
        .iter()
        .map(|right| format!("p = {}", *right as f64 / ANSWERS as f64));
    let mut table = Table::new(std::iter::once("(rho0, rho1)".to_owned()).chain(columns));
    let mut random = Random::stream(&[5]);
    for noise in CHANNELS.into_iter().skip(1) {
        let cells = RIGHT.iter().map(|right| {
            let p = *right as f64 / ANSWERS as f64;
            let q = noise.q(p);
            let formula = q * (1.0 - q) / (noise.j().powi(2) * p * (1.0 - p));
            let clean = Sample::of(*right, Rates::CLEAN, p, &mut random);
            let noisy = Sample::of(*right, noise, q, &mut random);
            let found = (noisy.square / noisy.signal) / (clean.square / clean.signal);
            format!("{formula:.2} / {found:.2}")
        });
        table.row(std::iter::once(label(noise)).chain(cells));
    }
    table
}

/// Variance with a constant baseline b relative to the best baseline: 1 + (q - b)^2 / (q (1 - q))
/// (own derivation).
pub(crate) fn baselines() -> Table {
    let mut table = Table::new([
        "(rho0, rho1), p",
        "raw: b = 0",
        "backward: b = rho0",
        "forward: b = 1 - rho1",
    ]);
    let mut random = Random::stream(&[6]);
    for (noise, right) in [
        (rates(0.1, 0.2), 3),
        (rates(0.1, 0.2), 14),
        (rates(0.2, 0.4), 3),
        (rates(0.2, 0.4), 14),
    ] {
        let p = right as f64 / ANSWERS as f64;
        let q = noise.q(p);
        let best = Sample::of(right, noise, q, &mut random).square;
        let cells = [0.0, noise.rho0, 1.0 - noise.rho1].map(|baseline| {
            let formula = 1.0 + (q - baseline).powi(2) / (q * (1.0 - q));
            let found = Sample::of(right, noise, baseline, &mut random).square / best;
            format!("{formula:.2} / {found:.2}")
        });
        table.row(std::iter::once(format!("{}, {p}", label(noise))).chain(cells));
    }
    table
}

/// Rates after judges decided a share of the negatives and a share of the positives. The two sets
/// are disjoint, so the changes add up.
pub(crate) fn rechecked(before: Rates, appeals: &Recheck, audits: &Recheck) -> Rates {
    let appealed = before.after_appeals(appeals.share, appeals.sensitivity, appeals.specificity);
    let audited = before.after_audits(audits.share, audits.sensitivity, audits.specificity);
    rates(
        appealed.rho0 + audited.rho0 - before.rho0,
        appealed.rho1 + audited.rho1 - before.rho1,
    )
}

/// [`rechecked`] compared with drawn verdicts.
pub(crate) fn residual() -> Table {
    let before = rates(0.1, 0.4);
    let mut table = Table::new(["rechecked of (0.1, 0.4)", "rho0 after", "rho1 after"]);
    let mut random = Random::stream(&[7]);
    for (appeals, audits) in [(0.5, 0.0), (1.0, 0.0), (0.0, 0.5), (0.5, 0.5), (1.0, 1.0)] {
        let (appealed, audited) = (Recheck::of(appeals), Recheck::of(audits));
        let formula = rechecked(before, &appealed, &audited);
        let mut passes = |right: bool| {
            let passes = (0..DRAWS).filter(|_| {
                let pass = random.bernoulli(if right {
                    1.0 - before.rho1
                } else {
                    before.rho0
                });
                let judge = if pass { &audited } else { &appealed };
                if random.bernoulli(judge.share) {
                    judge.verdict(right, &mut random)
                } else {
                    pass
                }
            });
            passes.count() as f64 / f64::from(DRAWS)
        };
        let (rho0, rho1) = (passes(false), 1.0 - passes(true));
        table.row([
            format!(
                "{} % of negatives, {} % of positives",
                100.0 * appeals,
                100.0 * audits
            ),
            format!("{:.3} / {rho0:.3}", formula.rho0),
            format!("{:.3} / {rho1:.3}", formula.rho1),
        ]);
    }
    table
}

/// Probability that the verdicts of a group of 8 differ although all members are right, or all are
/// wrong: 1 - (1 - rho)^8 - rho^8.
pub(crate) fn mixed_groups() -> Table {
    let mut table = Table::new(["(rho0, rho1)", "all right", "all wrong"]);
    let mut random = Random::stream(&[8]);
    for noise in CHANNELS.into_iter().skip(1) {
        let cells = [1.0 - noise.rho1, noise.rho0].map(|pass| {
            let formula = 1.0 - pass.powi(8) - (1.0 - pass).powi(8);
            let mixed = (0..DRAWS)
                .filter(|_| (1..8).contains(&random.count(8, pass)))
                .count();
            format!("{formula:.3} / {:.3}", mixed as f64 / f64::from(DRAWS))
        });
        table.row(std::iter::once(label(noise)).chain(cells));
    }
    table
}

/// Number of appeals for an interval of rho1 of ± 0.05, where the errors of positives are known.
pub(crate) fn appeals() -> Table {
    let shares = [0.1, 0.3, 0.5, 0.7, 0.9];
    let columns = shares.iter().map(|p| format!("p = {p}"));
    let mut table = Table::new(std::iter::once("(rho0, rho1)".to_owned()).chain(columns));
    for noise in [
        rates(0.0, 0.1),
        rates(0.0, 0.2),
        rates(0.0, 0.4),
        rates(0.2, 0.4),
    ] {
        let needed =
            shares.map(|p| format!("{:.0}", appeals_needed(0.05, noise.rho0, noise.rho1, p)));
        table.row(std::iter::once(label(noise)).chain(needed));
    }
    table
}
