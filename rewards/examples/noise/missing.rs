//! Training where rewards are missing, as when a judge times out: what masking biases, and when
//! inverse-probability weights correct it.

use assay_base::Random;
use assay_rewards::propensity::inverse_probability;

use crate::noise::estimator::GROUP;
use crate::noise::policy::{
    ANSWERS, Adam, FEATURES, PROMPTS, Weights, World, add, cosine, is_right,
};
use crate::noise::table::{Table, with_error};
use crate::noise::training::{LEARNING_RATES, Mean, STEPS, spread};

/// Batches whose mean gradient is the expected one.
const BATCHES: u32 = 2_000;
/// Limit of 1 / probability.
const MOST: f64 = 20.0;

/// Which rewards are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// None.
    Nothing,
    /// 45 % of all.
    AtRandom,
    /// 90 % of long completions. Two thirds of the right answers are long, and a third of the
    /// others.
    Long,
    /// 90 % on half of the prompts.
    Prompts,
    /// 90 % of right answers, whatever is known of them.
    Right,
    /// 90 % of wrong answers.
    Wrong,
}

/// What the trainer does about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// Items without a reward do not count.
    Mask,
    /// They count as 0.
    Zero,
    /// The others are weighted, by length and prompt.
    Weight,
}

const LOSSES: [(Loss, &str); 6] = [
    (Loss::Nothing, "nothing"),
    (Loss::AtRandom, "45 %, at random"),
    (Loss::Long, "90 % of long completions"),
    (Loss::Prompts, "90 % on half of the prompts"),
    (Loss::Right, "90 % of right answers"),
    (Loss::Wrong, "90 % of wrong answers"),
];

const REMEDIES: [Remedy; 3] = [Remedy::Mask, Remedy::Zero, Remedy::Weight];

impl Loss {
    /// Probability that the reward of a rollout is missing.
    fn probability(self, prompt: usize, right: bool, long: bool) -> f64 {
        let lost = match self {
            Self::Nothing => return 0.0,
            Self::AtRandom => return 0.45,
            Self::Long => long,
            Self::Prompts => prompt < PROMPTS / 2,
            Self::Right => right,
            Self::Wrong => !right,
        };
        if lost { 0.9 } else { 0.0 }
    }
}

/// Whether an answer is long.
fn is_long(prompt: usize, answer: usize) -> bool {
    let at = (prompt + answer) % 3;
    if is_right(answer) { at > 0 } else { at == 0 }
}

/// A rollout: its answer, and whether it has a reward.
type Rollout = (usize, bool);

fn rollouts(world: &World, weights: &Weights, loss: Loss, random: &mut Random) -> Vec<Rollout> {
    let mut batch = Vec::with_capacity(PROMPTS * GROUP);
    for prompt in 0..PROMPTS {
        let shares = world.shares(weights, prompt);
        for _ in 0..GROUP {
            let answer = random.index(&shares);
            let lost = loss.probability(prompt, is_right(answer), is_long(prompt, answer));
            batch.push((answer, !random.bernoulli(lost)));
        }
    }
    batch
}

/// Weight of each rollout by which it counts; 0 for one that does not.
fn item_weights(batch: &[Rollout], remedy: Remedy) -> Vec<f64> {
    match remedy {
        Remedy::Zero => vec![1.0; batch.len()],
        Remedy::Mask => batch
            .iter()
            .map(|(_, kept)| f64::from(u8::from(*kept)))
            .collect(),
        Remedy::Weight => {
            let items: Vec<_> = batch
                .iter()
                .enumerate()
                .map(|(at, (answer, kept))| {
                    let prompt = at / GROUP;
                    ((prompt < PROMPTS / 2, is_long(prompt, *answer)), *kept)
                })
                .collect();
            inverse_probability(&items, MOST)
                .into_iter()
                .map(|propensity| propensity.map_or(0.0, |propensity| propensity.weight))
                .collect()
        }
    }
}

/// The gradient of a batch with the mean of the group as the baseline, and the mean reward.
fn gradient(
    world: &World,
    weights: &Weights,
    loss: Loss,
    remedy: Remedy,
    random: &mut Random,
) -> (Weights, f64) {
    let batch = rollouts(world, weights, loss, random);
    let by_item = item_weights(&batch, remedy);
    let reward = |(answer, kept): &Rollout| f64::from(u8::from(*kept && is_right(*answer)));
    let (mut sum, mut rewards) = ([0.0; FEATURES], 0.0);
    let total: f64 = by_item.iter().sum();
    for (prompt, (group, by_item)) in batch.chunks(GROUP).zip(by_item.chunks(GROUP)).enumerate() {
        let members = || group.iter().zip(by_item);
        let of_group: f64 = by_item.iter().sum();
        let rewarded: f64 = members().map(|(item, weight)| weight * reward(item)).sum();
        rewards += rewarded;
        if of_group <= 0.0 {
            continue;
        }
        let mean = rewarded / of_group;
        let mut by = [0.0; ANSWERS];
        for (item, weight) in members() {
            by[item.0] += weight * (reward(item) - mean);
        }
        let shares = world.shares(weights, prompt);
        add(
            &mut sum,
            &world.weighted_score(&shares, &by, prompt),
            1.0 / total,
        );
    }
    (sum, rewards / total.max(1.0))
}

/// True accuracy after training.
fn accuracy(loss: Loss, remedy: Remedy, rate: f64, seed: u64) -> f64 {
    let world = World::new(seed);
    let mut random = Random::stream(&[seed, 31]);
    let (mut weights, mut adam) = ([0.0; FEATURES], Adam::new(rate));
    for _ in 0..STEPS {
        let (gradient, _) = gradient(&world, &weights, loss, remedy, &mut random);
        adam.step(&mut weights, &gradient);
    }
    world.accuracy(&weights)
}

/// Cosine between the expected gradient and that without missing rewards, and the bias of the mean
/// reward, before training.
fn bias(loss: Loss, remedy: Remedy, seed: u64) -> [f64; 2] {
    let world = World::new(seed);
    let start = [0.0; FEATURES];
    let expected = |loss, remedy| {
        let mut random = Random::stream(&[seed, 32]);
        let (mut sum, mut mean) = ([0.0; FEATURES], 0.0);
        for _ in 0..BATCHES {
            let (gradient, reward) = gradient(&world, &start, loss, remedy, &mut random);
            add(&mut sum, &gradient, 1.0);
            mean += reward / f64::from(BATCHES);
        }
        (sum, mean)
    };
    let (truth, _) = expected(Loss::Nothing, Remedy::Mask);
    let (found, mean) = expected(loss, remedy);
    [cosine(&found, &truth), mean - world.accuracy(&start)]
}

/// The table, as Markdown.
pub(crate) fn report(seeds: u64) -> String {
    let cases: Vec<(Loss, Remedy)> = LOSSES
        .iter()
        .flat_map(|(loss, _)| REMEDIES.map(|remedy| (*loss, remedy)))
        .collect();
    let jobs: Vec<_> = cases
        .iter()
        .flat_map(|case| LEARNING_RATES.map(|rate| (*case, rate)))
        .flat_map(|(case, rate)| (0..seeds).map(move |seed| (case, rate, seed)))
        .collect();
    let runs = spread(&jobs, |((loss, remedy), rate, seed)| {
        accuracy(*loss, *remedy, *rate, *seed)
    });
    let by_seed = usize::try_from(seeds).unwrap_or(1).max(1);
    let means: Vec<Mean> = runs.chunks(by_seed).map(Mean::of).collect();
    let best = |rates: &[Mean]| {
        let best = rates.iter().max_by(|a, b| a.value.total_cmp(&b.value));
        best.copied().unwrap_or_default()
    };
    let accuracies: Vec<Mean> = means.chunks(LEARNING_RATES.len()).map(best).collect();
    let jobs: Vec<_> = cases
        .iter()
        .flat_map(|case| (0..seeds.min(8)).map(move |seed| (*case, seed)))
        .collect();
    let biases = spread(&jobs, |((loss, remedy), seed)| bias(*loss, *remedy, *seed));
    let biases: Vec<[f64; 2]> = biases
        .chunks(usize::try_from(seeds.min(8)).unwrap_or(1).max(1))
        .map(|of| [0, 1].map(|at| of.iter().map(|bias| bias[at]).sum::<f64>() / of.len() as f64))
        .collect();
    let mut text = "# Missing rewards\n\nTrue accuracy after training, the cosine between the \
                    expected gradient and that without missing rewards, and the bias of the mean \
                    reward, before training.\n\n"
        .to_owned();
    let mut table = Table::new(["missing", "masked", "as 0", "weighted"]);
    for (at, (_, title)) in LOSSES.iter().enumerate() {
        let cell = |remedy: usize| {
            let at = at * REMEDIES.len() + remedy;
            let [cosine, mean] = biases[at];
            format!("{}; {cosine:.3}; {mean:+.3}", with_error(accuracies[at]))
        };
        table.row(std::iter::once((*title).to_owned()).chain([0, 1, 2].map(cell)));
    }
    text.push_str(&table.to_string());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_correct_what_depends_on_observables_only() {
        let of = |loss, remedy| bias(loss, remedy, 0);
        for loss in [Loss::Long, Loss::Prompts] {
            let ([masked, _], [weighted, mean]) =
                (of(loss, Remedy::Mask), of(loss, Remedy::Weight));
            // The mean of the few items of a group that have a reward stays biased.
            assert!(
                weighted > 0.8 && weighted > masked + 0.05,
                "{masked} {weighted}"
            );
            assert!(mean.abs() < 0.03, "{mean}");
        }
        let [_, mean] = of(Loss::Right, Remedy::Weight);
        assert!(mean < -0.05, "{mean}");
    }
}
