//! Answers of the rollouts of a run that many of them share, and signs of reward hacking.

use assay_core::GradeId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most frequent wrong answer of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = WrongAnswerBody)]
pub struct WrongAnswer {
    /// The answer, at most 120 bytes.
    pub answer: String,
    /// The expected answer, at most 120 bytes; null if it is not known.
    pub gold: Option<String>,
    /// Rollouts that gave the wrong answer: of each visit, only those with its most frequent one
    /// are counted.
    pub grades: u64,
    /// Id of one of them; null if it was deleted.
    #[schema(value_type = Option<String>)]
    pub example: Option<GradeId>,
}

/// What the grades of a cluster have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterKind {
    /// An answer that passes for several prompts with different expected answers.
    Answer {
        /// Number of different expected answers.
        golds: u64,
    },
    /// A text in programs, queries or documents that pass; see [`SIGNS`](crate::facts::SIGNS).
    Sign,
    /// Programs of a channel that pass and contain inputs of their tests.
    Literals,
}

/// Grades of a run with the same sign of reward hacking.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// What they have in common.
    pub kind: ClusterKind,
    /// The answer, the text or the channel.
    pub value: String,
    /// Number of grades.
    pub grades: u64,
    /// Their mean reward; `None` without one.
    pub mean_reward: Option<f64>,
    /// Step of the first one; `None` without a step.
    pub first_step: Option<i64>,
    /// Step of the last one; `None` without a step.
    pub last_step: Option<i64>,
    /// The first one and the last one; `None` if they were deleted. Of an answer, any two.
    pub examples: [Option<GradeId>; 2],
}
