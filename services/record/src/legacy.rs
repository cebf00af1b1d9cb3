//! Grades as earlier releases recorded them, in columns instead of a document: in rows of the
//! database, and in frames of the spool.

use std::borrow::Cow;
use std::sync::Arc;

use assay_core::{BatchId, GradeId, GraderId, Hash, RawJson};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Appeal;
use crate::grade::{GradeSource, ItemGrade, StoredGrade};

/// A grade in a frame. The order of the fields is its encoding. Fields that end in `json` are JSON
/// texts.
#[derive(Debug, Deserialize)]
pub(crate) struct LegacyGrade {
    pub(crate) grade: GradeId,
    pub(crate) batch: BatchId,
    pub(crate) position: u32,
    pub(crate) caller: Arc<str>,
    pub(crate) run: Option<Arc<str>>,
    pub(crate) step: Option<i64>,
    pub(crate) item: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) prompt_key: Option<String>,
    pub(crate) channel: String,
    pub(crate) grader: String,
    pub(crate) grader_version: u32,
    /// No longer used; part of the encoding.
    pub(crate) _image: Option<Hash>,
    pub(crate) task_hash: Hash,
    pub(crate) completion_hash: Hash,
    pub(crate) prompt_hash: Option<Hash>,
    pub(crate) policy: Arc<str>,
    pub(crate) policy_hash: Option<Hash>,
    pub(crate) outcome: String,
    pub(crate) verdict: Option<String>,
    pub(crate) pass: Option<bool>,
    pub(crate) score: Option<f64>,
    pub(crate) appeal: Option<LegacyAppeal>,
    pub(crate) score_after_appeal: Option<f64>,
    pub(crate) reward: Option<f64>,
    pub(crate) advantage: Option<f64>,
    pub(crate) components_json: Option<String>,
    pub(crate) reward_breakdown_json: Option<String>,
    pub(crate) steps_json: Option<String>,
    pub(crate) measures_json: Option<String>,
    pub(crate) evidence_json: Option<String>,
    pub(crate) error_json: Option<String>,
    pub(crate) meta_json: Option<String>,
    pub(crate) checks_json: Option<String>,
    pub(crate) deterministic: bool,
    pub(crate) cached: bool,
    pub(crate) queue_us: u64,
    pub(crate) grade_us: u64,
    pub(crate) work: u64,
    pub(crate) time_us: i64,
    /// Not part of a grade in a frame.
    #[serde(skip)]
    pub(crate) redacted: bool,
    /// As `redacted`.
    #[serde(skip)]
    pub(crate) bodies_omitted: bool,
}

/// An appeal in a frame.
#[derive(Debug, Deserialize)]
pub(crate) struct LegacyAppeal {
    judge: String,
    sensitivity: f64,
    specificity: f64,
    probability: f64,
    verdict: Option<String>,
    pass: Option<bool>,
    agreed: bool,
    score: Option<f64>,
    binding: bool,
    overturned: bool,
    reason: Option<String>,
}

impl From<LegacyAppeal> for Appeal {
    fn from(appeal: LegacyAppeal) -> Self {
        Self {
            judge: appeal.judge,
            probability: appeal.probability,
            verdict: appeal.verdict,
            pass: appeal.pass,
            score: appeal.score,
            agreed: appeal.agreed,
            binding: appeal.binding,
            overturned: appeal.overturned,
            reason: appeal.reason,
            sensitivity: appeal.sensitivity,
            specificity: appeal.specificity,
        }
    }
}

/// The value of a JSON text, or the default if it is absent. A damaged text counts as absent, so
/// that the row stays readable; its checksum shows the damage.
fn value<T: DeserializeOwned + Default>(json: Option<&str>) -> T {
    json.and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default()
}

impl From<LegacyGrade> for StoredGrade {
    fn from(old: LegacyGrade) -> Self {
        let sent = |json: Option<String>| json.as_deref().and_then(RawJson::stored);
        let is_graded = old.outcome == "graded";
        Self {
            grade: ItemGrade {
                position: old.position,
                id: old.item,
                group: old.group,
                prompt_key: old.prompt_key,
                grade: old.grade,
                channel: old.channel.into(),
                grader: GraderId {
                    name: Cow::Owned(old.grader),
                    version: old.grader_version,
                },
                outcome: Cow::Owned(old.outcome),
                verdict: old.verdict.map(Cow::Owned),
                pass: old.pass,
                score: old.score,
                appeal: old.appeal.map(Appeal::from),
                score_after_appeal: old.score_after_appeal,
                reward: old.reward,
                reward_breakdown: value(old.reward_breakdown_json.as_deref()),
                advantage: old.advantage,
                components: value(old.components_json.as_deref()),
                steps: value(old.steps_json.as_deref()),
                measures: value(old.measures_json.as_deref()),
                evidence: is_graded.then(|| value(old.evidence_json.as_deref())),
                error: value(old.error_json.as_deref()),
                deterministic: old.deterministic,
                work: old.work,
                queue_us: old.queue_us,
                grade_us: old.grade_us,
                time_us: old.time_us,
                cached: old.cached,
                recorded: true,
                ..ItemGrade::default()
            },
            source: GradeSource {
                batch: old.batch,
                caller: old.caller,
                run: old.run,
                step: old.step,
                task_hash: old.task_hash,
                completion_hash: old.completion_hash,
                prompt_hash: old.prompt_hash,
                policy: old.policy,
                policy_hash: old.policy_hash,
                redacted: old.redacted,
                bodies_omitted: old.bodies_omitted,
                meta: sent(old.meta_json),
                checks: sent(old.checks_json),
            },
        }
    }
}
