//! Grades stored items again with this binary, from the recorded bodies and without the outcome
//! cache.

mod error;
mod stored_items;

use std::sync::Arc;

use assay_core::GradeId;
use assay_record::ItemGrade;

use assay_engine::{Batch, EngineError};

use crate::Review;

pub(crate) use error::rejected_task;
pub use error::{ReplayError, ReplayOptions};
pub(crate) use stored_items::StoredItems;

/// The result of a replay.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The stored grade.
    pub recorded: ItemGrade,
    /// The grade by this binary.
    pub replayed: ItemGrade,
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

impl Review {
    /// Grades a stored item again. Nothing is recorded.
    ///
    /// # Errors
    /// [`ReplayError`] if the grade or its bodies are missing, or the engine rejects the item.
    pub async fn replay(&self, id: GradeId) -> Result<Replay, ReplayError> {
        let mut replays = self.replay_all(&[id], &ReplayOptions::default()).await?;
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
        let record = self.engine.record().ok_or(ReplayError::NoRecord)?;
        let mut stored = StoredItems::new(record);
        let (mut rows, mut items) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
        for id in ids {
            let item = stored.item(*id, options).await.and_then(|(row, item)| {
                let graders = self.engine.graders();
                let calls = item.tasks().any(|(_, task)| graders.is_remote(task));
                if calls && !options.call_judges {
                    return Err(ReplayError::CallsJudge);
                }
                Ok((row, item))
            });
            let checked = match item {
                Ok((row, item)) => self
                    .engine
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
            share: Arc::clone(self.engine.share()),
            ..Batch::new("replay", items)
        };
        let reply = self.engine.grade_unrecorded(batch).await?;
        let mut grades = reply.grades();
        rows.into_iter()
            .map(|row| match row {
                Ok(row) => Ok(Ok(Replay {
                    recorded: row.grade,
                    replayed: grades.next().ok_or(EngineError::ShuttingDown)?.clone(),
                })),
                Err(error) => Ok(Err(error)),
            })
            .collect()
    }
}
