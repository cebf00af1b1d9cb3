//! JSON types for the reply to a batch. Every key of a result is always present; it is null if it
//! has no value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_core::ErrorCode;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::Warning;
use crate::appeals::AppealBody;

/// Reply to a batch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GradeReply<'a> {
    /// Id of the batch, a ULID.
    pub batch: String,
    /// One result for each item, in the order of the items.
    #[schema(value_type = Vec<ResultBody>)]
    pub results: Vec<ResultBody<'a>>,
    /// One entry for each group, in the order in which the groups first appear.
    #[schema(value_type = Vec<GroupBody>)]
    pub groups: Vec<GroupBody<'a>>,
    /// One entry for each channel, in the order in which the channels first appear.
    #[schema(value_type = Vec<ChannelBody>)]
    pub channels: Vec<ChannelBody<'a>>,
    /// Defects of the request that did not cause its rejection.
    #[schema(value_type = Vec<Warning>)]
    pub warnings: Cow<'a, [Warning]>,
}

/// The result of one item.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
    /// `graded`, `ungradable` (the task is at fault) or `failed` (the service is at fault).
    #[schema(value_type = String)]
    pub outcome: Cow<'a, str>,
    /// Reason code of a graded item.
    #[schema(value_type = Option<String>)]
    pub verdict: Option<Cow<'a, str>>,
    /// Whether the verdict is a pass.
    pub pass: Option<bool>,
    /// Correctness in \[0, 1\].
    pub score: Option<f64>,
    /// The appeal; null if the item was not selected for one.
    pub appeal: Option<AppealBody>,
    /// Score after the appeal; null without one.
    pub score_after_appeal: Option<f64>,
    /// Backward-corrected score; null if the channel is not corrected.
    pub backward: Option<f64>,
    /// Factor of the forward correction; null if the channel is not corrected.
    pub forward: Option<f64>,
    /// Number to maximise; finite.
    pub reward: Option<f64>,
    /// The steps by which the policy made the reward: `terms` in the order of their application,
    /// and `weight`, `tag`, `label`, `steps`, `missing` where they apply; null if the reward is the
    /// score.
    #[schema(value_type = Option<Object>)]
    pub reward_breakdown: Option<RewardBreakdown<'a>>,
    /// Number to use as the advantage; null if the group has fewer than two graded members, and in
    /// streams.
    pub advantage: Option<f64>,
    /// Name of the method that computed the advantage.
    #[schema(value_type = Option<String>)]
    pub advantage_estimator: Option<Cow<'a, str>>,
    /// Results of checks and nested tasks.
    #[schema(value_type = Vec<ComponentBody>)]
    pub components: Vec<ComponentBody<'a>>,
    /// Scores of the steps of a trace; empty for tasks without steps.
    pub steps: Vec<StepBody>,
    /// Measures by name.
    #[schema(value_type = BTreeMap<String, f64>)]
    pub measures: BTreeMap<Cow<'a, str>, f64>,
    /// Facts behind the verdict; null if the item is not graded.
    #[schema(value_type = Option<Object>)]
    pub evidence: Option<Cow<'a, Map<String, Value>>>,
    /// Why there is no score; null if there is one.
    #[schema(value_type = Option<FaultBody>)]
    pub error: Option<FaultBody<'a>>,
    /// Whether grading the item again returns the same verdict.
    pub deterministic: bool,
    /// Microseconds from admission until a worker took the item.
    pub queue_us: u64,
    /// Microseconds spent grading.
    pub grade_us: u64,
    /// Whether the outcome came from the result cache.
    pub cached: bool,
    /// Whether the grade is in the durable record: `true` survives a crash.
    pub recorded: bool,
}

/// The steps by which a policy made a reward, as JSON that is serialised once and not parsed again.
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

/// Deserialises through a [`Value`]: a [`RawValue`] cannot be read inside an internally tagged enum
/// such as [`StreamLine`].
impl<'de> Deserialize<'de> for RewardBreakdown<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tree = Value::deserialize(deserializer)?;
        to_raw_value(&tree)
            .map(|json| Self(Cow::Owned(json)))
            .map_err(de::Error::custom)
    }
}

/// The result of one item in a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StreamedResult<'a> {
    /// Position of the item in the batch, from 0.
    pub position: usize,
    /// The result.
    #[serde(flatten)]
    #[schema(value_type = ResultBody)]
    pub result: ResultBody<'a>,
}

/// One step of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepBody {
    /// Correctness of the step in \[0, 1\].
    pub score: f64,
    /// Hint to the trainer: the step carries no information, so its trace should be excluded from
    /// the loss.
    pub masked: bool,
}

/// The result of a check or of a nested task of the grader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComponentBody<'a> {
    /// Name of the check or nested task.
    #[schema(value_type = String)]
    pub name: Cow<'a, str>,
    /// Grader and version.
    #[schema(value_type = String)]
    pub grader: Cow<'a, str>,
    /// `graded`, `ungradable` or `failed`.
    #[schema(value_type = String)]
    pub outcome: Cow<'a, str>,
    /// Reason code, if graded.
    #[schema(value_type = Option<String>)]
    pub verdict: Option<Cow<'a, str>>,
    /// Correctness in \[0, 1\], if graded.
    pub score: Option<f64>,
    /// Why there is no score; null if there is one.
    #[schema(value_type = Option<FaultBody>)]
    pub error: Option<FaultBody<'a>>,
}

/// Why an item has no score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FaultBody<'a> {
    /// Stable code.
    #[schema(value_type = String)]
    pub code: ErrorCode,
    /// What is wrong, where, and what to do.
    #[schema(value_type = String)]
    pub message: Cow<'a, str>,
    /// Whether sending the item again can succeed.
    pub retryable: bool,
}

/// One group of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GroupBody<'a> {
    /// Name of the group; null for an item that was sent without a group.
    #[schema(value_type = Option<String>)]
    pub group: Option<Cow<'a, str>>,
    /// Key of the prompt's history, for `POST /v1/prompts/suggest`.
    pub prompt_key: Option<String>,
    /// Number of members.
    pub n: usize,
    /// Of those, graded; the advantages of the others are null.
    pub graded: usize,
    /// Mean reward of the graded members; null if there are none.
    pub mean: Option<f64>,
    /// The requested statistics, by name.
    #[schema(value_type = Object)]
    pub statistics: Map<String, Value>,
}

/// Error rates of one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChannelBody<'a> {
    /// Grader and task family.
    #[schema(value_type = String)]
    pub channel: Cow<'a, str>,
    /// False-positive rate; null if not known.
    pub rho0: Option<f64>,
    /// False-negative rate; null if not known.
    pub rho1: Option<f64>,
    /// 1 - rho0 - rho1; null if not known.
    pub j: Option<f64>,
    /// 95 % interval of `rho0`: lower and upper bound.
    pub rho0_interval: Option<[f64; 2]>,
    /// 95 % interval of `rho1`.
    pub rho1_interval: Option<[f64; 2]>,
    /// 95 % interval of `j`.
    pub j_interval: Option<[f64; 2]>,
    /// Whether the rates are those after appeals and audits with binding verdicts.
    pub after_appeals: bool,
    /// Why scores of the channel are not corrected; null if they can be.
    pub uncorrected: Option<String>,
}

/// Number of items of a batch by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    /// Number of items.
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
    /// An item is done. Lines are in the order in which items finish; fields that need the whole
    /// group are null.
    Result(Box<StreamedResult<'a>>),
    /// A group is done.
    Group(GroupBody<'a>),
    /// A channel of the batch.
    Channel(ChannelBody<'a>),
    /// A defect of the request that did not cause its rejection.
    Warning(Warning),
    /// The stream failed and will not send `end`.
    Error {
        /// The reason.
        error: FaultBody<'a>,
    },
    /// The batch is done. A stream without this line is incomplete.
    End {
        /// Id of the batch.
        batch: String,
        /// Number of items by outcome.
        counts: Counts,
    },
}
