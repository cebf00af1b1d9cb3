//! Grades stored items again with this binary, from the recorded bodies and without the outcome
//! cache.

mod error;
mod stored_items;

use std::sync::Arc;

use assay_core::{GradeId, Outcome};
use assay_record::GradeRecord;

use crate::reply::ItemResult;
use crate::{Batch, Engine, EngineError};
use stored_items::StoredItems;

pub use error::{ReplayError, ReplayOptions};

/// The recorded or the new result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Grader and version.
    pub grader: String,
    /// `graded`, `ungradable` or `failed`.
    pub outcome: String,
    /// Verdict of a graded item.
    pub verdict: Option<String>,
    /// Whether the verdict is a pass; `None` also if it has no notion of pass.
    pub pass: Option<bool>,
    /// Its score.
    pub score: Option<f64>,
}

/// The result of a replay.
#[derive(Debug, Clone)]
pub struct Replay {
    /// Id of the stored grade.
    pub grade: GradeId,
    /// The recorded result.
    pub recorded: Side,
    /// The result of this binary.
    pub replayed: Side,
    /// The new outcome, with its evidence.
    pub outcome: Outcome,
}

impl Replay {
    /// Whether outcome, verdict or score differ. The grader's version may differ as well.
    #[must_use]
    pub fn flipped(&self) -> bool {
        let (recorded, replayed) = (&self.recorded, &self.replayed);
        (&recorded.outcome, &recorded.verdict, recorded.score)
            != (&replayed.outcome, &replayed.verdict, replayed.score)
    }
}

impl Engine {
    /// Grades a stored item again. Nothing is recorded.
    ///
    /// # Errors
    /// [`ReplayError`] if the grade or its bodies are missing, or the engine rejects the item.
    pub async fn replay(&self, id: GradeId) -> Result<Replay, ReplayError> {
        let mut replays = self.replay_all(&[id], &ReplayOptions::new()).await?;
        replays.pop().unwrap_or(Err(ReplayError::NotFound(id)))
    }

    /// Grades stored items again as one batch, in the order of `ids`, with `options` set in their
    /// tasks. Nothing is recorded. An item that cannot be graded again, because its bodies were
    /// deleted or its task is rejected, does not affect the others.
    ///
    /// # Errors
    /// [`ReplayError`] if the record cannot be read or the engine rejects the batch.
    pub async fn replay_all(
        &self,
        ids: &[GradeId],
        options: &ReplayOptions,
    ) -> Result<Vec<Result<Replay, ReplayError>>, ReplayError> {
        let record = self.record().ok_or(ReplayError::NoRecord)?;
        let mut stored = StoredItems::new(record);
        let (mut rows, mut items) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
        for id in ids {
            let checked = match stored.item(*id, options).await {
                Ok((row, item)) => self
                    .check_on_worker(item)
                    .await
                    .map(|item| (row, item))
                    .map_err(ReplayError::from),
                Err(error @ ReplayError::Store(_)) => return Err(error),
                Err(error) => Err(error),
            };
            rows.push(checked.map(|(row, item)| {
                items.push(item);
                row
            }));
        }
        if items.is_empty() {
            return Ok(rows
                .into_iter()
                .filter_map(|row| row.err().map(Err))
                .collect());
        }
        let batch = Batch {
            share: Arc::clone(self.share()),
            ..Batch::new("replay", items)
        };
        let reply = self.grade_unrecorded(batch).await?;
        let mut results = reply.results();
        rows.into_iter()
            .map(|row| match row {
                Ok(row) => Ok(Ok(replayed(
                    row,
                    results.next().ok_or(EngineError::ShuttingDown)?,
                ))),
                Err(error) => Ok(Err(error)),
            })
            .collect()
    }
}

fn replayed(row: GradeRecord, result: &ItemResult) -> Replay {
    let grade = result.outcome.grade();
    let now = Side {
        grader: result.spec.id(),
        outcome: result.outcome.as_str().to_owned(),
        verdict: grade.map(|grade| grade.verdict.to_string()),
        pass: grade.and_then(|grade| result.spec.pass(grade.verdict)),
        score: grade.map(|grade| grade.score.get()),
    };
    let then = Side {
        grader: format!("{}@{}", row.grader, row.grader_version),
        outcome: row.outcome,
        verdict: row.verdict,
        pass: row.pass,
        score: row.score,
    };
    Replay {
        grade: row.grade,
        recorded: then,
        replayed: now,
        outcome: result.outcome.clone(),
    }
}
