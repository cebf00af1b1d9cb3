//! Grades stored items again with this binary, from the recorded bodies and without the outcome
//! cache.

mod error;
mod pieces;
mod stored_items;

use std::sync::Arc;

use assay_core::{Fault, GradeId};
use assay_engine::{Allowance, Batch, BatchItem, EngineError};
use assay_record::{ComponentGrade, ItemGrade, Record, StoredGrade};

use crate::Review;

pub(crate) use error::rejected_task;
pub use error::{ReplayError, ReplayOptions};
use pieces::{Piece, Pieces};
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
    /// Why the service failed to grade the item, or a check of it, that it graded before, which
    /// says nothing about the verdict; `None` if it did not fail.
    #[must_use]
    pub fn failure(&self) -> Option<&Fault> {
        let (recorded, replayed) = (&self.recorded, &self.replayed);
        if replayed.outcome == FAILED && recorded.outcome != FAILED {
            return replayed.error.as_ref();
        }
        let failed = self
            .components()
            .find(|(recorded, replayed)| replayed.outcome == FAILED && recorded.outcome != FAILED);
        failed.and_then(|(_, replayed)| replayed.error.as_ref())
    }

    /// Whether outcome, verdict or score of the item or of a component differ. The grader's version
    /// may differ as well.
    #[must_use]
    pub fn flipped(&self) -> bool {
        let (recorded, replayed) = (&self.recorded, &self.replayed);
        let is_same = (&recorded.outcome, &recorded.verdict, recorded.score)
            == (&replayed.outcome, &replayed.verdict, replayed.score);
        self.failure().is_none() && !(is_same && self.changed_components().is_empty())
    }

    /// Names of the components whose outcome, verdict or score differ: checks and nested tasks.
    #[must_use]
    pub fn changed_components(&self) -> Vec<&str> {
        let changed = self.components().filter(|(recorded, replayed)| {
            (&recorded.outcome, &recorded.verdict, recorded.score)
                != (&replayed.outcome, &replayed.verdict, replayed.score)
        });
        changed.map(|(recorded, _)| &*recorded.name).collect()
    }

    /// The components that both have.
    fn components(&self) -> impl Iterator<Item = (&ComponentGrade, &ComponentGrade)> {
        let recorded = self.recorded.components.iter();
        let pairs = recorded.zip(&self.replayed.components);
        pairs.filter(|(recorded, replayed)| recorded.name == replayed.name)
    }
}

/// Outcome of what the service failed to grade.
const FAILED: &str = "failed";

/// A stored grade and its item, or why it cannot be graded again.
type Prepared = Result<(StoredGrade, BatchItem), ReplayError>;

impl Review {
    /// Grades a stored item again. Nothing is recorded.
    ///
    /// # Errors
    /// [`ReplayError`] if the grade or its bodies are missing, or the engine rejects the item.
    pub async fn replay(&self, id: GradeId) -> Result<Replay, ReplayError> {
        let options = ReplayOptions::default();
        let mut replays = self.replay_all(&[id], &options, None).await?;
        replays.pop().unwrap_or(Err(ReplayError::NotFound(id)))
    }

    /// Grades stored items again, in the order of `ids`, with `options` set in their tasks and
    /// within `allowance`. Nothing is recorded. An item that cannot be graded again, because its
    /// bodies were deleted or its task is rejected, does not affect the others.
    ///
    /// # Errors
    /// [`ReplayError`] if the record cannot be read or the engine rejects a batch.
    pub async fn replay_all(
        &self,
        ids: &[GradeId],
        options: &ReplayOptions,
        allowance: Option<Arc<dyn Allowance>>,
    ) -> Result<Vec<Result<Replay, ReplayError>>, ReplayError> {
        let record = self.engine.record().ok_or(ReplayError::NoRecord)?;
        let mut replays = Vec::with_capacity(ids.len());
        let mut pieces = Pieces::new(record, ids);
        while let Some(piece) = pieces.next().await? {
            replays.extend(
                self.replay_piece(record, piece, options, allowance.clone())
                    .await?,
            );
        }
        Ok(replays)
    }

    /// Checks that at least one of these grades can be graded again with `options`.
    ///
    /// # Errors
    /// The [`ReplayError`] of the first grade if none can.
    pub async fn check_replay(
        &self,
        ids: &[GradeId],
        options: &ReplayOptions,
    ) -> Result<(), ReplayError> {
        let record = self.engine.record().ok_or(ReplayError::NoRecord)?;
        let mut first_error = None;
        let mut pieces = Pieces::new(record, ids);
        while let Some(piece) = pieces.next().await? {
            for prepared in self.prepare(record, piece, options).await? {
                match prepared {
                    Ok(_) => return Ok(()),
                    Err(error) => first_error = first_error.or(Some(error)),
                }
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Grades the items of a piece as one batch.
    async fn replay_piece(
        &self,
        record: &Record,
        piece: Piece,
        options: &ReplayOptions,
        allowance: Option<Arc<dyn Allowance>>,
    ) -> Result<Vec<Result<Replay, ReplayError>>, ReplayError> {
        let held = piece.reserve(&self.engine)?;
        let mut items = Vec::with_capacity(piece.ids.len());
        let mut rows = Vec::with_capacity(piece.ids.len());
        for prepared in self.prepare(record, piece, options).await? {
            rows.push(prepared.map(|(row, item)| {
                items.push(item);
                row
            }));
        }
        if items.is_empty() {
            let errors = rows.into_iter().filter_map(Result::err);
            return Ok(errors.map(Err).collect());
        }
        let batch = Batch {
            share: Arc::clone(self.engine.share()),
            held: Some(held),
            allowance,
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

    /// Reads and checks the items of a piece, in its order.
    async fn prepare(
        &self,
        record: &Record,
        piece: Piece,
        options: &ReplayOptions,
    ) -> Result<Vec<Prepared>, ReplayError> {
        let Piece { ids, rows, .. } = piece;
        let stored = StoredItems::with_bodies(record, rows).await?;
        let (engine, options) = (self.engine.clone(), options.clone());
        let prepare = move |id| {
            let (row, item) = stored.item(id, &options)?;
            let calls_judge = item
                .tasks()
                .any(|(_, task)| engine.graders().is_remote(task));
            if calls_judge && !options.call_judges {
                return Err(ReplayError::CallsJudge);
            }
            engine.check(&item)?;
            Ok((row, item))
        };
        let all = move || ids.into_iter().map(prepare).collect();
        Ok(self.engine.on_worker(all).await?)
    }
}
