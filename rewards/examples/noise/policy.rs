//! The trained policy model, a softmax over the answers of a few prompts, and its optimiser.
//!
//! The logits of all prompts are linear in shared features, as the outputs of a network share its
//! weights: training on one prompt changes the others, a prompt can be unlearnt, and not everything
//! can be learnt at once. A table of independent logits would learn every prompt to an accuracy of
//! 0.99 under any noise.

use assay_base::Random;

/// Number of prompts.
pub(crate) const PROMPTS: usize = 16;
/// Number of answers of a prompt.
pub(crate) const ANSWERS: usize = 20;
/// Number of right answers of a prompt, which are the first ones. All answers have the same
/// distribution, so their order does not matter.
pub(crate) const RIGHT: usize = 4;
/// Number of weights of the policy model.
pub(crate) const FEATURES: usize = 28;
/// Accuracy before training, an arbitrary choice.
pub(crate) const START: f64 = 0.158;
/// Standard deviation of the logits before training.
const SPREAD: f64 = 1.0;
/// Standard deviation of a feature.
const FEATURE: f64 = 0.25;

/// Weights of the policy model, or their gradient.
pub(crate) type Weights = [f64; FEATURES];
/// A number for each answer of a prompt.
pub(crate) type Answers = [f64; ANSWERS];

/// Whether an answer is right.
pub(crate) fn is_right(answer: usize) -> bool {
    answer < RIGHT
}

/// Prompts, answers, their features, and the policy that training starts from.
#[derive(Debug, Clone)]
pub(crate) struct World {
    features: Vec<[Weights; ANSWERS]>,
    logits: [Answers; PROMPTS],
}

impl World {
    /// The world of this seed. A common shift of the logits of right answers, found by bisection,
    /// sets the accuracy to [`START`].
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::stream(&[seed, 1]);
        let mut logits = [[0.0; ANSWERS]; PROMPTS];
        logits
            .iter_mut()
            .flatten()
            .for_each(|logit| *logit = SPREAD * random.normal());
        let mut features = vec![[[0.0; FEATURES]; ANSWERS]; PROMPTS];
        features
            .iter_mut()
            .flatten()
            .flatten()
            .for_each(|feature| *feature = FEATURE * random.normal());
        let mut world = Self { features, logits };
        let (mut low, mut high) = (-9.0, 9.0);
        for _ in 0..60 {
            let shift = f64::midpoint(low, high);
            let mut shifted = world.clone();
            shifted.shift(shift);
            if shifted.accuracy(&[0.0; FEATURES]) < START {
                low = shift;
            } else {
                high = shift;
            }
        }
        world.shift(low);
        world
    }

    fn shift(&mut self, by: f64) {
        self.logits
            .iter_mut()
            .for_each(|logits| logits[..RIGHT].iter_mut().for_each(|logit| *logit += by));
    }

    /// Probability of each answer of `prompt`, in \[0, 1\].
    pub(crate) fn shares(&self, weights: &Weights, prompt: usize) -> Answers {
        let mut shares = self.logits[prompt];
        for (logit, features) in shares.iter_mut().zip(&self.features[prompt]) {
            *logit += dot(features, weights);
        }
        let most = shares.iter().copied().fold(f64::MIN, f64::max);
        let mut sum = 0.0;
        for share in &mut shares {
            *share = (*share - most).exp();
            sum += *share;
        }
        shares.iter_mut().for_each(|share| *share /= sum);
        shares
    }

    /// Probability of a right answer, averaged over prompts.
    pub(crate) fn accuracy(&self, weights: &Weights) -> f64 {
        let right = |prompt| self.shares(weights, prompt)[..RIGHT].iter().sum::<f64>();
        (0..PROMPTS).map(right).sum::<f64>() / PROMPTS as f64
    }

    /// Most probable right answer of `prompt` before training.
    pub(crate) fn modal_right(&self, prompt: usize) -> usize {
        let logits = &self.logits[prompt];
        (0..RIGHT)
            .max_by(|a, b| logits[*a].total_cmp(&logits[*b]))
            .unwrap_or(0)
    }

    /// Gradients of the log-probability of each answer of `prompt`: its features minus their mean.
    pub(crate) fn scores(&self, shares: &Answers, prompt: usize) -> [Weights; ANSWERS] {
        let mean = self.sum(shares, prompt);
        self.features[prompt].map(|mut score| {
            score
                .iter_mut()
                .zip(&mean)
                .for_each(|(score, mean)| *score -= mean);
            score
        })
    }

    /// Sum of the scores of the answers of `prompt`, each multiplied by its number in `by`.
    pub(crate) fn weighted_score(&self, shares: &Answers, by: &Answers, prompt: usize) -> Weights {
        let total: f64 = by.iter().sum();
        let mut logits = *by;
        logits
            .iter_mut()
            .zip(shares)
            .for_each(|(logit, share)| *logit -= total * share);
        self.sum(&logits, prompt)
    }

    fn sum(&self, by: &Answers, prompt: usize) -> Weights {
        let mut sum = [0.0; FEATURES];
        for (features, by) in self.features[prompt].iter().zip(by) {
            add(&mut sum, features, *by);
        }
        sum
    }
}

/// Inner product.
pub(crate) fn dot(a: &Weights, b: &Weights) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Adds `by` times `other` to `to`.
pub(crate) fn add(to: &mut Weights, other: &Weights, by: f64) {
    to.iter_mut()
        .zip(other)
        .for_each(|(to, other)| *to += by * other);
}

/// Cosine of the angle between two vectors; 0 where one has no direction.
pub(crate) fn cosine(a: &Weights, b: &Weights) -> f64 {
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 {
        dot(a, b) / lengths
    } else {
        0.0
    }
}

/// Adam (Kingma and Ba, arXiv 1412.6980, algorithm 1) with the constants of the paper, for gradient
/// ascent.
#[derive(Debug, Clone)]
pub(crate) struct Adam {
    rate: f64,
    steps: i32,
    mean: Weights,
    square: Weights,
}

impl Adam {
    const DECAY: [f64; 2] = [0.9, 0.999];

    /// The initial state, with this learning rate.
    pub(crate) fn new(rate: f64) -> Self {
        Self {
            rate,
            steps: 0,
            mean: [0.0; FEATURES],
            square: [0.0; FEATURES],
        }
    }

    /// One step of `weights` along `gradient`.
    pub(crate) fn step(&mut self, weights: &mut Weights, gradient: &Weights) {
        self.steps += 1;
        let [first, second] = Self::DECAY;
        let (first_correction, second_correction) =
            (1.0 - first.powi(self.steps), 1.0 - second.powi(self.steps));
        for (at, slope) in gradient.iter().enumerate() {
            self.mean[at] = first * self.mean[at] + (1.0 - first) * slope;
            self.square[at] = second * self.square[at] + (1.0 - second) * slope * slope;
            let mean = self.mean[at] / first_correction;
            let square = self.square[at] / second_correction;
            weights[at] += self.rate * mean / (square.sqrt() + 1e-8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_world_starts_at_the_same_accuracy() {
        for seed in 0..4 {
            assert!((World::new(seed).accuracy(&[0.0; FEATURES]) - START).abs() < 1e-9);
        }
    }

    #[test]
    fn score_is_the_gradient_of_the_log_probability() {
        let (world, mut weights) = (World::new(3), [0.1; FEATURES]);
        let before = world.shares(&weights, 5);
        let score = world.scores(&before, 5)[7][2];
        weights[2] += 1e-6;
        let slope = (world.shares(&weights, 5)[7] / before[7]).ln() / 1e-6;
        assert!((slope - score).abs() < 1e-5, "{slope} {score}");
    }

    #[test]
    fn weighted_score_is_a_sum_of_scores() {
        let world = World::new(3);
        let shares = world.shares(&[0.1; FEATURES], 0);
        let mut by = [0.0; ANSWERS];
        (by[3], by[9]) = (0.5, -2.0);
        let scores = world.scores(&shares, 0);
        let mut sum = [0.0; FEATURES];
        add(&mut sum, &scores[3], 0.5);
        add(&mut sum, &scores[9], -2.0);
        let weighted = world.weighted_score(&shares, &by, 0);
        assert!(
            weighted
                .iter()
                .zip(&sum)
                .all(|(a, b)| (a - b).abs() < 1e-12)
        );
    }

    #[test]
    fn first_step_of_adam_has_the_size_of_the_learning_rate() {
        let mut weights = [0.0; FEATURES];
        Adam::new(0.1).step(&mut weights, &[-3.0; FEATURES]);
        assert!((weights[0] + 0.1).abs() < 1e-8);
    }
}
