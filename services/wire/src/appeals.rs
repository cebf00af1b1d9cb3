//! JSON types for appeals and adjudications.

use assay_record::Appeal;
use assay_record::event::Adjudication;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An appeal: a second verifier's verdict on an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AppealBody {
    /// Grader and version of the judge, which is the second verifier.
    #[schema(example = "math@1")]
    pub judge: String,
    /// Probability with which the item was selected for the appeal.
    pub probability: f64,
    /// Verdict of the judge; null if it could not grade the item.
    pub verdict: Option<String>,
    /// Whether the judge's verdict is a pass; null if it could not grade the item.
    pub pass: Option<bool>,
    /// Score by the judge; null if it could not grade the item.
    pub score: Option<f64>,
    /// Whether the judge's verdict takes precedence over the grader's verdict.
    pub binding: bool,
    /// Whether the judge's verdict overturned the grader's verdict.
    pub overturned: bool,
    /// Why the judge could not grade the item, or why its verdict was not used.
    pub reason: Option<String>,
}

impl From<&Appeal> for AppealBody {
    fn from(appeal: &Appeal) -> Self {
        Self {
            judge: appeal.judge.clone(),
            probability: appeal.probability,
            verdict: appeal.verdict.clone(),
            pass: appeal.pass,
            score: appeal.score,
            binding: appeal.binding,
            overturned: appeal.overturned,
            reason: appeal.reason.clone(),
        }
    }
}

/// A stored adjudication of a grade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AdjudicationBody {
    /// Id of the grade.
    pub grade: String,
    /// Channel of the grade.
    pub channel: String,
    /// Whether the grader's verdict is a pass.
    pub graded_pass: bool,
    /// Whether the completion is correct, according to the operator.
    pub pass: bool,
    /// Weight of the adjudication in the rates of the channel; null if the operator chose the
    /// grade, in which case it does not affect the rates.
    pub weight: Option<f64>,
    /// Caller that adjudicated the grade.
    pub caller: String,
    /// Reason for the decision.
    pub note: Option<String>,
    /// Time of the adjudication, in microseconds since the Unix epoch.
    pub time_us: i64,
}

impl From<Adjudication> for AdjudicationBody {
    fn from(adjudication: Adjudication) -> Self {
        Self {
            grade: adjudication.grade.to_string(),
            channel: adjudication.channel,
            graded_pass: adjudication.graded_pass,
            pass: adjudication.pass,
            weight: adjudication.weight,
            caller: adjudication.caller,
            note: adjudication.note,
            time_us: adjudication.time_us,
        }
    }
}
