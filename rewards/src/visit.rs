//! Visits to prompts over the steps of a run.

use serde::{Deserialize, Serialize};

use crate::sum;

/// A visit to a prompt: its rollouts at one step of a run. Masked items (ungradable, failed) are
/// not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Visit {
    /// Step of the run; `None` for everything that was sent without a step.
    pub step: Option<i64>,
    /// Rollouts with a verdict that has a notion of pass.
    pub judged: u32,
    /// Rollouts that passed.
    pub passes: u32,
    /// Rollouts with a reward.
    pub rewards: u32,
    /// Sum of the rewards.
    pub reward_sum: f64,
    /// Sum of the squares of the rewards.
    pub reward_squares: f64,
}

impl Visit {
    /// Adds the reward of one rollout.
    pub fn add_reward(&mut self, reward: f64) {
        let reward_squares = sum::square(reward);
        self.add(&Self {
            rewards: 1,
            reward_sum: reward,
            reward_squares,
            ..Self::default()
        });
    }

    /// Adds other counts of the same step.
    pub fn add(&mut self, other: &Self) {
        self.judged = self.judged.saturating_add(other.judged);
        self.passes = self.passes.saturating_add(other.passes);
        self.rewards = self.rewards.saturating_add(other.rewards);
        sum::add(&mut self.reward_sum, other.reward_sum);
        sum::add(&mut self.reward_squares, other.reward_squares);
    }
}
