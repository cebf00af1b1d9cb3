//! The record of one grade.

use std::sync::Arc;

use assay_core::Hash;
use assay_core::clock::{BatchId, GradeId};
use serde::{Deserialize, Serialize};

use crate::appeal::Appeal;

/// One row of the append-only table of grades. Texts named `…_json` contain JSON that is serialised
/// once and stored unparsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradeRecord {
    /// Id of the row.
    pub grade: GradeId,
    /// Batch of the item.
    pub batch: BatchId,
    /// Position in its batch, from 0.
    pub position: u32,
    /// The caller: name of the API key, or `local` if keys are not used.
    pub caller: Arc<str>,
    /// Name of the training run, as sent.
    pub run: Option<Arc<str>>,
    /// Step of the run, as sent.
    pub step: Option<i64>,
    /// The item's id, as sent.
    pub item: Option<String>,
    /// The item's group, as sent.
    pub group: Option<String>,
    /// Key of the prompt, under which its history is kept over steps.
    pub prompt_key: Option<String>,
    /// Channel: grader and task family.
    pub channel: String,
    /// Name of the grader.
    pub grader: String,
    /// Its version.
    pub grader_version: u32,
    /// Image of the guest in which the item was graded.
    pub image: Option<Hash>,
    /// Hash of the task's body.
    pub task_hash: Hash,
    /// Hash of the completion's body.
    pub completion_hash: Hash,
    /// Hash of the prompt's body.
    pub prompt_hash: Option<Hash>,
    /// Name of the reward policy.
    pub policy: Arc<str>,
    /// Hash of the policy's body; `None` for the default policy.
    pub policy_hash: Option<Hash>,
    /// `graded`, `ungradable` or `failed`.
    pub outcome: String,
    /// Verdict of a graded item.
    pub verdict: Option<String>,
    /// Whether the verdict is a pass.
    pub pass: Option<bool>,
    /// Correctness in \[0, 1\].
    pub score: Option<f64>,
    /// The appeal, if the item was chosen for one.
    pub appeal: Option<Appeal>,
    /// Score after the appeal; `None` without one.
    pub score_after_appeal: Option<f64>,
    /// The reward; finite.
    pub reward: Option<f64>,
    /// The advantage.
    pub advantage: Option<f64>,
    /// Results of checks and nested tasks, as an array.
    pub components_json: Option<String>,
    /// The reward breakdown, as an object.
    pub reward_breakdown_json: Option<String>,
    /// The steps of a trace with their masks, as an array.
    pub steps_json: Option<String>,
    /// Measures, as an object.
    pub measures_json: Option<String>,
    /// Evidence, as an object.
    pub evidence_json: Option<String>,
    /// `{code, message, retryable}` of an item without a score.
    pub error_json: Option<String>,
    /// The `meta` of the item, as an object. Needed for replay.
    pub meta_json: Option<String>,
    /// The `checks` of the item, as an object of tasks. Needed for replay.
    pub checks_json: Option<String>,
    /// Whether grading again returns the same verdict.
    pub deterministic: bool,
    /// Whether the outcome came from the result cache.
    pub cached: bool,
    /// Time from admission until a worker took the item, in microseconds.
    pub queue_us: u64,
    /// Time the grading itself took, in microseconds.
    pub grade_us: u64,
    /// Deterministic cost in the grader's unit.
    pub work: u64,
    /// When it was graded, in microseconds since the Unix epoch.
    pub time_us: i64,
    /// Whether texts of its task, prompt, completion, metadata or checks were replaced before they
    /// were stored, so that grading the item again may have another result. The hashes are those of
    /// the stored bodies. Serialised outside of the row, because the encoding of rows is fixed.
    #[serde(skip)]
    pub redacted: bool,
    /// Whether its task, prompt and completion were not stored, by the policy for bodies.
    /// Serialised like `redacted`.
    #[serde(skip)]
    pub bodies_omitted: bool,
}

impl GradeRecord {
    /// A pass without optional fields, from which probes and tests make their grades.
    #[must_use]
    pub fn passed(batch: BatchId, position: u32, completion_hash: Hash) -> Self {
        Self {
            grade: batch.grade(position),
            batch,
            position,
            caller: "local".into(),
            run: None,
            step: None,
            item: None,
            group: None,
            prompt_key: None,
            channel: "text/default".to_owned(),
            grader: "text".to_owned(),
            grader_version: 1,
            image: None,
            task_hash: Hash::of(b"task"),
            completion_hash,
            prompt_hash: None,
            policy: "default".into(),
            policy_hash: None,
            outcome: "graded".to_owned(),
            verdict: Some("correct".to_owned()),
            pass: Some(true),
            score: Some(1.0),
            appeal: None,
            score_after_appeal: None,
            reward: Some(1.0),
            advantage: None,
            components_json: None,
            reward_breakdown_json: None,
            steps_json: None,
            measures_json: None,
            evidence_json: None,
            error_json: None,
            meta_json: None,
            checks_json: None,
            deterministic: true,
            cached: false,
            queue_us: 15,
            grade_us: 60,
            work: 7,
            time_us: 0,
            redacted: false,
            bodies_omitted: false,
        }
    }

    /// Whether the item passes after its appeal, if there is one.
    #[must_use]
    pub fn pass_after_appeal(&self) -> Option<bool> {
        Appeal::settled(self.appeal.as_ref(), self.pass)
    }
}
