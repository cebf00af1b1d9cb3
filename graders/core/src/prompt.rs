//! What is remembered of a prompt over the steps of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::record::GradeRecord;

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

/// Visits by run, prompt and step.
pub type Visits = BTreeMap<(Arc<str>, String, Option<i64>), Visit>;

/// Adds grades to the visits they belong to. Grades without a run have no history.
pub fn add_grades<'g>(visits: &mut Visits, grades: impl IntoIterator<Item = &'g GradeRecord>) {
    for grade in grades {
        let (Some(run), Some(prompt)) = (&grade.run, &grade.prompt_key) else { continue };
        let step = grade.step;
        let visit =
            visits.entry((Arc::clone(run), prompt.clone(), step)).or_insert_with(|| Visit { step, ..Visit::default() });
        if let Some(pass) = grade.final_pass() {
            visit.judged += 1;
            visit.passes += u32::from(pass);
        }
        if let Some(reward) = grade.reward {
            visit.rewards += 1;
            visit.reward_sum += reward;
            visit.reward_squares += reward * reward;
        }
    }
}
