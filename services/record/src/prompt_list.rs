//! Prompts of a run with the results of their visits.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::answers::WrongAnswer;

/// What the visits of a prompt have in common. A visit is a step in which rollouts of the prompt
/// passed or failed; it solves the prompt if at least half of these rollouts passed. A prompt may
/// have several of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptStatus {
    /// No rollout passed.
    NeverSolved,
    /// All rollouts passed.
    AlwaysSolved,
    /// An earlier visit solved it, and the last one does not.
    Lost,
    /// The last visit solves it, and at least one earlier visit does not.
    Gained,
    /// Some visits solve it and others do not; the first and the last visit agree.
    Noisy,
    /// At least half of the rollouts, of all steps, agree on the same wrong answer, and few pass;
    /// see [`assay_rewards::gold`].
    GoldSuspect,
}

impl PromptStatus {
    /// Every status, in the order of pages.
    pub const ALL: &'static [Self] = &[
        Self::NeverSolved,
        Self::AlwaysSolved,
        Self::Lost,
        Self::Gained,
        Self::Noisy,
        Self::GoldSuspect,
    ];

    /// Name in queries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NeverSolved => "never_solved",
            Self::AlwaysSolved => "always_solved",
            Self::Lost => "lost",
            Self::Gained => "gained",
            Self::Noisy => "noisy",
            Self::GoldSuspect => "gold_suspect",
        }
    }
}

/// The order of a list of prompts. Ties are sorted by key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PromptOrder {
    /// Most visits first.
    #[default]
    Visits,
    /// Lowest pass rate first.
    LowestRate,
    /// Highest pass rate first.
    HighestRate,
    /// Latest last step first.
    LastStep,
    /// By key.
    Key,
}

impl PromptOrder {
    /// Every order, the default first.
    pub const ALL: &'static [Self] = &[
        Self::Visits,
        Self::LowestRate,
        Self::HighestRate,
        Self::LastStep,
        Self::Key,
    ];

    /// Name in queries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Visits => "visits",
            Self::LowestRate => "lowest_rate",
            Self::HighestRate => "highest_rate",
            Self::LastStep => "last_step",
            Self::Key => "key",
        }
    }
}

/// Which prompts to list. In a run with steps, visits without a step do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptFilter {
    /// First step whose visits count, inclusive.
    pub step_min: Option<i64>,
    /// Last step whose visits count, inclusive.
    pub step_max: Option<i64>,
    /// Only prompts with this status.
    pub status: Option<PromptStatus>,
}

/// A prompt of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromptSummary {
    /// Key of the prompt.
    pub prompt_key: String,
    /// Number of visits.
    pub visits: u64,
    /// Rollouts with a verdict that is a pass or a fail.
    pub judged: u64,
    /// Of those, passed, after appeals.
    pub passes: u64,
    /// Mean reward; null without rewards.
    pub mean_reward: Option<f64>,
    /// Step of the first visit; null if the run has no steps.
    pub first_step: Option<i64>,
    /// Step of the last visit; null if the run has no steps.
    pub last_step: Option<i64>,
    /// Whether the first visit solves it.
    pub solved_first: bool,
    /// Whether the last visit solves it.
    pub solved_last: bool,
    /// Its most frequent wrong answer in all steps; null if it has none, or none is known.
    pub wrong_answer: Option<WrongAnswer>,
}

/// Numbers of prompts by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromptCounts {
    /// Prompts with a visit.
    pub prompts: u64,
    /// Of those, without a rollout that passed.
    pub never_solved: u64,
    /// Of those, without a rollout that failed.
    pub always_solved: u64,
    /// Of those, solved by an earlier visit and not by the last one.
    pub lost: u64,
    /// Of those, solved by the last visit, but not by every earlier one.
    pub gained: u64,
    /// Of those, solved by some visits and not by others; the first and the last visit agree.
    pub noisy: u64,
    /// Of those, with an expected answer that may be wrong; 0 if steps are chosen.
    #[serde(default)]
    pub gold_suspect: u64,
}

impl PromptCounts {
    /// The number of prompts with a status; of all prompts without one.
    #[must_use]
    pub const fn of(&self, status: Option<PromptStatus>) -> u64 {
        match status {
            None => self.prompts,
            Some(PromptStatus::NeverSolved) => self.never_solved,
            Some(PromptStatus::AlwaysSolved) => self.always_solved,
            Some(PromptStatus::Lost) => self.lost,
            Some(PromptStatus::Gained) => self.gained,
            Some(PromptStatus::Noisy) => self.noisy,
            Some(PromptStatus::GoldSuspect) => self.gold_suspect,
        }
    }
}
