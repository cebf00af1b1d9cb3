//! What is recorded of a batch: one row per grade, and each body once by its hash.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::channel::{Appeal, Event};
use crate::{Hash, clock::BatchId, clock::GradeId};

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
    /// An entry that contains only events. `batch` is a new id that no batch has.
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
    /// Whether the item passes after its appeal, if there is one.
    #[must_use]
    pub fn pass_after_appeal(&self) -> Option<bool> {
        Appeal::settled(self.appeal.as_ref(), self.pass)
    }
}

/// The content type of a body.
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
    /// A pair for a reward model: a JSON object.
    Pair,
    /// A report of a dataset check: a JSON object.
    Report,
}

/// Content that is stored once under its hash: a completion, a prompt, a task and so on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Hash that identifies the body.
    pub hash: Hash,
    /// Type of the content.
    pub kind: BodyKind,
    /// The content, not compressed.
    pub content: Vec<u8>,
}

/// Identifies a request: repeated requests have the same key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestKey {
    /// The caller. Keys of different callers are independent.
    pub caller: Arc<str>,
    /// The `Idempotency-Key` header.
    pub key: String,
}

/// A reply as it was sent. A repeated request receives the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedReply {
    /// `Content-Type`.
    pub media: String,
    /// The body, not compressed.
    pub body: Vec<u8>,
}

/// A request that was received with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The key.
    pub key: RequestKey,
    /// Hash of the request's body and of everything else that determines the reply.
    pub request: Hash,
    /// Its batch. A repeated request has the same batch.
    pub batch: BatchId,
    /// When it was claimed, in microseconds since the Unix epoch; claims are kept for a day.
    pub time_us: i64,
    /// The reply; `None` until the request is complete.
    pub reply: Option<SealedReply>,
}

/// One durable write: the grades of a batch or of a part of it. They become visible together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The batch.
    pub batch: BatchId,
    /// The caller.
    pub caller: Arc<str>,
    /// Name of the run, as sent.
    pub run: Option<Arc<str>>,
    /// Step of the run, as sent.
    pub step: Option<i64>,
    /// Items in the whole batch.
    pub items: u32,
    /// When the batch was received, in microseconds since the Unix epoch.
    pub received_us: i64,
    /// Grades to append.
    pub grades: Vec<GradeRecord>,
    /// Bodies that the grades refer to. Bodies that are already stored are not stored again.
    pub bodies: Vec<Body>,
    /// Events other than grades.
    pub events: Vec<Event>,
    /// The idempotency claim that this write creates or, if it has a reply, completes.
    pub claim: Option<Claim>,
}
