//! Defines what the rest of the crate needs from a database: applying entries exactly once, and
//! reading a consistent state. SQLite implements it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use assay_core::{BatchId, BoxFuture, GradeId, Hash};
use assay_record::Visit;
use assay_record::channel::ChannelCounts;
use assay_record::chart::Steps;
use assay_record::dataset_check::DatasetCheck;
use assay_record::event::{Adjudication, Draw};
use assay_record::names::UsedNames;
use assay_record::pair::{KnownPairs, PairPage};
use assay_record::retention::{PruneEstimate, PruneFilter, StorageReport};
use assay_record::rollup::Rollups;
use assay_record::store::{GradeFilter, StoreError};
use assay_record::{Body, Claim, GradeRecord, RequestKey};

use crate::loaded_entry::LoadedEntry;
use crate::packs::BadContent;
use crate::retention_step::{Interrupted, PruneTarget, PrunedBatch, RetentionStep, StepOutcome};
use crate::spool::Position;
use crate::totals::RunTotals;

/// The database failed or contains invalid data.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error("{0}")]
    Driver(#[from] sqlx::Error),
    #[error("{table}.{column}: {reason}")]
    Row {
        table: &'static str,
        column: &'static str,
        reason: String,
    },
    /// Whatever is written now would be lost at a restart.
    #[error(
        "the database file `{}` {change} since it was opened; move it back, or restart the node to \
         create a new one from the spool",
        path.display()
    )]
    Replaced { path: PathBuf, change: String },
    #[error("cannot read an entry back from the spool: {0}")]
    Spool(std::io::Error),
    /// The entry can be read but is not what was written.
    #[error("an entry of the spool is damaged: {0}")]
    Damaged(std::io::Error),
    #[error("cannot set an entry aside in the folder of the spool: {0}")]
    SetAside(std::io::Error),
    #[error("cannot sync the log of the database: {0}")]
    Log(std::io::Error),
    #[error(transparent)]
    Content(#[from] BadContent),
    #[error("applying the entries panicked: {0}")]
    Panicked(String),
}

/// Primary result codes of SQLite that are caused by the contents of an entry and not by the state
/// of the database. The list is short on purpose: with any other code the entry stays in the spool
/// and is retried. `SQLITE_ERROR` is the code of an integer overflow but also of a missing table;
/// [`Database::probe`] distinguishes them.
const ENTRY_CODES: [u32; 5] = [
    1,  // SQLITE_ERROR
    18, // SQLITE_TOOBIG
    19, // SQLITE_CONSTRAINT
    20, // SQLITE_MISMATCH
    25, // SQLITE_RANGE
];

/// Primary result codes of SQLite for a file with invalid contents: `SQLITE_CORRUPT` and
/// `SQLITE_NOTADB`.
const DAMAGE_CODES: [u32; 2] = [11, 26];

impl DatabaseError {
    /// The primary result code of SQLite; `None` for other errors.
    fn code(&self) -> Option<u32> {
        match self {
            Self::Driver(sqlx::Error::Database(error)) => {
                let code: u32 = error.code()?.parse().ok()?;
                Some(code & 0xff)
            }
            _ => None,
        }
    }

    /// Whether the database file is damaged.
    pub(crate) fn is_damage(&self) -> bool {
        self.code().is_some_and(|code| DAMAGE_CODES.contains(&code))
    }

    /// Whether the entry itself may be the cause, in which case retrying would never succeed.
    pub(crate) fn may_be_caused_by_entry(&self) -> bool {
        match self {
            Self::Driver(sqlx::Error::Database(_)) => {
                self.code().is_some_and(|code| ENTRY_CODES.contains(&code))
            }
            Self::Driver(
                sqlx::Error::Encode(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. },
            ) => true,
            Self::Row { .. } | Self::Content(_) | Self::Panicked(_) | Self::Damaged(_) => true,
            Self::Driver(_)
            | Self::Replaced { .. }
            | Self::Spool(_)
            | Self::SetAside(_)
            | Self::Log(_) => false,
        }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        match error {
            error if error.is_damage() => Self::Damaged(damage_message(&error)),
            DatabaseError::Driver(error) => Self::Unavailable(format!(
                "the database is unavailable ({error}); check its disk, and whether another \
                 process has locked it"
            )),
            DatabaseError::Spool(_)
            | DatabaseError::Damaged(_)
            | DatabaseError::SetAside(_)
            | DatabaseError::Log(_)
            | DatabaseError::Replaced { .. }
            | DatabaseError::Panicked(_) => Self::Unavailable(error.to_string()),
            other => Self::Inconsistent(other.to_string()),
        }
    }
}

/// The message about a damaged database, for operators.
pub(crate) fn damage_message(error: &DatabaseError) -> String {
    format!(
        "the database is damaged ({error}); stop the node, check the disk and restore the database \
         from a backup (recorded grades that are not in it are kept in the spool)"
    )
}

/// An entry and the position after it.
pub(crate) type Applicable = (Position, Arc<LoadedEntry>);

/// A database to which the entries of the spool are applied.
pub(crate) trait Database: Send + Sync {
    /// Position up to which this spool has been applied.
    fn progress(&self) -> BoxFuture<'_, Result<Position, DatabaseError>>;

    /// Fails with [`DatabaseError::Replaced`] if a restart would not find the database that is
    /// open.
    fn check(&self) -> Result<(), DatabaseError>;

    /// Applies the `entries` after the current progress and moves the progress to `progress`, in
    /// one transaction. Grades whose id is already present change nothing, including sums. Succeeds
    /// only if [`check`](Self::check) succeeds before and after it.
    fn apply<'a>(
        &'a self,
        entries: &'a [Applicable],
        progress: Position,
        now_us: i64,
    ) -> BoxFuture<'a, Result<(), DatabaseError>>;

    /// Applies an entry after newer ones. Grades that are already present are not changed; a claim
    /// of another batch is kept.
    fn apply_late(
        &self,
        loaded: Arc<LoadedEntry>,
        now_us: i64,
    ) -> BoxFuture<'_, Result<(), DatabaseError>>;

    /// Checks that the database accepts an entry that is known to be valid. Has no lasting effect.
    fn probe(&self, now_us: i64) -> BoxFuture<'_, Result<(), DatabaseError>>;

    /// Tries to make everything applied so far survive a power loss; `false` if that is not
    /// possible at the moment, because of a reader. Succeeds only if [`check`](Self::check)
    /// succeeds after it.
    fn checkpoint(&self) -> BoxFuture<'_, Result<bool, DatabaseError>>;

    /// A consistent state that can be read until it is dropped.
    fn snapshot(&self) -> BoxFuture<'_, Result<Box<dyn Snapshot>, DatabaseError>>;

    /// Does one step of retention, of about `amount` rows or pages, in one transaction.
    fn retain<'a>(
        &'a self,
        step: &'a RetentionStep,
        amount: u32,
    ) -> BoxFuture<'a, Result<StepOutcome, DatabaseError>>;

    /// Empties the write-ahead log, unless a reader prevents it.
    fn truncate_log(&self) -> BoxFuture<'_, Result<(), DatabaseError>>;

    /// Bytes of the write-ahead log.
    fn log_bytes(&self) -> u64;

    /// Closes every connection.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A consistent state of the database. It contains every entry at or before `progress` and none
/// after it.
pub(crate) trait Snapshot: Send {
    /// Position up to which this spool is applied in this state.
    fn progress(&self) -> Position;

    /// One grade.
    fn grade(&mut self, id: GradeId) -> BoxFuture<'_, Result<Option<GradeRecord>, DatabaseError>>;

    /// Grades that match the filter, newest id first, with an id below `before`, at most `limit`.
    fn grades<'a>(
        &'a mut self,
        filter: &'a GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<GradeRecord>, DatabaseError>>;

    /// The ids of the stored grades, for those of `batches` that are stored.
    fn present<'a>(
        &'a mut self,
        batches: &'a [BatchId],
    ) -> BoxFuture<'a, Result<HashMap<BatchId, HashSet<GradeId>>, DatabaseError>>;

    /// The runs used last whose names start with `prefix`, at most `limit`, and the `named` ones.
    fn runs<'a>(
        &'a mut self,
        prefix: &'a str,
        limit: u32,
        named: &'a [Arc<str>],
    ) -> BoxFuture<'a, Result<HashMap<Arc<str>, RunTotals>, DatabaseError>>;

    /// Counts for charts of a run, by buckets of `width` steps.
    fn run_steps<'a>(
        &'a mut self,
        run: &'a str,
        width: i64,
    ) -> BoxFuture<'a, Result<Steps, DatabaseError>>;

    /// Sums over the grades of a run.
    fn run_series<'a>(&'a mut self, run: &'a str) -> BoxFuture<'a, Result<Rollups, DatabaseError>>;

    /// A body.
    fn body(&mut self, hash: Hash) -> BoxFuture<'_, Result<Option<Body>, DatabaseError>>;

    /// A claim, however old.
    fn claim<'a>(
        &'a mut self,
        key: &'a RequestKey,
    ) -> BoxFuture<'a, Result<Option<Claim>, DatabaseError>>;

    /// The counts of all channels.
    fn channels(&mut self) -> BoxFuture<'_, Result<ChannelCounts, DatabaseError>>;

    /// All channels that grades use, and all runs.
    fn used_names(&mut self) -> BoxFuture<'_, Result<UsedNames, DatabaseError>>;

    /// Number of prompts of a run that have visits.
    fn prompts<'a>(&'a mut self, run: &'a str) -> BoxFuture<'a, Result<u64, DatabaseError>>;

    /// Adjudications of a grade, in order of time.
    fn adjudications(
        &mut self,
        grade: GradeId,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, DatabaseError>>;

    /// The last adjudications, newest first.
    fn last_adjudications(
        &mut self,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, DatabaseError>>;

    /// Those of `grades` that were drawn for operators.
    fn draws<'a>(
        &'a mut self,
        grades: &'a [GradeId],
    ) -> BoxFuture<'a, Result<Vec<Draw>, DatabaseError>>;

    /// The `pairs` that are stored for a model, and the number of all its pairs.
    fn known_pairs<'a>(
        &'a mut self,
        model: &'a str,
        pairs: &'a [Hash],
    ) -> BoxFuture<'a, Result<KnownPairs, DatabaseError>>;

    /// Pairs of a model whose number is above `after`, in order of arrival. At most `limit`, fewer
    /// if they are long.
    fn pairs<'a>(
        &'a mut self,
        model: &'a str,
        after: u64,
        limit: u32,
    ) -> BoxFuture<'a, Result<PairPage, DatabaseError>>;

    /// Dataset checks with an id below `before`, newest first, at most `limit`.
    fn dataset_checks(
        &mut self,
        before: BatchId,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<DatasetCheck>, DatabaseError>>;

    /// What the database holds, with at most `limit` runs.
    fn storage(&mut self, limit: u32) -> BoxFuture<'_, Result<StorageReport, DatabaseError>>;

    /// Looks up what a filter names.
    fn prune_target<'a>(
        &'a mut self,
        filter: &'a PruneFilter,
    ) -> BoxFuture<'a, Result<PruneTarget, DatabaseError>>;

    /// What a prune would delete.
    fn prune_estimate<'a>(
        &'a mut self,
        target: &'a PruneTarget,
    ) -> BoxFuture<'a, Result<PruneEstimate, DatabaseError>>;

    /// The next batches to delete, by their ids, with an id above `after`, at most `limit`.
    fn next_batches<'a>(
        &'a mut self,
        target: &'a PruneTarget,
        after: BatchId,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<PrunedBatch>, DatabaseError>>;

    /// What an earlier process left unfinished.
    fn interrupted(&mut self) -> BoxFuture<'_, Result<Interrupted, DatabaseError>>;

    /// Visits of a run by prompt, oldest step first, for the named prompts or for all.
    fn visits<'a>(
        &'a mut self,
        run: &'a str,
        prompts: Option<&'a [String]>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, Vec<Visit>>, DatabaseError>>;
}

/// Merges a claim with a `newer` one on the same key: the older reply stays if the newer claim has
/// none and is for the same request and batch.
pub(crate) fn merge_claim(older: Option<Claim>, mut newer: Claim) -> Claim {
    if newer.reply.is_none()
        && let Some(older) = older
        && older.batch == newer.batch
        && older.request == newer.request
    {
        newer.reply = older.reply;
    }
    newer
}
