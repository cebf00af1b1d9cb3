//! Prompts of two sets of rollouts compared.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Steps of a run.
pub type RunSteps<'r> = (&'r str, RangeInclusive<i64>);

/// A prompt in two sets of rollouts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromptChange {
    /// Key of the prompt.
    pub prompt_key: String,
    /// Rollouts of the first set with a verdict that is a pass or a fail.
    pub a_judged: u64,
    /// Of those, passed.
    pub a_passes: u64,
    /// The same for the second set.
    pub b_judged: u64,
    /// Of those, passed.
    pub b_passes: u64,
}

/// Prompts that both sets of rollouts contain. A prompt is solved if at least half of its rollouts
/// passed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromptChanges {
    /// Prompts with judged rollouts in both sets.
    pub common: u64,
    /// Of those, solved in the second set only.
    pub gained: u64,
    /// Of those, solved in the first set only.
    pub lost: u64,
    /// The prompts whose pass rate changed most among those that were gained or lost, greatest
    /// change first.
    pub flipped: Vec<PromptChange>,
}

/// Sums over prompts, by which the error of a mean reward takes into account that rollouts of a
/// prompt are correlated.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PromptSpread {
    /// Rewards of prompts.
    pub rewards: u64,
    /// Sum over prompts of the squared sum of deviations from a mean.
    pub squares: f64,
}
