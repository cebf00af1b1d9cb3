//! Grading a stored item again with this binary: the same bodies, the same way, nothing from the cache.

use assay_core::record::{Body, BodyKind, GradeRecord};
use assay_core::store::{Store, StoreError};
use assay_core::{Completion, ErrorCode, GradeId, Hash, Item, Meta, Outcome, Task};
use serde_json::value::RawValue;

use crate::{Batch, BatchItem, Engine, EngineError};

/// One side of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Grader and version.
    pub grader: String,
    /// `graded`, `ungradable` or `failed`.
    pub outcome: String,
    /// Verdict of a graded item.
    pub verdict: Option<String>,
    /// Its score.
    pub score: Option<f64>,
}

/// A grade made again.
#[derive(Debug, Clone)]
pub struct Replay {
    /// Id of the stored grade.
    pub grade: GradeId,
    /// What the record holds.
    pub then: Side,
    /// What this binary says.
    pub now: Side,
    /// The new outcome, with its evidence.
    pub outcome: Outcome,
}

impl Replay {
    /// Whether outcome, verdict or score differ. Grader versions may.
    #[must_use]
    pub fn flipped(&self) -> bool {
        let (then, now) = (&self.then, &self.now);
        (&then.outcome, &then.verdict, then.score) != (&now.outcome, &now.verdict, now.score)
    }
}

/// Why a stored grade cannot be made again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Nothing has this id.
    #[error("no grade has the id `{0}`")]
    NotFound(GradeId),
    /// The node has no record.
    #[error("the node keeps no record; start it with a database")]
    NoRecord,
    /// A body is not kept any more.
    #[error("the record does not keep the {what} of this grade any more")]
    BodyGone {
        /// `task`, `completion` or `prompt`.
        what: &'static str,
    },
    /// A body does not read as what it should be.
    #[error("the stored {what} cannot be read: {reason}")]
    BadBody {
        /// `task`, `completion`, `prompt`, `checks` or `meta`.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// The record cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine does not grade it.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl ReplayError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_) | Self::BodyGone { .. } => ErrorCode::NotFound,
            Self::NoRecord | Self::Store(_) => ErrorCode::StoreUnavailable,
            Self::BadBody { .. } => ErrorCode::Internal,
            Self::Engine(error) => error.code(),
        }
    }
}

impl Engine {
    /// Grades a stored item again. Nothing is recorded.
    ///
    /// # Errors
    /// [`ReplayError`] when the grade or its bodies are not there, or the engine refuses.
    pub async fn replay(&self, id: GradeId) -> Result<Replay, ReplayError> {
        let store = self.store().ok_or(ReplayError::NoRecord)?;
        let record = store.grade(id).await?.ok_or(ReplayError::NotFound(id))?;
        let item = stored_item(store.as_ref(), &record).await?;
        let reply = self.grade_apart(Batch::new("replay", vec![item])).await?;
        let result = reply.results().next().ok_or(EngineError::ShuttingDown)?;
        let grade = result.outcome.grade();
        let now = Side {
            grader: result.spec.id(),
            outcome: result.outcome.word().to_owned(),
            verdict: grade.map(|grade| grade.verdict.to_string()),
            score: grade.map(|grade| grade.score.get()),
        };
        let then = Side {
            grader: format!("{}@{}", record.grader, record.grader_version),
            outcome: record.outcome,
            verdict: record.verdict,
            score: record.score,
        };
        Ok(Replay { grade: id, then, now, outcome: result.outcome.clone() })
    }
}

async fn stored_item(store: &dyn Store, record: &GradeRecord) -> Result<BatchItem, ReplayError> {
    let task = body(store, record.task_hash, "task").await?;
    let completion = body(store, record.completion_hash, "completion").await?;
    let prompt = match record.prompt_hash {
        Some(hash) => Some(read_completion(body(store, hash, "prompt").await?, "prompt")?),
        None => None,
    };
    let bad = |what: &'static str, reason: String| ReplayError::BadBody { what, reason };
    let text = String::from_utf8(task.content).map_err(|error| bad("task", error.to_string()))?;
    let task = Task::from_json(&text).map_err(|error| bad("task", error.to_string()))?;
    let meta: Meta = match &record.meta_json {
        Some(json) => serde_json::from_str(json).map_err(|error| bad("meta", error.to_string()))?,
        None => Meta::default(),
    };
    let completion = read_completion(completion, "completion")?;
    let mut item = BatchItem::new(Item { prompt, completion, meta }, task);
    item.id.clone_from(&record.item);
    item.group.clone_from(&record.group);
    item.channel = record.channel.split_once('/').map(|(_, family)| family.to_owned());
    item.checks = read_checks(record)?;
    Ok(item)
}

fn read_checks(record: &GradeRecord) -> Result<Vec<(String, Task)>, ReplayError> {
    let bad = |reason: String| ReplayError::BadBody { what: "checks", reason };
    let Some(json) = &record.checks_json else {
        return Ok(Vec::new());
    };
    let raw: std::collections::BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(json).map_err(|error| bad(error.to_string()))?;
    raw.into_iter()
        .map(|(name, raw)| Ok((name, Task::from_raw(&raw).map_err(|error| bad(error.to_string()))?)))
        .collect()
}

async fn body(store: &dyn Store, hash: Hash, what: &'static str) -> Result<Body, ReplayError> {
    store.body(hash).await?.ok_or(ReplayError::BodyGone { what })
}

fn read_completion(body: Body, what: &'static str) -> Result<Completion, ReplayError> {
    let bad = |reason: String| ReplayError::BadBody { what, reason };
    match body.kind {
        BodyKind::Text => {
            let text = String::from_utf8(body.content).map_err(|error| bad(error.to_string()))?;
            Ok(Completion::Text(text.into()))
        }
        BodyKind::Messages => serde_json::from_slice(&body.content).map_err(|error| bad(error.to_string())),
        BodyKind::Task | BodyKind::Policy | BodyKind::Pair => Err(bad("it is a task, a policy or a pair".to_owned())),
    }
}
