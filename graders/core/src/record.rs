//! What the record keeps of a batch: rows of grades, and each body once by its hash.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::channel::{Appeal, Event};
use crate::{Hash, clock::BatchId, clock::GradeId};

/// One row of the append-only table of grades. Texts named `…_json` are JSON, written once and
/// never parsed on the way in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradeRecord {
    /// Id of the row.
    pub grade: GradeId,
    /// Batch it came in.
    pub batch: BatchId,
    /// Position in its batch, from 0.
    pub position: u32,
    /// Who sent it: the name of the key, `local` without keys.
    pub caller: Arc<str>,
    /// Name of the training run, as sent.
    pub run: Option<Arc<str>>,
    /// Step of the run, as sent.
    pub step: Option<i64>,
    /// The item's id, as sent.
    pub item: Option<String>,
    /// The item's group, as sent.
    pub group: Option<String>,
    /// Name under which the prompt's history is kept over steps.
    pub prompt_key: Option<String>,
    /// Channel: grader and task family.
    pub channel: String,
    /// Name of the grader.
    pub grader: String,
    /// Its version.
    pub grader_version: u32,
    /// Image of the guest it ran in.
    pub image: Option<Hash>,
    /// The task's body.
    pub task_hash: Hash,
    /// The completion's body.
    pub completion_hash: Hash,
    /// The prompt's body.
    pub prompt_hash: Option<Hash>,
    /// Name of the policy that made the reward.
    pub policy: Arc<str>,
    /// The policy's body; `None` for the default one.
    pub policy_hash: Option<Hash>,
    /// `graded`, `ungradable` or `failed`.
    pub outcome: String,
    /// Verdict of a graded item.
    pub verdict: Option<String>,
    /// Whether the verdict is a pass.
    pub pass: Option<bool>,
    /// Correctness in \[0, 1\].
    pub score: Option<f64>,
    /// A second verifier's look, when the item was chosen for one.
    pub appeal: Option<Appeal>,
    /// Score after it; `None` without one.
    pub score_after_appeal: Option<f64>,
    /// The finite reward.
    pub reward: Option<f64>,
    /// Number that was to be used as the advantage.
    pub advantage: Option<f64>,
    /// Checks and nested tasks, as an array.
    pub components_json: Option<String>,
    /// How the policy made the reward, as an object.
    pub reward_breakdown_json: Option<String>,
    /// The steps of a trace with their masks, as an array.
    pub steps_json: Option<String>,
    /// Measures, as an object.
    pub measures_json: Option<String>,
    /// Evidence, as an object.
    pub evidence_json: Option<String>,
    /// `{code, message, retryable}` of an item without a score.
    pub error_json: Option<String>,
    /// Facts the trainer sent along, as an object; replay needs them.
    pub meta_json: Option<String>,
    /// Checks beside the task, as an object of tasks; replay needs them.
    pub checks_json: Option<String>,
    /// Whether grading again gives the same verdict.
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
}

impl Entry {
    /// An entry of events and nothing else; `batch` is a fresh id that names no batch.
    #[must_use]
    pub fn of_events(batch: BatchId, caller: Arc<str>, events: Vec<Event>, time_us: i64) -> Self {
        Self {
            batch,
            caller,
            run: None,
            step: None,
            items: 0,
            received_us: time_us,
            grades: Vec::new(),
            bodies: Vec::new(),
            events,
            claim: None,
        }
    }
}

impl GradeRecord {
    /// Whether the item passed after all: as its judge says where that has the last word, else as
    /// its grader does.
    #[must_use]
    pub fn final_pass(&self) -> Option<bool> {
        Appeal::settled(self.appeal.as_ref(), self.pass)
    }
}

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// A text.
    Text,
    /// A JSON array of messages.
    Messages,
    /// A task's JSON object.
    Task,
    /// A policy's JSON object.
    Policy,
    /// A pair for a reward model, a JSON object.
    Pair,
    /// A report of a check of datasets, a JSON object.
    Report,
}

/// A completion, a prompt or a task, kept once by its hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Its name.
    pub hash: Hash,
    /// What it is.
    pub kind: BodyKind,
    /// The content, not compressed.
    pub content: Vec<u8>,
}

/// What makes a repeated request the same request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestKey {
    /// Who sent it; keys of two callers never meet.
    pub caller: Arc<str>,
    /// The `Idempotency-Key` header.
    pub key: String,
}

/// A reply as it went out, to be sent again byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedReply {
    /// `Content-Type`.
    pub media: String,
    /// The body, not compressed.
    pub body: Vec<u8>,
}

/// A request that was seen under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The key.
    pub key: RequestKey,
    /// Hash of the request's body and what else decides its answer.
    pub request: Hash,
    /// The batch it became; sent again, it becomes the same batch.
    pub batch: BatchId,
    /// When it was claimed, in microseconds since the Unix epoch; claims are kept for a day.
    pub time_us: i64,
    /// The reply, once there is one.
    pub reply: Option<SealedReply>,
}

/// One durable write: grades of one batch, or of a part of it, that become visible together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The batch.
    pub batch: BatchId,
    /// Who sent it.
    pub caller: Arc<str>,
    /// Name of the run, as sent.
    pub run: Option<Arc<str>>,
    /// Step of the run, as sent.
    pub step: Option<i64>,
    /// Items in the whole batch.
    pub items: u32,
    /// When the batch came in, in microseconds since the Unix epoch.
    pub received_us: i64,
    /// Rows to append.
    pub grades: Vec<GradeRecord>,
    /// Bodies the rows name. Those already kept are not kept twice.
    pub bodies: Vec<Body>,
    /// What happened beside grading.
    pub events: Vec<Event>,
    /// The idempotency claim this write opens or, with its reply, closes.
    pub claim: Option<Claim>,
}
