//! JSON types for stored grades, replays and graders.

use assay_core::RawJson;
use assay_core::spec::Spec;
use assay_record::GradeRecord;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::appeals::{AdjudicationBody, AppealBody};
use crate::reply::StepBody;

/// One stored grade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GradeBody {
    /// Id of the grade, a ULID.
    pub grade: String,
    /// Id of the batch.
    pub batch: String,
    /// Position in the batch, from 0.
    pub position: u32,
    /// Caller that sent the batch.
    pub caller: String,
    /// Name of the run, as sent.
    pub run: Option<String>,
    /// Step of the run, as sent.
    pub step: Option<i64>,
    /// The item's id, as sent.
    pub id: Option<String>,
    /// The item's group, as sent.
    pub group: Option<String>,
    /// Key of the prompt's history.
    pub prompt_key: Option<String>,
    /// Grader and task family.
    pub channel: String,
    /// Grader and version.
    pub grader: String,
    /// Hash of the task's body.
    pub task_hash: String,
    /// Hash of the completion's body.
    pub completion_hash: String,
    /// Hash of the prompt's body.
    pub prompt_hash: Option<String>,
    /// Name of the policy.
    pub policy: String,
    /// Hash of the policy's body; null for the default policy.
    pub policy_hash: Option<String>,
    /// `graded`, `ungradable` or `failed`.
    pub outcome: String,
    /// Reason code, if graded.
    pub verdict: Option<String>,
    /// Whether the verdict is a pass.
    pub pass: Option<bool>,
    /// Correctness in \[0, 1\].
    pub score: Option<f64>,
    /// The appeal; null if the item was not selected for one.
    pub appeal: Option<AppealBody>,
    /// Score after the appeal; null without one.
    pub score_after_appeal: Option<f64>,
    /// The reward; finite.
    pub reward: Option<f64>,
    /// Number that the reply returned as the advantage; null in streams.
    pub advantage: Option<f64>,
    /// The steps by which the policy made the reward; null for the default policy.
    #[schema(value_type = Option<Object>)]
    pub reward_breakdown: Value,
    /// Results of checks and nested tasks.
    #[schema(value_type = Vec<Object>)]
    pub components: Value,
    /// The steps of a trace.
    #[schema(value_type = Vec<StepBody>)]
    pub steps: Value,
    /// Measures by name.
    #[schema(value_type = Object)]
    pub measures: Value,
    /// Facts behind the verdict.
    #[schema(value_type = Option<Object>)]
    pub evidence: Value,
    /// Why there is no score; null if there is one.
    #[schema(value_type = Option<Object>)]
    pub error: Value,
    /// Metadata of the item, as sent.
    #[schema(value_type = Object)]
    pub meta: RawJson,
    /// Whether grading the item again returns the same verdict.
    pub deterministic: bool,
    /// Whether the outcome came from the result cache.
    pub cached: bool,
    /// Whether texts of the item were redacted before they were stored. Such a grade cannot be
    /// replayed, and its hashes are those of the redacted texts.
    pub redacted: bool,
    /// Whether its task, prompt and completion were not stored, because of `retention.bodies`.
    pub bodies_omitted: bool,
    /// Microseconds from admission until a worker took the item.
    pub queue_us: u64,
    /// Microseconds spent grading.
    pub grade_us: u64,
    /// Deterministic cost in the grader's unit.
    pub work: u64,
    /// Time of grading, in microseconds since the Unix epoch.
    pub time_us: i64,
}

impl From<&GradeRecord> for GradeBody {
    fn from(record: &GradeRecord) -> Self {
        // The service writes valid JSON. A damaged text becomes null, so that the row stays
        // readable.
        let json = |text: &Option<String>, default: fn() -> Value| {
            text.as_deref().map_or_else(default, |text| {
                serde_json::from_str(text).unwrap_or(Value::Null)
            })
        };
        Self {
            grade: record.grade.to_string(),
            batch: record.batch.to_string(),
            position: record.position,
            caller: record.caller.to_string(),
            run: record.run.as_deref().map(str::to_owned),
            step: record.step,
            id: record.item.clone(),
            group: record.group.clone(),
            prompt_key: record.prompt_key.clone(),
            channel: record.channel.clone(),
            grader: format!("{}@{}", record.grader, record.grader_version),
            task_hash: record.task_hash.to_string(),
            completion_hash: record.completion_hash.to_string(),
            prompt_hash: record.prompt_hash.map(|hash| hash.to_string()),
            policy: record.policy.to_string(),
            policy_hash: record.policy_hash.map(|hash| hash.to_string()),
            outcome: record.outcome.clone(),
            verdict: record.verdict.clone(),
            pass: record.pass,
            score: record.score,
            appeal: record.appeal.as_ref().map(AppealBody::from),
            score_after_appeal: record.score_after_appeal,
            reward: record.reward,
            advantage: record.advantage,
            reward_breakdown: json(&record.reward_breakdown_json, || Value::Null),
            components: json(&record.components_json, || Value::Array(Vec::new())),
            steps: json(&record.steps_json, || Value::Array(Vec::new())),
            measures: json(&record.measures_json, || {
                Value::Object(serde_json::Map::new())
            }),
            evidence: json(&record.evidence_json, || Value::Null),
            error: json(&record.error_json, || Value::Null),
            meta: record.meta_json.as_deref().map_or_else(
                || Value::Object(serde_json::Map::new()).into(),
                |text| RawJson::stored(text).unwrap_or_else(|| Value::Null.into()),
            ),
            deterministic: record.deterministic,
            cached: record.cached,
            redacted: record.redacted,
            bodies_omitted: record.bodies_omitted,
            queue_us: record.queue_us,
            grade_us: record.grade_us,
            work: record.work,
            time_us: record.time_us,
        }
    }
}

/// One stored grade with its task, prompt, completion and policy.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct GradeDetail {
    /// The grade.
    #[serde(flatten)]
    pub row: GradeBody,
    /// `stored`, `omitted` if they were not stored because of `retention.bodies`, or `deleted` if
    /// the task, the prompt or the completion was deleted later.
    #[schema(pattern = "^(stored|omitted|deleted)$")]
    pub bodies: String,
    /// The task; null if the record does not contain it.
    #[schema(value_type = Option<Object>)]
    pub task: RawJson,
    /// The checks, by name.
    #[schema(value_type = Object)]
    pub checks: RawJson,
    /// The prompt, a string or messages; null if none was sent.
    #[schema(value_type = Option<Object>)]
    pub prompt: RawJson,
    /// The completion, a string or messages; null if the record does not contain it.
    #[schema(value_type = Option<Object>)]
    pub completion: RawJson,
    /// The policy; null for the default policy.
    #[schema(value_type = Option<Object>)]
    pub policy_body: RawJson,
    /// Adjudications by operators, oldest first.
    pub adjudications: Vec<AdjudicationBody>,
}

/// Implemented manually because the derive for a flattened field would build trees of the other
/// fields, in which long integers become floats.
impl<'de> Deserialize<'de> for GradeDetail {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Others {
            bodies: String,
            task: RawJson,
            checks: RawJson,
            prompt: RawJson,
            completion: RawJson,
            policy_body: RawJson,
            adjudications: Vec<AdjudicationBody>,
        }

        let object = Box::<RawValue>::deserialize(deserializer)?;
        let row = serde_json::from_str(object.get()).map_err(D::Error::custom)?;
        let others: Others = serde_json::from_str(object.get()).map_err(D::Error::custom)?;
        Ok(Self {
            row,
            bodies: others.bodies,
            task: others.task,
            checks: others.checks,
            prompt: others.prompt,
            completion: others.completion,
            policy_body: others.policy_body,
            adjudications: others.adjudications,
        })
    }
}

/// A page of grades, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GradesBody {
    /// The grades.
    pub grades: Vec<GradeBody>,
    /// Value of `before` for the next page; null on the last page.
    pub next: Option<String>,
}

/// Specification of a grader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraderBody {
    /// Name, which is the `type` of its tasks.
    pub name: String,
    /// Version.
    pub version: u32,
    /// Summary in one line.
    pub summary: String,
    /// Lane in which it runs: `cpu`, `sandbox`, `device` or `remote`.
    pub lane: String,
    /// Whether grading an item again always returns the same verdict.
    pub deterministic: bool,
    /// Unit of `work`.
    pub work_unit: String,
    /// Why it is not available on this node; null if it is.
    pub unavailable: Option<String>,
    /// Verdicts that it can return.
    pub verdicts: Vec<VerdictBody>,
    /// Measures that it can report.
    pub measures: Vec<MeasureBody>,
    /// JSON Schema of a task.
    #[schema(value_type = Object)]
    pub task_schema: Value,
    /// An example task.
    #[schema(value_type = Object)]
    pub example: Value,
}

/// One verdict of a grader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VerdictBody {
    /// Reason code.
    pub verdict: String,
    /// Whether it is a pass; null if the grader has no notion of passing.
    pub pass: Option<bool>,
    /// When the grader returns it.
    pub meaning: String,
}

/// One measure of a grader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MeasureBody {
    /// Name.
    pub name: String,
    /// Unit.
    pub unit: String,
}

impl GraderBody {
    /// Converts a specification. `unavailable` is the reason if the node cannot run the grader.
    #[must_use]
    pub fn new(spec: &Spec, unavailable: Option<String>) -> Self {
        let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
        let lane = serde_json::to_value(spec.lane).ok();
        Self {
            name: spec.name.to_owned(),
            version: spec.version,
            summary: spec.summary.to_owned(),
            lane: lane
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            deterministic: spec.deterministic,
            work_unit: spec.work_unit.to_owned(),
            unavailable,
            verdicts: spec
                .verdicts
                .iter()
                .map(|verdict| VerdictBody {
                    verdict: verdict.verdict.to_string(),
                    pass: verdict.pass,
                    meaning: verdict.meaning.to_owned(),
                })
                .collect(),
            measures: spec
                .measures
                .iter()
                .map(|measure| MeasureBody {
                    name: measure.name.to_owned(),
                    unit: measure.unit.to_owned(),
                })
                .collect(),
            task_schema: json(spec.task_schema),
            example: json(spec.example_task),
        }
    }
}

/// The graders of a node, in the order of their table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GradersBody {
    /// The graders.
    pub graders: Vec<GraderBody>,
}

/// A stored grade compared with a new grade of the same item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReplayBody {
    /// Id of the grade.
    pub grade: String,
    /// Whether the outcome, verdict or score differs.
    pub flipped: bool,
    /// The stored result.
    pub recorded: ReplaySide,
    /// The new result.
    pub replayed: ReplaySide,
    /// Evidence of the new grade.
    #[schema(value_type = Option<Object>)]
    pub evidence: Value,
}

/// One result of a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReplaySide {
    /// Grader and version.
    pub grader: String,
    /// `graded`, `ungradable` or `failed`.
    pub outcome: String,
    /// Reason code, if graded.
    pub verdict: Option<String>,
    /// Correctness in \[0, 1\], if graded.
    pub score: Option<f64>,
}
