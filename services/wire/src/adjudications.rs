//! JSON types for adjudications.

use assay_record::event::Adjudication;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
