//! JSON types for channels, adjudications, policies and prompts.

use std::collections::BTreeMap;

use assay_rewards::channel::counts::Calibration;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::grades::GradeDetail;
use crate::request::is_showable;

/// An estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EstimateBody {
    /// The estimate.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// One rate of a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RateBody {
    /// The rate.
    pub value: f64,
    /// Lower bound of its 95 % interval.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// The rate shrunk towards those of the grader's other channels; corrections use this value.
    pub used: f64,
    /// Source of the rate: `measured`, `calibrated` or `declared`.
    pub source: String,
}

/// Counts, error rates and correction status of one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChannelReport {
    /// Grader and task family.
    #[schema(example = "math/gsm-like")]
    pub channel: String,
    /// Version of the grader.
    pub version: u32,
    /// Items that did not pass.
    pub negatives: u64,
    /// Items that passed.
    pub positives: u64,
    /// Negatives that an appeal changed to passes.
    pub overturned_negatives: u64,
    /// Positives that an appeal changed to failures.
    pub overturned_positives: u64,
    /// Negatives that were checked.
    pub checked_negatives: u64,
    /// Positives that were checked.
    pub checked_positives: u64,
    /// Estimated share of correct completions.
    pub right: Option<f64>,
    /// False-positive rate; null if not known.
    pub rho0: Option<RateBody>,
    /// False-negative rate; null if not known.
    pub rho1: Option<RateBody>,
    /// 1 - rho0 - rho1.
    pub j: Option<EstimateBody>,
    /// Rates after appeals and audits with binding verdicts; null if there are none.
    pub after_appeals: Option<AfterBody>,
    /// Whether the results of checks differ between the older and the newer half.
    pub drift: DriftBody,
    /// Whether repeated grading of the same answer returns the same verdict.
    pub persistence: PersistenceBody,
    /// Why scores of the channel are not corrected; null if they can be.
    pub uncorrected: Option<String>,
}

/// Error rates of a channel after binding verdicts of judges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AfterBody {
    /// False-positive rate.
    pub rho0: f64,
    /// False-negative rate.
    pub rho1: f64,
    /// 1 - rho0 - rho1.
    pub j: EstimateBody,
}

/// Change of a share between two periods.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangeBody {
    /// Share of checks that disagreed, in the older half.
    pub before: f64,
    /// Share of checks that disagreed, in the newer half.
    pub after: f64,
    /// Probability of a difference at least this large if the share did not change.
    pub p_value: f64,
}

/// Whether the error rates of a channel changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DriftBody {
    /// Change among negatives; null if there are too few checks.
    pub negatives: Option<ChangeBody>,
    /// Change among positives; null if there are too few checks.
    pub positives: Option<ChangeBody>,
    /// Whether either change is significant.
    pub drifting: bool,
}

/// Whether repeated grading of the same answer returns the same verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PersistenceBody {
    /// Completions that repeat an earlier completion of their batch, with the same task.
    pub repeats: u64,
    /// Of those, graded with a different verdict.
    pub flips: u64,
    /// Share of the noise that is tied to the answer: 1 if errors repeat, 0 if they are
    /// independent; null without repeats or without noise.
    pub share: Option<EstimateBody>,
}

/// A page of channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChannelsBody {
    /// The channels, ordered by name and version.
    pub channels: Vec<ChannelReport>,
    /// Value of `after` for the next page; null on the last page.
    #[serde(default)]
    pub next: Option<String>,
}

/// Comparison of two channels, or of two versions of one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparisonBody {
    /// The first channel.
    pub first: ChannelReport,
    /// The second channel.
    pub second: ChannelReport,
    /// False-positive rate of the second channel minus that of the first.
    pub rho0: Option<DifferenceBody>,
    /// False-negative rate of the second channel minus that of the first.
    pub rho1: Option<DifferenceBody>,
    /// J of the second channel minus J of the first.
    pub j: Option<DifferenceBody>,
}

/// A difference with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DifferenceBody {
    /// The difference.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Whether the interval excludes 0.
    pub differs: bool,
}

/// Counts from labelled data, from which error rates are calibrated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationBody {
    /// Grader and task family.
    #[schema(example = "math/gsm-like", pattern = "^[^/]+/.+$", max_length = 1024)]
    pub channel: String,
    /// Version of the grader.
    pub version: u32,
    /// Source of the true labels: `labels` or `dawid_skene`.
    #[schema(example = "labels", pattern = "^(labels|dawid_skene)$")]
    pub method: String,
    /// Number of correct answers, at least 1.
    #[schema(minimum = 1, maximum = 1e15)]
    pub right: f64,
    /// Of the correct answers, those that did not pass.
    #[schema(minimum = 0, maximum = 1e15)]
    pub right_rejected: f64,
    /// Number of wrong answers, at least 1.
    #[schema(minimum = 1, maximum = 1e15)]
    pub wrong: f64,
    /// Of the wrong answers, those that passed.
    #[schema(minimum = 0, maximum = 1e15)]
    pub wrong_passed: f64,
}

impl From<Calibration> for CalibrationBody {
    fn from(calibration: Calibration) -> Self {
        Self {
            channel: calibration.channel,
            version: calibration.version,
            method: calibration.method,
            right: calibration.right,
            right_rejected: calibration.right_rejected,
            wrong: calibration.wrong,
            wrong_passed: calibration.wrong_passed,
        }
    }
}

impl CalibrationBody {
    /// Validates the body and converts it. The time of the result is 0; the caller sets it.
    ///
    /// # Errors
    /// The name of the invalid field, and the reason.
    pub fn check(self) -> Result<Calibration, (&'static str, String)> {
        let Self {
            channel,
            version,
            method,
            right,
            right_rejected,
            wrong,
            wrong_passed,
        } = self;
        let family = channel.split_once('/').map(|(_, family)| family);
        if !is_showable(&channel) || family.is_none_or(str::is_empty) {
            let channel: String = channel
                .chars()
                .filter(|letter| !letter.is_control())
                .take(60)
                .collect();
            return Err((
                "channel",
                format!(
                    "`channel` must be a grader and a task family, such as `math/default`: \
                     `{channel}`"
                ),
            ));
        }
        if !["labels", "dawid_skene"].contains(&method.as_str()) {
            return Err((
                "method",
                format!("`method` must be `labels` or `dawid_skene`: `{method}`"),
            ));
        }
        for (whole_field, field, part, whole) in [
            ("right", "right_rejected", right_rejected, right),
            ("wrong", "wrong_passed", wrong_passed, wrong),
        ] {
            if !(1.0..=1e15).contains(&whole) {
                return Err((
                    whole_field,
                    "`right` and `wrong` must both be at least 1".to_owned(),
                ));
            }
            if !(0.0..=whole).contains(&part) {
                return Err((
                    field,
                    format!("`{field}` must be between 0 and `{whole_field}`, {whole}: {part}"),
                ));
            }
        }
        Ok(Calibration {
            channel,
            version,
            method,
            right,
            right_rejected,
            wrong,
            wrong_passed,
            time_us: 0,
        })
    }
}

/// A grade drawn for an operator to adjudicate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DrawnBody {
    /// The grade; null if every matching grade was drawn before.
    pub grade: Option<GradeDetail>,
    /// Probability with which the grade was drawn.
    pub probability: Option<f64>,
}

/// An operator's adjudication of a grade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdjudicateRequest {
    /// Whether the completion is correct.
    pub pass: bool,
    /// Reason for the decision.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub note: Option<String>,
}

/// One reward policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyBody {
    /// Name of the policy; `inline` for one that was sent in a request.
    pub name: String,
    /// Hash of the policy's body; null for the default policy.
    pub hash: Option<String>,
    /// The policy.
    #[schema(value_type = Object)]
    pub policy: Value,
    /// Descriptions of the parts of the policy, in the order in which they are applied.
    pub explained: Vec<ExplainedBody>,
}

/// Description of one part of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedBody {
    /// Path of the field in the policy.
    pub field: String,
    /// Name of the function.
    pub function: String,
    /// The formula, with the numbers of this policy.
    pub formula: String,
    /// Source of the formula.
    pub source: String,
    /// Effect on the reward.
    pub meaning: String,
}

/// The reward policies of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PoliciesBody {
    /// The policies, ordered by name.
    pub policies: Vec<PolicyBody>,
}

/// A request for prompts to sample next.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SuggestRequest {
    /// Name of the run whose prompt history is used.
    #[schema(example = "qwen3-0.6b-math")]
    pub run: String,
    /// Prompts to choose from, visited or not; if empty, all visited prompts of the run.
    #[serde(default)]
    pub keys: Vec<String>,
    /// Category of each prompt by key, for the strategies `sec` and `dump`.
    #[serde(default)]
    pub categories: BTreeMap<String, String>,
    /// Channel whose error rates apply to the verdicts, such as `math/default`.
    #[serde(default)]
    pub channel: Option<String>,
    /// Seed of the random choice: the same seed and history return the same prompts.
    #[serde(default)]
    pub seed: Option<u64>,
    /// How to choose: `strategy`, `count`, `rollouts`, `allocation`, `budget` and the other
    /// settings in the documentation.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub settings: Map<String, Value>,
}

/// Prompts to sample next, best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuggestionsBody {
    /// The prompts.
    pub prompts: Vec<SuggestionBody>,
}

/// A prompt to sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuggestionBody {
    /// Key of the prompt.
    pub prompt_key: String,
    /// Number of rollouts to sample.
    pub rollouts: u32,
    /// Value of the prompt to the strategy; comparable only within one reply.
    pub value: f64,
    /// Number of earlier visits.
    pub visits: usize,
}
