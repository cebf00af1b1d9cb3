//! What a detector finds.

use serde::Serialize;

use super::change::Change;

/// A sign of reward hacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Detector {
    /// Completions became longer or shorter.
    Length,
    /// More completions are cut off at the limit of tokens.
    Truncation,
    /// The reward rises while fewer checks pass.
    ScoreWithoutChecks,
    /// The format is kept while the reasoning becomes shorter.
    FormatWithoutReasoning,
    /// More rewarded answers are the same for different prompts.
    RepeatedAnswers,
    /// More rewarded programs contain the inputs of their tests.
    LiteralInputs,
    /// The judge passes more completions that the rule rejects.
    JudgeAgainstRule,
    /// More items agree with the labels of their groups while fewer pass their golds.
    AgreementAgainstGolds,
}

impl Detector {
    /// Every detector.
    pub const ALL: &'static [Self] = &[
        Self::Length,
        Self::Truncation,
        Self::ScoreWithoutChecks,
        Self::FormatWithoutReasoning,
        Self::RepeatedAnswers,
        Self::LiteralInputs,
        Self::JudgeAgainstRule,
        Self::AgreementAgainstGolds,
    ];

    /// Name, as it is serialised.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Truncation => "truncation",
            Self::ScoreWithoutChecks => "score_without_checks",
            Self::FormatWithoutReasoning => "format_without_reasoning",
            Self::RepeatedAnswers => "repeated_answers",
            Self::LiteralInputs => "literal_inputs",
            Self::JudgeAgainstRule => "judge_against_rule",
            Self::AgreementAgainstGolds => "agreement_against_golds",
        }
    }
}

/// What a detector found in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The detector.
    pub detector: Detector,
    /// First step of the change.
    pub onset: i64,
    /// The changes that its rule requires, by name of the series.
    pub evidence: Vec<(&'static str, Change)>,
    /// 1 - p, in \[0.99, 1\], where p is the probability that noise alone makes a change as large
    /// in any step of the run and for any detector.
    pub confidence: f64,
}
