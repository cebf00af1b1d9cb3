//! The reply to a batch. Every key of a result is always there, null where it has no value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_core::ErrorCode;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::Warning;
use crate::channels::AppealBody;

/// Reply to a batch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GradeReply<'a> {
    /// Id of the batch, a ULID.
    pub batch: String,
    /// One result an item, in the order of the items.
    #[schema(value_type = Vec<ResultBody>)]
    pub results: Vec<ResultBody<'a>>,
    /// One line a group, in the order the groups first appear.
    #[schema(value_type = Vec<GroupBody>)]
    pub groups: Vec<GroupBody<'a>>,
    /// One line a channel, in the order the channels first appear.
    #[schema(value_type = Vec<ChannelBody>)]
    pub channels: Vec<ChannelBody<'a>>,
    /// What was odd about the request.
    #[schema(value_type = Vec<Warning>)]
    pub warnings: Cow<'a, [Warning]>,
}

/// What became of one item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResultBody<'a> {
    /// The item's id, as sent.
    #[schema(value_type = Option<String>)]
    pub id: Option<Cow<'a, str>>,
    /// The item's group, as sent.
    #[schema(value_type = Option<String>)]
    pub group: Option<Cow<'a, str>>,
    /// Id of the grade in the record.
    pub grade: String,
    /// Grader and task family.
    #[schema(value_type = String, example = "math/default")]
    pub channel: Cow<'a, str>,
    /// Grader and version.
    #[schema(value_type = String, example = "math@1")]
    pub grader: Cow<'a, str>,
    /// `graded`, `ungradable` (the task is at fault) or `failed` (the service is).
    #[schema(value_type = String)]
    pub outcome: Cow<'a, str>,
    /// Reason code of a graded item.
    #[schema(value_type = Option<String>)]
    pub verdict: Option<Cow<'a, str>>,
    /// Whether the verdict is a pass.
    pub pass: Option<bool>,
    /// Correctness in \[0, 1\].
    pub score: Option<f64>,
    /// What a second verifier said; null when the item was not chosen for one.
    pub appeal: Option<AppealBody>,
    /// Score after a second verifier looked; null without an appeal.
    pub score_after_appeal: Option<f64>,
    /// Backward-corrected score; null without a correction.
    pub backward: Option<f64>,
    /// Forward coefficient; null without a correction.
    pub forward: Option<f64>,
    /// What to maximise; finite.
    pub reward: Option<f64>,
    /// How the policy made the reward: `terms` in the order they acted, and `weight`, `tag`,
    /// `label`, `steps`, `missing` where there are any; null where it is the outcome as it is.
    #[schema(value_type = Option<Object>)]
    pub reward_breakdown: Option<RewardBreakdown<'a>>,
    /// Number to use as the advantage; null when the group has fewer than two graded members, and
    /// in streams.
    pub advantage: Option<f64>,
    /// How the advantage was made.
    #[schema(value_type = Option<String>)]
    pub advantage_estimator: Option<Cow<'a, str>>,
    /// Checks beside the task, and nested tasks.
    #[schema(value_type = Vec<ComponentBody>)]
    pub components: Vec<ComponentBody<'a>>,
    /// The steps of a trace; empty for whole answers.
    pub steps: Vec<StepBody>,
    /// Other numbers, by name.
    #[schema(value_type = BTreeMap<String, f64>)]
    pub measures: BTreeMap<Cow<'a, str>, f64>,
    /// Facts behind the verdict; null without a grade.
    #[schema(value_type = Option<Object>)]
    pub evidence: Option<Cow<'a, Map<String, Value>>>,
    /// Why there is no score.
    #[schema(value_type = Option<FaultBody>)]
    pub error: Option<FaultBody<'a>>,
    /// Whether grading again gives the same verdict.
    pub deterministic: bool,
    /// Microseconds from admission until a worker took the item.
    pub queue_us: u64,
    /// Microseconds the grading itself took.
    pub grade_us: u64,
    /// Whether the outcome came from the result cache.
    pub cached: bool,
    /// Whether the grade is in the durable record: `true` survives a crash.
    pub recorded: bool,
}

/// How a policy made a reward, as JSON that is written once and not read on the way.
#[derive(Debug, Clone)]
pub struct RewardBreakdown<'a>(Cow<'a, RawValue>);

impl<'a> From<&'a RawValue> for RewardBreakdown<'a> {
    fn from(json: &'a RawValue) -> Self {
        Self(Cow::Borrowed(json))
    }
}

impl PartialEq for RewardBreakdown<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Serialize for RewardBreakdown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Through a tree: a raw value cannot be read where the type of a line is looked for first.
impl<'de> Deserialize<'de> for RewardBreakdown<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tree = Value::deserialize(deserializer)?;
        to_raw_value(&tree)
            .map(|json| Self(Cow::Owned(json)))
            .map_err(de::Error::custom)
    }
}

/// One step of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepBody {
    /// Correctness of the step in \[0, 1\].
    pub score: f64,
    /// A hint to the trainer: the step says nothing, so a trace with it is better left out of the
    /// loss.
    pub masked: bool,
}

/// A check beside the task, or a nested task of the grader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComponentBody<'a> {
    /// Its name.
    #[schema(value_type = String)]
    pub name: Cow<'a, str>,
    /// Grader and version.
    #[schema(value_type = String)]
    pub grader: Cow<'a, str>,
    /// `graded`, `ungradable` or `failed`.
    #[schema(value_type = String)]
    pub outcome: Cow<'a, str>,
    /// Reason code, when graded.
    #[schema(value_type = Option<String>)]
    pub verdict: Option<Cow<'a, str>>,
    /// Correctness in \[0, 1\], when graded.
    pub score: Option<f64>,
    /// Why there is no score.
    #[schema(value_type = Option<FaultBody>)]
    pub error: Option<FaultBody<'a>>,
}

/// Why an item has no score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FaultBody<'a> {
    /// Stable code.
    #[schema(value_type = String)]
    pub code: ErrorCode,
    /// What was wrong, where, and what to do.
    #[schema(value_type = String)]
    pub message: Cow<'a, str>,
    /// Whether sending the item again may help.
    pub retryable: bool,
}

/// One group of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GroupBody<'a> {
    /// The group's name; null for the group of one that an item without a group is.
    #[schema(value_type = Option<String>)]
    pub group: Option<Cow<'a, str>>,
    /// Name under which the prompt's history is kept, for `POST /v1/prompts/suggest`.
    pub prompt_key: Option<String>,
    /// Members.
    pub n: usize,
    /// Of those, graded; the others are masked.
    pub graded: usize,
    /// Mean reward of the graded members; null without any.
    pub mean: Option<f64>,
    /// The statistics the request named, by name.
    #[schema(value_type = Object)]
    pub statistics: Map<String, Value>,
}

/// What is known of one channel's noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChannelBody<'a> {
    /// Grader and task family.
    #[schema(value_type = String)]
    pub channel: Cow<'a, str>,
    /// False-positive rate; null when not known.
    pub rho0: Option<f64>,
    /// False-negative rate; null when not known.
    pub rho1: Option<f64>,
    /// 1 - rho0 - rho1; null when not known.
    pub j: Option<f64>,
    /// 95 % interval of `rho0`: lower and upper bound.
    pub rho0_interval: Option<[f64; 2]>,
    /// 95 % interval of `rho1`.
    pub rho1_interval: Option<[f64; 2]>,
    /// 95 % interval of `j`.
    pub j_interval: Option<[f64; 2]>,
    /// Whether the rates are those after appeals and audits whose judges have the last word.
    pub after_appeals: bool,
    /// Why nothing of this channel is corrected; null when it may be.
    pub uncorrected: Option<String>,
}

/// How many items of a batch ended which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    /// Items.
    pub items: usize,
    /// Of those, graded.
    pub graded: usize,
    /// Of those, ungradable.
    pub ungradable: usize,
    /// Of those, failed.
    pub failed: usize,
}

/// One line of a streamed reply.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamLine<'a> {
    /// An item is done. Lines come in the order items finish; what needs the whole group is null.
    Result(Box<ResultBody<'a>>),
    /// A group is done.
    Group(GroupBody<'a>),
    /// A channel of the batch.
    Channel(ChannelBody<'a>),
    /// The request had an unknown field.
    Warning(Warning),
    /// The stream broke: there will be no `end`.
    Error {
        /// Why.
        error: FaultBody<'a>,
    },
    /// The batch is done. A stream without this line is incomplete.
    End {
        /// Id of the batch.
        batch: String,
        /// How it went.
        counts: Counts,
    },
}
