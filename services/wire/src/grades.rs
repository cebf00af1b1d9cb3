//! JSON types for stored grades, replays and graders.

use assay_core::RawJson;
use assay_core::spec::Spec;
use assay_record::StoredGrade;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::adjudications::AdjudicationBody;
use crate::comments::CommentBody;

/// One stored grade with its task, prompt, completion and policy.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct GradeDetail {
    /// The grade.
    #[serde(flatten)]
    pub stored: StoredGrade,
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
    /// Comments of operators, oldest first.
    pub comments: Vec<CommentBody>,
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
            /// Earlier servers have no comments.
            #[serde(default)]
            comments: Vec<CommentBody>,
        }

        let object = Box::<RawValue>::deserialize(deserializer)?;
        let stored = serde_json::from_str(object.get()).map_err(D::Error::custom)?;
        let others: Others = serde_json::from_str(object.get()).map_err(D::Error::custom)?;
        Ok(Self {
            stored,
            bodies: others.bodies,
            task: others.task,
            checks: others.checks,
            prompt: others.prompt,
            completion: others.completion,
            policy_body: others.policy_body,
            adjudications: others.adjudications,
            comments: others.comments,
        })
    }
}

/// A page of grades, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GradesBody {
    /// The grades.
    pub grades: Vec<StoredGrade>,
    /// Value of `before` for the next page; null on the last page.
    pub next: Option<String>,
}

/// The public key of the receipts of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReceiptKeyBody {
    /// The Ed25519 key, as 64 hexadecimal digits.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub key: String,
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
