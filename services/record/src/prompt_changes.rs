//! Prompts of two sets of rollouts compared.

use std::ops::RangeInclusive;

use assay_rewards::clustered::Total;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::chart::Sums;

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

/// Rewards and passes of the prompts of one set.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PromptSums {
    /// Prompts with a reward or a verdict.
    pub prompts: u64,
    /// Their rewards.
    pub rewards: Sums,
    /// Rollouts with a verdict that is a pass or a fail.
    pub judged: u64,
    /// Of those, passed.
    pub passes: u64,
}

/// Counts and sums over all grades of two sets, with which their prompts are compared; the counts
/// are positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetTotals {
    /// Of the first set.
    pub a: Total,
    /// Of the second set.
    pub b: Total,
}

/// Sums of squares over prompts of what each contributes to the error of a mean or of a
/// difference; see [`assay_rewards::clustered`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PromptSquares {
    /// To the mean of the first set.
    pub a: f64,
    /// To the mean of the second set.
    pub b: f64,
    /// To the difference of the means.
    pub difference: f64,
}

/// The prompts of two sets compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptComparison {
    /// Of the first and of the second set.
    pub sums: [PromptSums; 2],
    /// What prompts contribute to the errors of the mean reward and of the share of passes.
    pub squares: [PromptSquares; 2],
    /// The prompts that both sets contain.
    pub changes: PromptChanges,
}
