//! The outcome of an item: graded, or why it could not be graded. Only a graded item has a score.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{ErrorCode, Evidence, GraderId, Measure, Score};

/// Short reason code of a graded item. The [`Spec`](crate::Spec) of the grader lists its verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Verdict(&'static str);

impl Verdict {
    /// Fully correct.
    pub const CORRECT: Self = Self("correct");
    /// Partly correct: 0 < score < 1.
    pub const PARTIAL: Self = Self("partial");
    /// A score without a notion of pass.
    pub const SCORED: Self = Self("scored");
    /// Not equivalent to the expected answer.
    pub const WRONG_ANSWER: Self = Self("wrong_answer");
    /// The completion contains no answer.
    pub const NO_ANSWER: Self = Self("no_answer");
    /// The task has no gold. The evidence has the answer, and the score has no meaning
    /// ([`Grade::known_score`]).
    pub const UNLABELLED: Self = Self("unlabelled");
    /// The completion is longer than the limit of the node.
    pub const TOO_LONG: Self = Self("too_long");

    /// A verdict that is specific to one grader.
    #[must_use]
    pub const fn new(code: &'static str) -> Self {
        Self(code)
    }

    /// The verdict code.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A named part of a grade: a check of the item, or a nested task of the grader.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Name in the request or the task.
    pub name: String,
    /// Its grader.
    pub grader: GraderId,
    /// Its outcome.
    pub outcome: Outcome,
}

/// One step of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StepBody)]
pub struct Step {
    /// Correctness of the step in \[0, 1\].
    #[schema(value_type = f64)]
    pub score: Score,
    /// Hint to the trainer: the step carries no information, so its trace should be excluded from
    /// the loss.
    pub masked: bool,
}

/// A graded item.
#[derive(Debug, Clone, PartialEq)]
pub struct Grade {
    /// Reason for the score.
    pub verdict: Verdict,
    /// Correctness in \[0, 1\].
    pub score: Score,
    /// Facts behind the verdict.
    pub evidence: Evidence,
    /// Measures by name. The spec of the grader states their units.
    pub measures: BTreeMap<&'static str, Measure>,
    /// Nested tasks of the grader and, added by the engine, checks of the item.
    pub components: Vec<Component>,
    /// Scores of the steps of a trace, in order; empty for graders of whole answers.
    pub steps: Vec<Step>,
    /// Deterministic cost in the grader's unit.
    pub work: u64,
    /// Whether grading again returns the same verdict.
    pub deterministic: bool,
}

impl Grade {
    /// Creates a deterministic grade without evidence.
    #[must_use]
    pub fn new(verdict: Verdict, score: Score) -> Self {
        Self {
            verdict,
            score,
            evidence: Evidence::new(),
            measures: BTreeMap::new(),
            components: Vec::new(),
            steps: Vec::new(),
            work: 0,
            deterministic: true,
        }
    }

    /// Creates a deterministic grade of a grader without partial scores: 1 if `verdict` is
    /// `correct`, otherwise 0.
    #[must_use]
    pub fn all_or_nothing(verdict: Verdict) -> Self {
        let score = if verdict == Verdict::CORRECT {
            Score::ONE
        } else {
            Score::ZERO
        };
        Self::new(verdict, score)
    }

    /// The score; `None` of an answer without a gold, which has none.
    #[must_use]
    pub fn known_score(&self) -> Option<Score> {
        (self.verdict != Verdict::UNLABELLED).then_some(self.score)
    }

    /// Adds the evidence.
    #[must_use]
    pub fn with_evidence(mut self, evidence: Evidence) -> Self {
        self.evidence = evidence;
        self
    }

    /// Adds the work done.
    #[must_use]
    pub fn with_work(mut self, work: u64) -> Self {
        self.work = work;
        self
    }
}

/// Why an item has no score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema, thiserror::Error)]
#[schema(as = FaultBody)]
#[error("{code}: {message}")]
pub struct Fault {
    /// Stable code.
    #[schema(value_type = String)]
    pub code: ErrorCode,
    /// What is wrong, where, and what to do.
    pub message: String,
    /// Whether sending the item again can succeed.
    pub retryable: bool,
}

impl Fault {
    /// Creates a fault that would occur again if the item is sent again.
    #[must_use]
    pub fn permanent(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retryable: false,
        }
    }

    /// Creates a fault that may not occur again if the item is sent again.
    #[must_use]
    pub fn transient(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retryable: true,
        }
    }
}

/// The outcome of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The grader reached a verdict.
    Graded(Grade),
    /// The task is at fault: no completion of it can be graded.
    Ungradable(Fault),
    /// The service is at fault.
    Failed(Fault),
}

impl Outcome {
    /// The name of the outcome in JSON, metrics and the record.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Graded(_) => "graded",
            Self::Ungradable(_) => "ungradable",
            Self::Failed(_) => "failed",
        }
    }

    /// The grade, if there is one.
    #[must_use]
    pub fn grade(&self) -> Option<&Grade> {
        match self {
            Self::Graded(grade) => Some(grade),
            Self::Ungradable(_) | Self::Failed(_) => None,
        }
    }

    /// The fault, if there is one.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Graded(_) => None,
            Self::Ungradable(fault) | Self::Failed(fault) => Some(fault),
        }
    }
}
