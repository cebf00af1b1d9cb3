//! The parts of a prune that the database does: what to delete, as numbers of its rows, and steps
//! that each fit in a short transaction.

use std::sync::Arc;

use assay_core::BatchId;

use crate::names::DeletedNames;
use crate::storage::ChannelFilter;

/// What a filter matches, with names replaced by numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PruneTarget {
    /// Only these runs; `None` for all.
    pub(crate) runs: Option<Vec<i64>>,
    /// None of these runs.
    pub(crate) keep: Vec<i64>,
    /// Names of runs to keep that do not exist.
    pub(crate) unknown: Vec<String>,
    /// Only this caller.
    pub(crate) caller: Option<String>,
    /// Only batches whose last grade is older.
    pub(crate) before_us: Option<i64>,
    /// Only batches with at most this number: those that existed at the start.
    pub(crate) up_to: i64,
    /// Only bodies, and only of batches that have some.
    pub(crate) bodies_only: bool,
    /// Only these channels, and no batches.
    pub(crate) channels: Option<ChannelFilter>,
}

/// A batch to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrunedBatch {
    pub(crate) number: i64,
    pub(crate) id: BatchId,
    /// Its run, or 0.
    pub(crate) run: i64,
    /// Bytes of what is deleted of it.
    pub(crate) bytes: u64,
}

/// What was left unfinished when a node ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Interrupted {
    /// Some numbers of batches whose grades were being deleted.
    pub(crate) batches: Vec<i64>,
    /// Whether runs were being deleted.
    pub(crate) runs: bool,
    /// Whether rows of deleted bodies were being removed.
    pub(crate) sweep: bool,
}

/// A step of retention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RetentionStep {
    /// Count some batches of an earlier release.
    Count,
    /// Mark the bodies of batches as deleted.
    Bodies(Arc<[i64]>),
    /// Delete some grades of batches, and batches without grades.
    Grades(Arc<[i64]>),
    /// Delete some bodies of deleted batches, except those that other batches use.
    Sweep,
    /// Take a run out of the lists, if it has no batches.
    BeginRun(i64),
    /// Delete some sums of runs that were taken out of the lists.
    Runs,
    /// Delete some of these channels.
    Channels(ChannelFilter),
    /// Return some free pages to the file system.
    Vacuum,
}

/// The result of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StepOutcome {
    /// Whether nothing is left to do for the same step.
    pub(crate) done: bool,
    /// Batches of which bodies or grades were deleted.
    pub(crate) batches: u64,
    pub(crate) grades: u64,
    /// Bytes of packs that were deleted, less those of packs that were added.
    pub(crate) body_bytes: i64,
    pub(crate) runs: u64,
    pub(crate) channels: u64,
    /// Names that are free again.
    pub(crate) names: DeletedNames,
}

impl StepOutcome {
    pub(crate) const DONE: Self = Self::empty(true);
    pub(crate) const MORE: Self = Self::empty(false);

    const fn empty(done: bool) -> Self {
        Self {
            done,
            batches: 0,
            grades: 0,
            body_bytes: 0,
            runs: 0,
            channels: 0,
            names: DeletedNames {
                channels: Vec::new(),
                runs: Vec::new(),
            },
        }
    }
}
