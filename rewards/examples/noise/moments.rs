//! Mean and variance of the gradient of an estimator before training, computed exactly for fresh
//! noise by summing over the verdicts of a group.

use assay_base::Random;

use crate::noise::estimator::{Advantages, GROUP};
use crate::noise::policy::{FEATURES, PROMPTS, Weights, World, add, cosine, dot, is_right};
use crate::noise::training::{Case, gradient};
use crate::noise::verifier::Verifier;

/// Direction and variance of the gradient of one batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moments {
    /// Cosine between the expected and the true gradient; 1 if noise changes the length only.
    pub(crate) bias_cosine: f64,
    /// Mean cosine between the gradient of a batch and the true gradient.
    pub(crate) batch_cosine: f64,
    /// Squared length of the expected gradient divided by the sum of the variances of its
    /// components.
    pub(crate) snr: f64,
}

/// Moments of a case in the world of `seed`. The batch cosine is a mean over `batches` drawn
/// batches.
pub(crate) fn moments(case: &Case, seed: u64, batches: u32) -> Moments {
    let world = World::new(seed);
    let verifier = Verifier::new(case.noise, case.appeals, case.audits, &world, seed);
    let advantages = case.advantages(&verifier);
    let weights = [0.0; FEATURES];
    let (mut expected, mut truth, mut variance) = ([0.0; FEATURES], [0.0; FEATURES], 0.0);
    for (prompt, advantages) in advantages.iter().enumerate() {
        let part = of_prompt(&world, &verifier, advantages, prompt);
        add(&mut expected, &part.expected, 1.0 / PROMPTS as f64);
        add(&mut truth, &part.truth, 1.0 / PROMPTS as f64);
        variance += part.variance / (PROMPTS * PROMPTS) as f64;
    }
    let mut random = Random::stream(&[seed, 4]);
    let mut batch = || {
        cosine(
            &gradient(&world, &verifier, &advantages, &weights, &mut random),
            &truth,
        )
    };
    Moments {
        bias_cosine: cosine(&expected, &truth),
        batch_cosine: (0..batches).map(|_| batch()).sum::<f64>() / f64::from(batches.max(1)),
        snr: dot(&expected, &expected) / variance,
    }
}

struct Part {
    expected: Weights,
    truth: Weights,
    variance: f64,
}

/// Expected gradient and variance of one prompt (own derivation).
///
/// The members of a group are independent and identically distributed, and an advantage A depends
/// on the member's verdict and the number of passes. Let s be the score of an answer and u its mean
/// over passes (over negatives it is -u, because the mean of s is 0). The number of passes of the
/// other members is binomial in q. Then E\[A s\] = u (E\[A | pass\] - E\[A | no pass\]). The second
/// moment of the group mean of A s has a term for single members and a term for pairs, whose
/// advantages depend on the same number of passes.
fn of_prompt(world: &World, verifier: &Verifier, advantages: &Advantages, prompt: usize) -> Part {
    let shares = world.shares(&[0.0; FEATURES], prompt);
    let scores = world.scores(&shares, prompt);
    let (mut passed, mut truth) = ([0.0; FEATURES], [0.0; FEATURES]);
    let (mut q, mut lengths) = (0.0, [0.0; 2]);
    for (answer, score) in scores.iter().enumerate() {
        let pass = shares[answer] * verifier.pass(prompt, answer);
        q += pass;
        add(&mut passed, score, pass);
        lengths[1] += pass * dot(score, score);
        lengths[0] += (shares[answer] - pass) * dot(score, score);
        if is_right(answer) {
            add(&mut truth, score, shares[answer]);
        }
    }
    let own = |pass: bool, power: i32| {
        let with = usize::from(pass);
        sum(GROUP - 1, q, |others| {
            advantages.of(pass, others + with).powi(power)
        })
    };
    let mut expected = [0.0; FEATURES];
    add(&mut expected, &passed, own(true, 1) - own(false, 1));
    let pair = |first: bool, second: bool| {
        let with = usize::from(first) + usize::from(second);
        sum(GROUP - 2, q, |others| {
            advantages.of(first, others + with) * advantages.of(second, others + with)
        })
    };
    let single = lengths[1] * own(true, 2) + lengths[0] * own(false, 2);
    let paired =
        dot(&passed, &passed) * (pair(true, true) - 2.0 * pair(true, false) + pair(false, false));
    let group = GROUP as f64;
    let second = single / group + paired * (group - 1.0) / group;
    Part {
        expected,
        truth,
        variance: second - dot(&expected, &expected),
    }
}

/// Mean of `of` over a binomial distribution with `n` trials of probability `q`.
fn sum(n: usize, q: f64, of: impl Fn(usize) -> f64) -> f64 {
    let mut combinations = 1.0;
    let mut total = 0.0;
    let mut count = 0;
    for hits in 0..=n {
        let rest = n - hits;
        let power = |base: f64, times: usize| (0..times).map(|_| base).product::<f64>();
        total += combinations * power(q, hits) * power(1.0 - q, rest) * of(hits);
        count += 1;
        combinations *= rest as f64 / f64::from(count);
    }
    total
}

#[cfg(test)]
mod tests {
    use assay_rewards::Rates;

    use super::*;
    use crate::noise::estimator::Estimator;
    use crate::noise::verifier::{Noise, Recheck};

    #[test]
    fn exact_moments_agree_with_drawn_ones() {
        let noise = Noise::Halves(Rates::new(0.1, 0.2).unwrap(), Rates::new(0.3, 0.1).unwrap());
        for estimator in [Estimator::Raw, Estimator::Mean, Estimator::ZFix] {
            let case = Case::new(noise, estimator);
            let (world, seed) = (World::new(2), 2);
            let verifier = Verifier::new(noise, Recheck::NONE, Recheck::NONE, &world, seed);
            let advantages = case.advantages(&verifier);
            let mut random = Random::stream(&[11]);
            let n = 6_000;
            let (mut mean, mut square) = ([0.0; FEATURES], 0.0);
            for _ in 0..n {
                let one = gradient(
                    &world,
                    &verifier,
                    &advantages,
                    &[0.0; FEATURES],
                    &mut random,
                );
                add(&mut mean, &one, 1.0 / f64::from(n));
                square += dot(&one, &one) / f64::from(n);
            }
            let variance = square - dot(&mean, &mean);
            let drawn = (dot(&mean, &mean) - variance / f64::from(n)) / variance;
            let summed = moments(&case, seed, 0).snr;
            assert!(
                (drawn / summed - 1.0).abs() < 0.08,
                "{}: {drawn} {summed}",
                estimator.name()
            );
        }
    }
}
