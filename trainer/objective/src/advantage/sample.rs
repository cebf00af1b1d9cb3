//! Inputs of advantage estimators.

use assay_rewards::Rates;
use assay_rewards::Visit;

/// The data of one completion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// Its group: samples with equal numbers are completions of the same prompt.
    pub group: usize,
    /// Its rewards, one per reward function; `None` if that function returned none. The sample is
    /// masked if the list is empty or all entries are `None`.
    pub rewards: Vec<Option<f64>>,
    /// Whether it passed; `None` if unknown.
    pub pass: Option<bool>,
    /// Its length: number of tokens in the mask of the batch.
    pub tokens: usize,
    /// The advantage returned by the service.
    pub advantage: Option<f64>,
    /// Reward of the greedy completion of its prompt.
    pub greedy: Option<f64>,
    /// Added to the reward of each token, for example -beta times a divergence; empty, or one
    /// number per token.
    pub shaping: Vec<f64>,
    /// Value of the state before each token; empty without a critic.
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

/// Data about a prompt from outside the batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    /// Earlier visits to the prompt, oldest first.
    pub history: Vec<Visit>,
    /// Error rates of the channel of its verdicts.
    pub rates: Option<Rates>,
}
