//! The grade of an item, in the form that the engine, replies, the record and exports share.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::clock::{BatchId, GradeId};
use assay_core::{Component, Evidence, Fault, Grade, GraderId, Hash, RawJson, Score, Step};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::appeal::Appeal;

/// The measure of completions that were cut at the length limit.
pub(crate) const TRUNCATED: &str = "truncated";

/// The grade of one item. Every key is always present; it is null if it has no value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ResultBody)]
pub struct ItemGrade {
    /// Position of the item in its batch, from 0.
    pub position: u32,
    /// The item's id, as sent.
    pub id: Option<String>,
    /// The item's group, as sent.
    pub group: Option<String>,
    /// Key of the prompt's history, for `POST /v1/prompts/suggest`.
    pub prompt_key: Option<String>,
    /// Id of the grade, a ULID.
    #[schema(value_type = String)]
    pub grade: GradeId,
    /// Grader and task family.
    #[schema(value_type = String, example = "math/default")]
    pub channel: Arc<str>,
    /// Grader and version.
    #[schema(value_type = String, example = "math@1")]
    pub grader: GraderId,
    /// `graded`, `ungradable` (the task is at fault) or `failed` (the service is at fault).
    #[schema(value_type = String)]
    pub outcome: Cow<'static, str>,
    /// Reason code of a graded item.
    #[schema(value_type = Option<String>)]
    pub verdict: Option<Cow<'static, str>>,
    /// Whether the verdict is a pass.
    pub pass: Option<bool>,
    /// Correctness in \[0, 1\].
    pub score: Option<f64>,
    /// The appeal; null if the item was not selected for one.
    pub appeal: Option<Appeal>,
    /// Score after the appeal; null without one.
    pub score_after_appeal: Option<f64>,
    /// Backward-corrected score; null if the channel is not corrected.
    pub backward: Option<f64>,
    /// Factor of the forward correction: rho1 for a pass, rho1 - 1 otherwise; null if the channel
    /// is not corrected.
    pub forward: Option<f64>,
    /// Number to maximise; finite.
    pub reward: Option<f64>,
    /// The steps by which the policy computed the reward: `terms` in the order of their
    /// application, and `weight`, `tag`, `label`, `steps`, `missing` where they apply; null if the
    /// reward is the score.
    #[schema(value_type = Option<Object>)]
    pub reward_breakdown: Option<RewardBreakdown>,
    /// Number to use as the advantage; null if the group has fewer than two graded members, and in
    /// streams.
    pub advantage: Option<f64>,
    /// Name of the method that computed the advantage.
    #[schema(value_type = Option<String>)]
    pub advantage_estimator: Option<Cow<'static, str>>,
    /// Results of nested tasks and of checks.
    pub components: Vec<ComponentGrade>,
    /// Scores of the steps of a trace; empty for tasks without steps.
    pub steps: Vec<Step>,
    /// Measures by name.
    #[schema(value_type = BTreeMap<String, f64>)]
    pub measures: BTreeMap<Cow<'static, str>, f64>,
    /// Facts behind the verdict; null if the item is not graded.
    #[schema(value_type = Option<Object>)]
    pub evidence: Option<Evidence>,
    /// Why there is no score; null if there is one.
    pub error: Option<Fault>,
    /// Whether grading the item again returns the same verdict.
    pub deterministic: bool,
    /// Deterministic cost in the grader's unit.
    pub work: u64,
    /// Microseconds from admission until a worker took the item.
    pub queue_us: u64,
    /// Microseconds spent grading, including the checks.
    pub grade_us: u64,
    /// Time of grading, in microseconds since the Unix epoch.
    pub time_us: i64,
    /// Whether the outcome came from the result cache.
    pub cached: bool,
    /// Whether the grade is in the durable record: `true` survives a crash.
    pub recorded: bool,
    /// Time of processors and sandbox workers that its caller is charged, in microseconds. Not part
    /// of replies and documents.
    #[serde(skip)]
    pub charged_us: u64,
}

impl ItemGrade {
    /// Whether the item passes after its appeal, if there is one.
    #[must_use]
    pub fn pass_after_appeal(&self) -> Option<bool> {
        Appeal::settled(self.appeal.as_ref(), self.pass)
    }

    /// Whether the completion was cut at the length limit; known of graded items.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.measures.contains_key(TRUNCATED)
    }

    /// Its score after the appeal, or the grader's score without one; `None` for an item without a
    /// score.
    #[must_use]
    pub fn effective_score(&self) -> Option<f64> {
        self.score_after_appeal.or(self.score)
    }

    /// The fields from which rows, counts and lists are made, without what only the document of
    /// the grade contains.
    pub(crate) fn row(&self) -> Self {
        Self {
            position: self.position,
            id: self.id.clone(),
            group: self.group.clone(),
            prompt_key: self.prompt_key.clone(),
            grade: self.grade,
            channel: Arc::clone(&self.channel),
            grader: self.grader.clone(),
            outcome: self.outcome.clone(),
            verdict: self.verdict.clone(),
            pass: self.pass,
            score: self.score,
            appeal: self.appeal.clone(),
            reward: self.reward,
            error: self.error.clone(),
            deterministic: self.deterministic,
            work: self.work,
            queue_us: self.queue_us,
            grade_us: self.grade_us,
            time_us: self.time_us,
            cached: self.cached,
            measures: self
                .measures
                .get_key_value(TRUNCATED)
                .into_iter()
                .map(|(name, value)| (name.clone(), *value))
                .collect(),
            ..Self::default()
        }
    }
}

/// The result of a check or of a nested task of the grader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ComponentBody)]
pub struct ComponentGrade {
    /// Name of the check or nested task.
    pub name: String,
    /// Grader and version.
    #[schema(value_type = String)]
    pub grader: GraderId,
    /// `graded`, `ungradable` or `failed`.
    #[schema(value_type = String)]
    pub outcome: Cow<'static, str>,
    /// Reason code, if graded.
    #[schema(value_type = Option<String>)]
    pub verdict: Option<Cow<'static, str>>,
    /// Correctness in \[0, 1\], if graded.
    pub score: Option<f64>,
    /// Facts behind the verdict of a check; null for a nested task, whose facts are in the evidence
    /// of the item.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub evidence: Option<Evidence>,
    /// Why there is no score; null if there is one.
    pub error: Option<Fault>,
}

impl ComponentGrade {
    /// The result of a check, with its evidence.
    #[must_use]
    pub fn of_check(component: Component) -> Self {
        let grade = component.outcome.grade();
        let evidence = grade.map(|grade| grade.evidence.clone());
        Self {
            evidence,
            ..Self::from(component)
        }
    }
}

impl From<Component> for ComponentGrade {
    fn from(component: Component) -> Self {
        let grade = component.outcome.grade();
        Self {
            outcome: component.outcome.as_str().into(),
            verdict: grade.map(|grade| grade.verdict.as_str().into()),
            score: grade.and_then(Grade::known_score).map(Score::get),
            error: component.outcome.fault().cloned(),
            evidence: None,
            name: component.name,
            grader: component.grader,
        }
    }
}

/// The steps by which a policy computed a reward, as JSON that is serialised once and not parsed
/// again.
#[derive(Debug, Clone)]
pub struct RewardBreakdown(Arc<RawValue>);

impl From<Box<RawValue>> for RewardBreakdown {
    fn from(json: Box<RawValue>) -> Self {
        Self(json.into())
    }
}

impl RewardBreakdown {
    /// The JSON text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for RewardBreakdown {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Serialize for RewardBreakdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Deserialises through a [`Value`]: a [`RawValue`] cannot be read inside an internally tagged enum
/// such as a line of a stream.
impl<'de> Deserialize<'de> for RewardBreakdown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tree = Value::deserialize(deserializer)?;
        serde_json::value::to_raw_value(&tree)
            .map(Self::from)
            .map_err(de::Error::custom)
    }
}

/// The context of a stored grade: its batch, the hashes of its texts, its policy and its metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GradeSource {
    /// Id of the batch.
    #[schema(value_type = String)]
    pub batch: BatchId,
    /// Caller that sent the batch: name of its API key, or `local` if keys are not used.
    #[schema(value_type = String)]
    pub caller: Arc<str>,
    /// Name of the run, as sent.
    #[schema(value_type = Option<String>)]
    pub run: Option<Arc<str>>,
    /// Step of the run, as sent.
    pub step: Option<i64>,
    /// Hash of the task's body.
    #[schema(value_type = String)]
    pub task_hash: Hash,
    /// Hash of the completion's body.
    #[schema(value_type = String)]
    pub completion_hash: Hash,
    /// Hash of the prompt's body.
    #[schema(value_type = Option<String>)]
    pub prompt_hash: Option<Hash>,
    /// Name of the policy.
    #[schema(value_type = String)]
    pub policy: Arc<str>,
    /// Hash of the policy's body; null for the default policy.
    #[schema(value_type = Option<String>)]
    pub policy_hash: Option<Hash>,
    /// Whether texts of the item were redacted before they were stored. Such a grade cannot be
    /// replayed, and its hashes are those of the redacted texts.
    pub redacted: bool,
    /// Whether its task, prompt and completion were not stored, because of `retention.bodies`.
    pub bodies_omitted: bool,
    /// Metadata of the item, as sent.
    #[serde(default, serialize_with = "object", deserialize_with = "stored")]
    #[schema(value_type = Object)]
    pub meta: Option<RawJson>,
    /// The checks of the item, an object of tasks. Lists do not show them.
    #[serde(skip)]
    pub checks: Option<RawJson>,
}

/// Serialises JSON that is an empty object if it is absent.
fn object<S: Serializer>(json: &Option<RawJson>, serializer: S) -> Result<S::Ok, S::Error> {
    match json {
        Some(json) => json.serialize(serializer),
        None => serde_json::Map::new().serialize(serializer),
    }
}

/// Reads JSON whose depth was limited when it was sent.
fn stored<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    let json = Box::<RawValue>::deserialize(deserializer)?;
    Ok(RawJson::stored(json.get()))
}

/// A grade in the record, with where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = GradeBody)]
pub struct StoredGrade {
    /// Where it comes from.
    #[serde(flatten)]
    pub source: GradeSource,
    /// The grade.
    #[serde(flatten)]
    pub grade: ItemGrade,
}

/// Implemented manually because the derive for flattened fields would build trees of the other
/// fields, in which long integers become floats.
impl<'de> Deserialize<'de> for StoredGrade {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self {
            source: serde_json::from_str(object.get()).map_err(de::Error::custom)?,
            grade: serde_json::from_str(object.get()).map_err(de::Error::custom)?,
        })
    }
}

impl StoredGrade {
    /// A pass without optional fields, from which probes and tests make their grades.
    #[must_use]
    pub fn passed(batch: BatchId, position: u32, completion_hash: Hash) -> Self {
        Self {
            source: GradeSource {
                batch,
                caller: "local".into(),
                run: None,
                step: None,
                task_hash: Hash::of(b"task"),
                completion_hash,
                prompt_hash: None,
                policy: "default".into(),
                policy_hash: None,
                redacted: false,
                bodies_omitted: false,
                meta: None,
                checks: None,
            },
            grade: ItemGrade {
                position,
                grade: batch.grade(position),
                channel: "text/default".into(),
                grader: GraderId {
                    name: "text".into(),
                    version: 1,
                },
                outcome: "graded".into(),
                verdict: Some("correct".into()),
                pass: Some(true),
                score: Some(1.0),
                reward: Some(1.0),
                evidence: Some(Evidence::new()),
                deterministic: true,
                work: 7,
                queue_us: 15,
                grade_us: 60,
                recorded: true,
                ..ItemGrade::default()
            },
        }
    }
}

impl StoredGrade {
    /// The grade with this document.
    pub(crate) fn read(source: GradeSource, document: &str) -> serde_json::Result<Self> {
        /// The parts of a document besides the grade. They were checked when the batch was sent, so
        /// their depth is not limited again.
        #[derive(Deserialize)]
        struct Sent<'d> {
            #[serde(borrow)]
            meta: Option<&'d RawValue>,
            #[serde(borrow)]
            checks: Option<&'d RawValue>,
        }
        let sent: Sent<'_> = serde_json::from_str(document)?;
        let stored = |json: Option<&RawValue>| RawJson::stored(json?.get());
        Ok(Self {
            source: GradeSource {
                meta: stored(sent.meta),
                checks: stored(sent.checks),
                ..source
            },
            grade: ItemGrade {
                recorded: true,
                ..serde_json::from_str(document)?
            },
        })
    }
}
