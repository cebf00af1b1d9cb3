//! Who grades: verifiers that err in the ways the experiments compare, and judges that recheck a
//! share of their verdicts. Knows what is right; what is made of the verdicts is not its matter.

use assay_correction::Rates;

use crate::noise::policy::{ANSWERS, FEATURES, PROMPTS, World, is_right};
use assay_core::Random;

/// How a verifier errs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// Anew at every call, alike for all prompts.
    Fresh(Rates),
    /// Anew at every call, with rates of its own for each half of the prompts.
    Halves(Rates, Rates),
    /// Once for each answer of each prompt: the same answer always gets the same verdict.
    Persistent(Rates),
    /// It never accepts the form in which most right answers of a prompt come, and is right
    /// otherwise.
    ModalForm,
}

/// Whose verdict replaces the verifier's on a random share of its negatives or positives. Errs anew
/// at every call.
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
    /// Nothing is rechecked.
    pub(crate) const NONE: Self = Self::of(0.0);

    /// The judge of the experiments, for this share: sensitivity 0.9, specificity 0.98.
    pub(crate) const fn of(share: f64) -> Self {
        Self {
            share,
            sensitivity: 0.9,
            specificity: 0.98,
        }
    }

    /// Its word on one answer.
    pub(crate) fn verdict(&self, right: bool, random: &mut Random) -> bool {
        random.happens(if right {
            self.sensitivity
        } else {
            1.0 - self.specificity
        })
    }
}

/// A verifier of one world with its judges.
#[derive(Debug, Clone)]
pub(crate) struct Verifier {
    /// P(pass) of each answer of each prompt, before judges.
    pass: Vec<[f64; ANSWERS]>,
    rates: Vec<Rates>,
    appeals: Recheck,
    audits: Recheck,
}

impl Verifier {
    /// Of the world of this seed, which also decides the verdicts of persistent noise.
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
                    Noise::Persistent(_) => f64::from(u8::from(random.happens(fresh))),
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

    /// Verdict on one rollout after any recheck.
    pub(crate) fn verdict(&self, prompt: usize, answer: usize, random: &mut Random) -> bool {
        let passed = random.happens(self.pass[prompt][answer]);
        let judge = if passed { &self.audits } else { &self.appeals };
        if random.happens(judge.share) {
            judge.verdict(is_right(answer), random)
        } else {
            passed
        }
    }

    /// P(pass) of an answer, any recheck included.
    pub(crate) fn pass(&self, prompt: usize, answer: usize) -> f64 {
        let pass = self.pass[prompt][answer];
        let judged = |judge: &Recheck| {
            if is_right(answer) {
                judge.sensitivity
            } else {
                1.0 - judge.specificity
            }
        };
        let kept = pass * (1.0 - self.audits.share * (1.0 - judged(&self.audits)));
        kept + (1.0 - pass) * self.appeals.share * judged(&self.appeals)
    }

    /// Rates of the channel of `prompt` before judges, as a calibration over all answers would find
    /// them.
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

/// Share of the right answers that come in the modal form of their prompt, before training.
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
    fn verdicts_come_as_often_as_they_say() {
        let world = World::new(0);
        let noise = Noise::Halves(rates(0.1, 0.2), rates(0.3, 0.4));
        let verifier = Verifier::new(noise, Recheck::of(0.5), Recheck::of(0.25), &world, 0);
        let mut random = Random::stream(&[9]);
        for (prompt, answer) in [(0, 0), (0, 19), (15, 0), (15, 19)] {
            let n = 20_000;
            let hits = (0..n)
                .filter(|_| verifier.verdict(prompt, answer, &mut random))
                .count();
            let said = verifier.pass(prompt, answer);
            assert!(
                (hits as f64 / f64::from(n) - said).abs() < 0.015,
                "{hits} {said}"
            );
        }
        // By hand, right answer of the first half: 0.8 (1 - 0.25 * 0.1) + 0.2 * 0.5 * 0.9 = 0.87.
        assert!((verifier.pass(0, 0) - 0.87).abs() < 1e-12);
    }

    #[test]
    fn persistent_verdicts_stay() {
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
