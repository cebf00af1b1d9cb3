//! What is remembered of a prompt over the steps of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::record::GradeRecord;
use crate::sum;

/// One visit to a prompt: its rollouts at one step of a run. Masked items (ungradable, failed) are
/// in none of the numbers.
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
    /// Adds one rollout's reward.
    pub fn add_reward(&mut self, reward: f64) {
        let reward_squares = sum::square(reward);
        self.add(&Self {
            rewards: 1,
            reward_sum: reward,
            reward_squares,
            ..Self::default()
        });
    }

    /// Adds what `other` counted of the same step.
    pub fn add(&mut self, other: &Self) {
        self.judged = self.judged.saturating_add(other.judged);
        self.passes = self.passes.saturating_add(other.passes);
        self.rewards = self.rewards.saturating_add(other.rewards);
        sum::add(&mut self.reward_sum, other.reward_sum);
        sum::add(&mut self.reward_squares, other.reward_squares);
    }
}

/// Visits by run, prompt and step.
pub type Visits = BTreeMap<(Arc<str>, String, Option<i64>), Visit>;

/// Adds grades to the visits they belong to. Grades without a run have no history.
pub fn add_grades<'g>(visits: &mut Visits, grades: impl IntoIterator<Item = &'g GradeRecord>) {
    for grade in grades {
        let (Some(run), Some(prompt)) = (&grade.run, &grade.prompt_key) else {
            continue;
        };
        let step = grade.step;
        let visit = visits
            .entry((Arc::clone(run), prompt.clone(), step))
            .or_insert_with(|| Visit {
                step,
                ..Visit::default()
            });
        if let Some(pass) = grade.final_pass() {
            visit.add(&Visit {
                judged: 1,
                passes: u32::from(pass),
                ..Visit::default()
            });
        }
        if let Some(reward) = grade.reward {
            visit.add_reward(reward);
        }
    }
}
