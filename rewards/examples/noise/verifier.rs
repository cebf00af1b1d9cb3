//! Verifiers with the kinds of errors that the experiments compare, and judges that recheck a share
//! of their verdicts.

use assay_base::Random;
use assay_rewards::Rates;

use crate::noise::policy::{ANSWERS, FEATURES, PROMPTS, World, is_right};

/// Kind of errors of a verifier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// Errors are drawn at every call, with the same rates for all prompts.
    Fresh(Rates),
    /// Errors are drawn at every call, with different rates for the two halves of the prompts.
    Halves(Rates, Rates),
    /// Errors are drawn once per answer of a prompt: the same answer always gets the same verdict.
    Persistent(Rates),
    /// The most frequent form of the right answer of a prompt is always rejected; all other
    /// verdicts are correct.
    ModalForm,
}

/// A judge whose verdict replaces the verifier's on a random share of its negatives or positives.
/// Its errors are drawn at every call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Recheck {
    /// Share rechecked, in \[0, 1\].
    pub(crate) share: f64,
    /// P(judge accepts | right).
    pub(crate) sensitivity: f64,
    /// P(judge rejects | wrong).
    pub(crate) specificity: f64,
}

impl Recheck {
    /// No rechecks.
    pub(crate) const NONE: Self = Self::of(0.0);

    /// The judge of the experiments, with sensitivity 0.9 and specificity 0.98, for this share.
    pub(crate) const fn of(share: f64) -> Self {
        Self {
            share,
            sensitivity: 0.9,
            specificity: 0.98,
        }
    }

    /// The judge's verdict on one answer.
    pub(crate) fn verdict(&self, right: bool, random: &mut Random) -> bool {
        random.bernoulli(if right {
            self.sensitivity
        } else {
            1.0 - self.specificity
        })
    }
}

/// A verifier for one world, with its judges.
#[derive(Debug, Clone)]
pub(crate) struct Verifier {
    /// P(pass) of each answer of each prompt, before judges.
    pass: Vec<[f64; ANSWERS]>,
    rates: Vec<Rates>,
    appeals: Recheck,
    audits: Recheck,
}

impl Verifier {
    /// The verifier for the world of this seed, which also determines persistent errors.
    pub(crate) fn new(
        noise: Noise,
        appeals: Recheck,
        audits: Recheck,
        world: &World,
        seed: u64,
    ) -> Self {
        let mut random = Random::stream(&[seed, 2]);
        let rates: Vec<Rates> = (0..PROMPTS)
            .map(|prompt| marginal(noise, prompt, world))
            .collect();
        let mut pass = vec![[0.0; ANSWERS]; PROMPTS];
        for (prompt, pass) in pass.iter_mut().enumerate() {
            for (answer, pass) in pass.iter_mut().enumerate() {
                let right = is_right(answer);
                let fresh = if right {
                    1.0 - rates[prompt].rho1
                } else {
                    rates[prompt].rho0
                };
                *pass = match noise {
                    Noise::Fresh(_) | Noise::Halves(..) => fresh,
                    Noise::Persistent(_) => f64::from(u8::from(random.bernoulli(fresh))),
                    Noise::ModalForm => {
                        f64::from(u8::from(right && answer != world.modal_right(prompt)))
                    }
                };
            }
        }
        Self {
            pass,
            rates,
            appeals,
            audits,
        }
    }

    /// Verdict on one rollout, after rechecks.
    pub(crate) fn verdict(&self, prompt: usize, answer: usize, random: &mut Random) -> bool {
        let passed = random.bernoulli(self.pass[prompt][answer]);
        let judge = if passed { &self.audits } else { &self.appeals };
        if random.bernoulli(judge.share) {
            judge.verdict(is_right(answer), random)
        } else {
            passed
        }
    }

    /// P(pass) of an answer, after rechecks.
    pub(crate) fn pass(&self, prompt: usize, answer: usize) -> f64 {
        let pass = self.pass[prompt][answer];
        let judge_passes = |judge: &Recheck| {
            if is_right(answer) {
                judge.sensitivity
            } else {
                1.0 - judge.specificity
            }
        };
        let upheld = pass * (1.0 - self.audits.share * (1.0 - judge_passes(&self.audits)));
        upheld + (1.0 - pass) * self.appeals.share * judge_passes(&self.appeals)
    }

    /// Rates of the channel of `prompt` before rechecks, as a calibration over all answers would
    /// estimate them.
    pub(crate) fn rates(&self, prompt: usize) -> Rates {
        self.rates[prompt]
    }
}

fn marginal(noise: Noise, prompt: usize, world: &World) -> Rates {
    match noise {
        Noise::Fresh(rates) | Noise::Persistent(rates) => rates,
        Noise::Halves(first, second) => {
            if prompt < PROMPTS / 2 {
                first
            } else {
                second
            }
        }
        Noise::ModalForm => Rates {
            rho0: 0.0,
            rho1: modal_share(world),
        },
    }
}

/// Share of the right answers that have the most frequent form, before training.
pub(crate) fn modal_share(world: &World) -> f64 {
    let (mut modal, mut right) = (0.0, 0.0);
    for prompt in 0..PROMPTS {
        let shares = world.shares(&[0.0; FEATURES], prompt);
        modal += shares[world.modal_right(prompt)];
        right += shares
            .iter()
            .enumerate()
            .filter(|(answer, _)| is_right(*answer))
            .map(|(_, share)| share)
            .sum::<f64>();
    }
    modal / right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(rho0: f64, rho1: f64) -> Rates {
        Rates::new(rho0, rho1).unwrap()
    }

    #[test]
    fn verdicts_have_the_stated_probability() {
        let world = World::new(0);
        let noise = Noise::Halves(rates(0.1, 0.2), rates(0.3, 0.4));
        let verifier = Verifier::new(noise, Recheck::of(0.5), Recheck::of(0.25), &world, 0);
        let mut random = Random::stream(&[9]);
        for (prompt, answer) in [(0, 0), (0, 19), (15, 0), (15, 19)] {
            let n = 20_000;
            let hits = (0..n)
                .filter(|_| verifier.verdict(prompt, answer, &mut random))
                .count();
            let expected = verifier.pass(prompt, answer);
            assert!(
                (hits as f64 / f64::from(n) - expected).abs() < 0.015,
                "{hits} {expected}"
            );
        }
        // By hand, right answer of the first half: 0.8 (1 - 0.25 * 0.1) + 0.2 * 0.5 * 0.9 = 0.87.
        assert!((verifier.pass(0, 0) - 0.87).abs() < 1e-12);
    }

    #[test]
    fn persistent_verdicts_do_not_change() {
        let world = World::new(0);
        let verifier = Verifier::new(
            Noise::Persistent(rates(0.5, 0.5)),
            Recheck::NONE,
            Recheck::NONE,
            &world,
            0,
        );
        let mut random = Random::stream(&[9]);
        let first: Vec<bool> = (0..ANSWERS)
            .map(|answer| verifier.verdict(0, answer, &mut random))
            .collect();
        let again: Vec<bool> = (0..ANSWERS)
            .map(|answer| verifier.verdict(0, answer, &mut random))
            .collect();
        assert_eq!(first, again);
        assert!(first.contains(&true) && first.contains(&false));
    }
}
