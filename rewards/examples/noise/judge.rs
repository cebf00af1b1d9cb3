//! A judge with known rates grades half of the prompts, and a rule without errors the others. What
//! is learnt on either half, with and without a correction by rates that were estimated.

use assay_base::Random;
use assay_rewards::Rates;
use assay_rewards::interval::error_rate;

use crate::noise::estimator::Estimator;
use crate::noise::experiments::{label, rates};
use crate::noise::policy::{Adam, FEATURES, PROMPTS, RIGHT, Weights, World};
use crate::noise::table::{Table, with_error};
use crate::noise::training::{Assumed, Case, LEARNING_RATES, Mean, STEPS, gradient, spread};
use crate::noise::verifier::{Noise, Recheck, Verifier};

/// Labelled answers of each kind by which the judge is calibrated.
const LABELS: u32 = 200;
const JUDGES: [Rates; 3] = [rates(0.1, 0.3), rates(0.2, 0.5), rates(0.3, 0.4)];
/// The estimators: uncorrected, corrected with the true rates, corrected with estimated rates.
const COLUMNS: [&str; 3] = ["mean", "mean / J, true rates", "mean / J, estimated rates"];

/// The rates as a calibration on labelled answers finds them.
fn estimated(truth: Rates, random: &mut Random) -> Rates {
    let mut rate = |rate: f64| {
        let n = f64::from(LABELS);
        error_rate(f64::from(random.count(LABELS, rate)), n).map_or(rate, |found| found.value)
    };
    rates(rate(truth.rho0), rate(truth.rho1))
}

/// Accuracies of one run: on all prompts, on those of the rule, and on those of the judge.
fn run(judge: Rates, column: usize, rate: f64, seed: u64) -> [f64; 3] {
    let world = World::new(seed);
    let mut random = Random::stream(&[seed, 41]);
    let known = match column {
        2 => estimated(judge, &mut random),
        _ => judge,
    };
    let estimator = [Estimator::Mean, Estimator::Gain, Estimator::Gain][column];
    let noise = Noise::Halves(Rates::CLEAN, judge);
    let verifier = Verifier::new(noise, Recheck::NONE, Recheck::NONE, &world, seed);
    let half = |rates| Case {
        assumed: Assumed::Given(rates),
        ..Case::new(noise, estimator)
    };
    let rule = half(Rates::CLEAN).advantages(&verifier);
    let judged = half(known).advantages(&verifier);
    let advantages = [&rule[..PROMPTS / 2], &judged[PROMPTS / 2..]].concat();
    let (mut weights, mut adam) = ([0.0; FEATURES], Adam::new(rate));
    for _ in 0..STEPS {
        let gradient = gradient(&world, &verifier, &advantages, &weights, &mut random);
        adam.step(&mut weights, &gradient);
    }
    let of = |first, last| accuracy(&world, &weights, first, last);
    [of(0, PROMPTS), of(0, PROMPTS / 2), of(PROMPTS / 2, PROMPTS)]
}

fn accuracy(world: &World, weights: &Weights, first: usize, last: usize) -> f64 {
    let right = |prompt| world.shares(weights, prompt)[..RIGHT].iter().sum::<f64>();
    (first..last).map(right).sum::<f64>() / (last - first) as f64
}

/// The table, as Markdown.
pub(crate) fn report(seeds: u64) -> String {
    let mut text = format!(
        "# A judge on half of the prompts\n\nTrue accuracy after training on the prompts of the \
         judge, and on those of the rule, at the learning rate that is best for all. Rates are \
         estimated from {LABELS} right and {LABELS} wrong answers.\n\n"
    );
    let mut table = Table::new(std::iter::once("(rho0, rho1) of the judge").chain(COLUMNS));
    for judge in JUDGES {
        let cell = |column: usize| {
            let jobs: Vec<_> = LEARNING_RATES
                .iter()
                .flat_map(|rate| (0..seeds).map(move |seed| (*rate, seed)))
                .collect();
            let runs = spread(&jobs, |(rate, seed)| run(judge, column, *rate, *seed));
            let by_seed = usize::try_from(seeds).unwrap_or(1).max(1);
            let means = runs.chunks(by_seed).map(|runs| {
                [0, 1, 2].map(|at| Mean::of(&runs.iter().map(|run| run[at]).collect::<Vec<_>>()))
            });
            let best = means.max_by(|a, b| a[0].value.total_cmp(&b[0].value));
            let [_, rule, judged] = best.unwrap_or_default();
            format!("{}; {}", with_error(judged), with_error(rule))
        };
        table.row(std::iter::once(label(judge)).chain([0, 1, 2].map(cell)));
    }
    text.push_str(&table.to_string());
    text
}
