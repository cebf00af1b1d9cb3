//! What is remembered of a prompt over the steps of a run.

use serde::{Deserialize, Serialize};

/// One visit to a prompt: its rollouts at one step of a run. Masked items (ungradable, failed) are in none of the numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Visit {
    /// Step of the run; `None` gathers everything that was sent without one.
    pub step: Option<i64>,
    /// Rollouts that have a verdict with a notion of pass.
    pub judged: u32,
    /// Of those, passed.
    pub passes: u32,
    /// Rollouts with a reward.
    pub rewards: u32,
    /// Sum of those rewards.
    pub reward_sum: f64,
    /// Sum of their squares.
    pub reward_squares: f64,
}

impl Visit {
    /// Adds what `other` counted of the same step.
    pub fn add(&mut self, other: &Self) {
        self.judged += other.judged;
        self.passes += other.passes;
        self.rewards += other.rewards;
        self.reward_sum += other.reward_sum;
        self.reward_squares += other.reward_squares;
    }
}
