//! Training runs, distributed over cores, and their outcomes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use assay_base::Random;
use assay_rewards::Rates;

use crate::noise::estimator::{Advantages, Estimator, GROUP};
use crate::noise::policy::{ANSWERS, Adam, FEATURES, PROMPTS, Weights, World, add};
use crate::noise::verifier::{Noise, Recheck, Verifier};

/// Number of steps of a run. Each step grades one group of every prompt.
pub(crate) const STEPS: usize = 200;
/// Learning rates, of which the best is reported.
pub(crate) const LEARNING_RATES: [f64; 3] = [0.03, 0.1, 0.3];

/// Rates that the estimator assumes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Assumed {
    /// The rates of the channel.
    True,
    /// The rates of the other half of the prompts.
    Swapped,
    /// These rates.
    Given(Rates),
}

/// Configuration of a training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Case {
    /// Errors of the verifier.
    pub(crate) noise: Noise,
    /// Rechecks of negatives.
    pub(crate) appeals: Recheck,
    /// Rechecks of positives.
    pub(crate) audits: Recheck,
    /// Estimator of the advantage.
    pub(crate) estimator: Estimator,
    /// Rates that the estimator assumes.
    pub(crate) assumed: Assumed,
}

impl Case {
    /// A training without rechecks, with the true rates.
    pub(crate) fn new(noise: Noise, estimator: Estimator) -> Self {
        Self {
            noise,
            appeals: Recheck::NONE,
            audits: Recheck::NONE,
            estimator,
            assumed: Assumed::True,
        }
    }

    /// Advantages of each prompt.
    pub(crate) fn advantages(&self, verifier: &Verifier) -> Vec<Advantages> {
        let assumed = |prompt| match self.assumed {
            Assumed::True => verifier.rates(prompt),
            Assumed::Swapped => verifier.rates((prompt + PROMPTS / 2) % PROMPTS),
            Assumed::Given(rates) => rates,
        };
        (0..PROMPTS)
            .map(|prompt| self.estimator.table(assumed(prompt)))
            .collect()
    }

    fn verifier(&self, world: &World, seed: u64) -> Verifier {
        Verifier::new(self.noise, self.appeals, self.audits, world, seed)
    }
}

/// A mean over seeds with its standard error.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Mean {
    /// The mean.
    pub(crate) value: f64,
    /// Its standard error.
    pub(crate) error: f64,
}

impl Mean {
    /// The mean of at least two numbers.
    pub(crate) fn of(numbers: &[f64]) -> Self {
        let n = numbers.len() as f64;
        let value = numbers.iter().sum::<f64>() / n;
        let square: f64 = numbers.iter().map(|number| (number - value).powi(2)).sum();
        Self {
            value,
            error: (square / (n - 1.0).max(1.0) / n).sqrt(),
        }
    }
}

/// Outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outcome {
    /// True accuracy after the last step, at the learning rate with the highest mean.
    pub(crate) accuracy: Mean,
    /// True accuracy after half of the steps at the lowest learning rate.
    pub(crate) halfway: Mean,
}

/// True accuracies of one run, after half of the steps and at the end.
pub(crate) fn run(case: &Case, learning_rate: f64, seed: u64) -> [f64; 2] {
    let world = World::new(seed);
    let verifier = case.verifier(&world, seed);
    let advantages = case.advantages(&verifier);
    let mut random = Random::stream(&[seed, 3]);
    let (mut weights, mut adam) = ([0.0; FEATURES], Adam::new(learning_rate));
    let mut accuracies = [0.0; 2];
    for half in &mut accuracies {
        for _ in 0..STEPS / 2 {
            let gradient = gradient(&world, &verifier, &advantages, &weights, &mut random);
            adam.step(&mut weights, &gradient);
        }
        *half = world.accuracy(&weights);
    }
    accuracies
}

/// Estimated policy gradient of one batch: a group of [`GROUP`] rollouts of every prompt, on
/// policy.
pub(crate) fn gradient(
    world: &World,
    verifier: &Verifier,
    advantages: &[Advantages],
    weights: &Weights,
    random: &mut Random,
) -> Weights {
    let mut gradient = [0.0; FEATURES];
    for (prompt, advantages) in advantages.iter().enumerate() {
        let shares = world.shares(weights, prompt);
        let mut group = [(0, false); GROUP];
        for (answer, pass) in &mut group {
            *answer = random.index(&shares);
            *pass = verifier.verdict(prompt, *answer, random);
        }
        let passes = group.iter().filter(|(_, pass)| *pass).count();
        let mut by = [0.0; ANSWERS];
        for (answer, pass) in group {
            by[answer] += advantages.of(pass, passes) / GROUP as f64;
        }
        add(
            &mut gradient,
            &world.weighted_score(&shares, &by, prompt),
            1.0 / PROMPTS as f64,
        );
    }
    gradient
}

/// Trains every case on every seed at every learning rate.
pub(crate) fn outcomes(cases: &[Case], seeds: u64) -> Vec<Outcome> {
    let rates = LEARNING_RATES.len();
    let jobs: Vec<(&Case, f64, u64)> = cases
        .iter()
        .flat_map(|case| {
            LEARNING_RATES
                .iter()
                .flat_map(move |rate| (0..seeds).map(move |seed| (case, *rate, seed)))
        })
        .collect();
    let runs = spread(&jobs, |(case, rate, seed)| run(case, *rate, *seed));
    let by_seed: Vec<&[[f64; 2]]> = runs
        .chunks(usize::try_from(seeds).unwrap_or(1).max(1))
        .collect();
    let mean = |seeds: &[[f64; 2]], half: usize| {
        Mean::of(&seeds.iter().map(|run| run[half]).collect::<Vec<_>>())
    };
    let outcome = |by_rate: &[&[[f64; 2]]]| {
        let ends = by_rate.iter().map(|seeds| mean(seeds, 1));
        let best = ends
            .max_by(|a, b| a.value.total_cmp(&b.value))
            .unwrap_or_default();
        Outcome {
            accuracy: best,
            halfway: by_rate
                .first()
                .map(|seeds| mean(seeds, 0))
                .unwrap_or_default(),
        }
    };
    by_seed.chunks(rates).map(outcome).collect()
}

/// Applies `of` to every input on all cores. Results are in the order of the inputs.
pub(crate) fn spread<In: Sync, Out: Send>(
    inputs: &[In],
    of: impl Fn(&In) -> Out + Sync,
) -> Vec<Out> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(input) = inputs.get(at) else {
                return done;
            };
            done.push((at, of(input)));
        }
    };
    let mut done: Vec<(usize, Out)> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .filter_map(|handle| handle.join().ok())
            .flatten()
            .collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, out)| out).collect()
}
