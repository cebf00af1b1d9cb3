//! What advantages are made of.

use assay_core::Visit;
use assay_correction::Rates;

/// What is known of one completion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// Its group: equal numbers are completions of one prompt.
    pub group: usize,
    /// Its rewards, one for each reward function; `None` where that function had none. All `None`,
    /// or empty: it is masked.
    pub rewards: Vec<Option<f64>>,
    /// Whether it passed; `None` where nobody said.
    pub pass: Option<bool>,
    /// Its length: tokens in the mask of the batch.
    pub tokens: usize,
    /// Its advantage by the service, to be used as the advantage.
    pub advantage: Option<f64>,
    /// Reward of the greedy completion of its prompt.
    pub greedy: Option<f64>,
    /// Added to the reward of each token, as -beta times a divergence; empty for nothing, else one
    /// number a token.
    pub shaping: Vec<f64>,
    /// Value of the state before each token; empty where there is no critic.
    pub values: Vec<f64>,
}

impl Sample {
    /// Sum of its rewards; `None` if it is masked.
    #[must_use]
    pub fn reward(&self) -> Option<f64> {
        let graded = || self.rewards.iter().flatten();
        graded().next().map(|_| graded().sum())
    }
}

/// What is known of a prompt beyond this batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    /// Earlier visits, oldest first.
    pub history: Vec<Visit>,
    /// Rates of the channel its verdicts come through.
    pub rates: Option<Rates>,
}
