//! What became of an item: graded, or not, and why. Only a graded item has a number.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Evidence, Measure, Score};

/// Short reason code of a graded item, one of those its grader's [`Spec`](crate::Spec) lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Verdict(&'static str);

impl Verdict {
    /// Right.
    pub const CORRECT: Self = Self("correct");
    /// Right in part: 0 < score < 1.
    pub const PARTIAL: Self = Self("partial");
    /// A number without a notion of pass.
    pub const SCORED: Self = Self("scored");
    /// Not the gold.
    pub const WRONG_ANSWER: Self = Self("wrong_answer");
    /// The completion holds nothing that could be an answer.
    pub const NO_ANSWER: Self = Self("no_answer");
    /// The completion is longer than the node reads.
    pub const TOO_LONG: Self = Self("too_long");

    /// A verdict of one grader's own.
    #[must_use]
    pub const fn new(code: &'static str) -> Self {
        Self(code)
    }

    /// The code.
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

/// A named part of a grade: a check beside the task, or a nested task of the grader.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// The name the request or the task gave it.
    pub name: String,
    /// Grader and version, as in `text@1`.
    pub grader: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// One step of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// Correctness of the step.
    pub score: Score,
    /// A hint to the trainer: the step says nothing, so a trace with it is better left out of the
    /// loss.
    pub masked: bool,
}

/// A graded item.
#[derive(Debug, Clone, PartialEq)]
pub struct Grade {
    /// Why the score is what it is.
    pub verdict: Verdict,
    /// Correctness.
    pub score: Score,
    /// Facts behind the verdict.
    pub evidence: Evidence,
    /// Other numbers, by name; units stand in the grader's spec.
    pub measures: BTreeMap<&'static str, Measure>,
    /// Nested tasks of the grader and, from the engine, checks beside the task.
    pub components: Vec<Component>,
    /// The steps of a trace, in order; empty for graders of whole answers.
    pub steps: Vec<Step>,
    /// Deterministic cost in the grader's unit.
    pub work: u64,
    /// Whether grading again gives the same verdict.
    pub deterministic: bool,
}

impl Grade {
    /// A deterministic grade with no evidence yet.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Fault {
    /// Stable code.
    pub code: ErrorCode,
    /// What was wrong, where, and what to do.
    pub message: String,
    /// Whether sending the item again may help.
    pub retryable: bool,
}

impl Fault {
    /// A fault that comes back when the item is sent again.
    #[must_use]
    pub fn lasting(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retryable: false,
        }
    }

    /// A fault that sending again may cure.
    #[must_use]
    pub fn passing(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retryable: true,
        }
    }
}

/// What became of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The grader reached a verdict.
    Graded(Grade),
    /// The task is at fault: no completion could be graded by it.
    Ungradable(Fault),
    /// We are at fault.
    Failed(Fault),
}

impl Outcome {
    /// The word for it in JSON, metrics and the record.
    #[must_use]
    pub fn word(&self) -> &'static str {
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
