//! The traits of the record: [`Recorder`] writes durably, [`Reader`] reads what was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::grader::BoxFuture;
use assay_core::{Hash, clock::BatchId, clock::GradeId};
use serde::Serialize;

use crate::Appeal;
use crate::Visit;
use crate::channel::ChannelCounts;
use crate::chart::Steps;
use crate::dataset_check::DatasetCheck;
use crate::event::{Adjudication, Draw};
use crate::names::{DeletedNames, UsedNames};
use crate::pair::{KnownPairs, PairPage};
use crate::retention::{PruneEstimate, PruneFilter, PruneProgress, StorageReport};
use crate::rollup::Rollups;
use crate::{Body, Claim, Entry, GradeRecord, RequestKey};

/// The record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The storage failed or is full.
    #[error("the record is unavailable: {0}")]
    Unavailable(String),
    /// Another operation of its kind is running.
    #[error("{0}")]
    Busy(String),
    /// The storage is damaged, so that retrying is of no use.
    #[error("the record is unavailable: {0}")]
    Damaged(String),
    /// Stored data cannot be decoded.
    #[error("the record is inconsistent: {0}")]
    Inconsistent(String),
}

/// The state of the record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RecordState {
    /// Entries that are recorded but not in the database yet.
    pub pending: u64,
    /// Entries that the database rejected, and damaged parts of the spool; see
    /// [`Reader::set_aside`].
    pub set_aside: u64,
    /// Why entries cannot be applied to the database; `None` if they can. Until they are applied
    /// they are durable and visible.
    pub apply_error: Option<String>,
}

/// A recorded entry that the database rejected because of its contents. It is durable but not
/// visible to reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Name, unique among the entries that are set aside.
    pub name: String,
    /// Id of the batch; `None` if the entry cannot be decoded.
    pub batch: Option<BatchId>,
    /// Number of grades.
    pub grades: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Why it was rejected.
    pub reason: String,
    /// When it was set aside, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// An entry that was retried, and why it was rejected again; `None` if it was applied.
pub type Retried = (SetAside, Option<String>);

/// Writes to the record.
pub trait Recorder: Send + Sync {
    /// Appends `entry`. When this returns `Ok`, the entry survives `kill -9` and power loss, and
    /// every read sees it.
    ///
    /// A grade with an id that is already recorded is not written again, so repeating a batch is
    /// safe.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: the entry may or may not be recorded.
    fn record(&self, entry: Arc<Entry>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Stops accepting entries and writes all accepted ones to the database.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if some cannot be written.
    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Retries the entries that are set aside and returns the result for each. Entries that are
    /// applied are removed from those set aside.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if they cannot be listed.
    fn apply_set_aside(&self) -> BoxFuture<'_, Result<Vec<Retried>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Starts to delete what the filter matches, and returns the progress at the start. The
    /// deletion continues in the background; [`Reader::storage`] has its progress. Batches that
    /// arrive later are not deleted.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the store cannot delete, or another prune waits.
    fn prune(&self, filter: PruneFilter) -> BoxFuture<'_, Result<PruneProgress, StoreError>> {
        drop(filter);
        Box::pin(async { Err(cannot_prune()) })
    }
}

fn cannot_prune() -> StoreError {
    StoreError::Unavailable("this store deletes nothing".to_owned())
}

/// Which grades to list. A field that is `None` does not restrict the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GradeFilter {
    /// Exact name of the run.
    pub run: Option<String>,
    /// Exact step.
    pub step: Option<i64>,
    /// Exact name of the grader.
    pub grader: Option<String>,
    /// Exact channel.
    pub channel: Option<String>,
    /// Exact outcome: `graded`, `ungradable` or `failed`.
    pub outcome: Option<String>,
    /// Exact verdict.
    pub verdict: Option<String>,
    /// Result of the appeal: `overturned`, `upheld`, `disagreed` or `unjudged`.
    pub appeal: Option<String>,
    /// Exact batch.
    pub batch: Option<assay_core::clock::BatchId>,
    /// Exact name of the caller.
    pub caller: Option<String>,
    /// Exact id of the item, as sent.
    pub item: Option<String>,
    /// Exact group, as sent.
    pub group: Option<String>,
    /// Smallest score, inclusive.
    pub score_min: Option<f64>,
    /// Largest score, inclusive.
    pub score_max: Option<f64>,
    /// Earliest time, inclusive, in microseconds since the Unix epoch.
    pub since_us: Option<i64>,
    /// Latest time, exclusive, in microseconds since the Unix epoch.
    pub until_us: Option<i64>,
}

impl GradeFilter {
    /// Whether `grade` matches the filter. Tests compare every database query with this definition.
    #[must_use]
    pub fn keeps(&self, grade: &GradeRecord) -> bool {
        fn matches<T: PartialEq>(expected: Option<&T>, actual: Option<&T>) -> bool {
            expected.is_none_or(|expected| Some(expected) == actual)
        }
        self.run
            .as_deref()
            .is_none_or(|run| grade.run.as_deref() == Some(run))
            && matches(self.step.as_ref(), grade.step.as_ref())
            && matches(self.grader.as_ref(), Some(&grade.grader))
            && matches(self.channel.as_ref(), Some(&grade.channel))
            && matches(self.outcome.as_ref(), Some(&grade.outcome))
            && matches(self.verdict.as_ref(), grade.verdict.as_ref())
            && self
                .appeal
                .as_deref()
                .is_none_or(|result| grade.appeal.as_ref().map(Appeal::as_str) == Some(result))
            && matches(self.batch.as_ref(), Some(&grade.batch))
            && self
                .caller
                .as_deref()
                .is_none_or(|caller| *grade.caller == *caller)
            && matches(self.item.as_ref(), grade.item.as_ref())
            && matches(self.group.as_ref(), grade.group.as_ref())
            && self
                .score_min
                .is_none_or(|min| grade.score.is_some_and(|score| score >= min))
            && self
                .score_max
                .is_none_or(|max| grade.score.is_some_and(|score| score <= max))
            && self.since_us.is_none_or(|since| grade.time_us >= since)
            && self.until_us.is_none_or(|until| grade.time_us < until)
    }
}

/// A page of grades, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct GradePage {
    /// The grades.
    pub grades: Vec<GradeRecord>,
    /// Cursor of the next page: pass it as `before`. `None` on the last page.
    pub next: Option<GradeId>,
}

/// A summary of the grades of a training run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Name of the run.
    pub run: String,
    /// Number of grades.
    pub grades: u64,
    /// Items that were graded.
    pub graded: u64,
    /// Items that were ungradable.
    pub ungradable: u64,
    /// Items that failed.
    pub failed: u64,
    /// Graded items that passed.
    pub passed: u64,
    /// Mean score of graded items; `None` without one.
    pub mean_score: Option<f64>,
    /// Highest step.
    pub last_step: Option<i64>,
    /// Time of the first grade, in microseconds since the Unix epoch.
    pub first_us: i64,
    /// Time of the last grade, in microseconds since the Unix epoch.
    pub last_us: i64,
}

/// Reads the record. Every read sees all entries for which [`Recorder::record`] returned, whether
/// they have reached the database or not.
pub trait Reader: Send + Sync {
    /// Returns one grade.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn grade(&self, id: GradeId) -> BoxFuture<'_, Result<Option<GradeRecord>, StoreError>>;

    /// Returns at most `limit` grades that match the filter and have an id below `before`, newest
    /// id first.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn grades<'a>(
        &'a self,
        filter: &'a GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> BoxFuture<'a, Result<GradePage, StoreError>>;

    /// Returns at most `limit` runs, the most recently used first.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn runs(&self, limit: u32) -> BoxFuture<'_, Result<Vec<RunSummary>, StoreError>>;

    /// Returns at most `limit` runs of a caller, the most recently used first. Their names have the
    /// prefix of the caller; see [`recorded_run`](crate::access::recorded_run).
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn runs_of<'a>(
        &'a self,
        caller: &'a str,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<RunSummary>, StoreError>>;

    /// Returns the summary of one run; `None` if it has no grades.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<RunSummary>, StoreError>>;

    /// Returns the counts of a run by buckets of `width` steps, at least 1; see
    /// [`bucket`](crate::chart::bucket). Empty for an unknown run.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn run_steps<'a>(
        &'a self,
        run: &'a str,
        width: i64,
    ) -> BoxFuture<'a, Result<Steps, StoreError>>;

    /// Returns sums over the grades of a run by step, grader, outcome and verdict. Empty for an
    /// unknown run.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn run_series<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Rollups, StoreError>>;

    /// Returns a body by its hash.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn body(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Body>, StoreError>>;

    /// Returns the claim of an idempotency key if it is less than a day old.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn claim<'a>(&'a self, key: &'a RequestKey)
    -> BoxFuture<'a, Result<Option<Claim>, StoreError>>;

    /// Returns all counts of channels.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn channels(&self) -> BoxFuture<'_, Result<ChannelCounts, StoreError>>;

    /// Returns the channels and runs of all grades.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn used_names(&self) -> BoxFuture<'_, Result<UsedNames, StoreError>>;

    /// Takes the names that retention deleted since this was called last.
    fn take_deleted_names(&self) -> DeletedNames;

    /// Returns an upper bound of the number of prompts of a run that have visits: it counts each
    /// grade that is not in the database yet as a prompt.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn prompts<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Returns the visits of a run by prompt, oldest step first: of these prompts, or of all.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn visits<'a>(
        &'a self,
        run: &'a str,
        prompts: Option<&'a [String]>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, Vec<Visit>>, StoreError>>;

    /// Returns the adjudications of a grade in order of time.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn adjudications(&self, grade: GradeId)
    -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>>;

    /// Returns the most recent adjudications of all grades, newest first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn last_adjudications(
        &self,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>>;

    /// Returns the draws of those of `grades` that were drawn for operators.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn draws<'a>(&'a self, grades: &'a [GradeId]) -> BoxFuture<'a, Result<Vec<Draw>, StoreError>>;

    /// Returns which of `pairs` were collected for a model, and the number of its pairs.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn known_pairs<'a>(
        &'a self,
        model: &'a str,
        pairs: &'a [Hash],
    ) -> BoxFuture<'a, Result<KnownPairs, StoreError>>;

    /// Returns at most `limit` pairs of a model with a number above `after`, in order of arrival.
    /// Pairs get their number when they reach the database. This method waits until the pairs that
    /// were recorded before have a number, so that no later pair gets a lower one.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn pairs<'a>(
        &'a self,
        model: &'a str,
        after: u64,
        limit: u32,
    ) -> BoxFuture<'a, Result<PairPage, StoreError>>;

    /// Returns at most `limit` dataset checks with an id below `before`, newest first.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn dataset_checks(
        &self,
        before: Option<BatchId>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<DatasetCheck>, StoreError>>;

    /// Returns one dataset check.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn dataset_check(&self, id: BatchId)
    -> BoxFuture<'_, Result<Option<DatasetCheck>, StoreError>>;

    /// Checks that grades can be recorded and read.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn ready(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns what a prune with this filter would delete now.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn prune_estimate<'a>(
        &'a self,
        filter: &'a PruneFilter,
    ) -> BoxFuture<'a, Result<PruneEstimate, StoreError>> {
        let _ = filter;
        Box::pin(async { Err(cannot_prune()) })
    }

    /// Returns the size and contents of the record, with at most `limit` runs.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn storage(&self, limit: u32) -> BoxFuture<'_, Result<StorageReport, StoreError>> {
        let _ = limit;
        Box::pin(async { Ok(StorageReport::default()) })
    }

    /// Returns the state of the record.
    fn state(&self) -> RecordState {
        RecordState::default()
    }

    /// Returns the entries that are set aside, in the order they were recorded.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn set_aside(&self) -> BoxFuture<'_, Result<Vec<SetAside>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// A record that can be written and read.
pub trait Store: Recorder + Reader {}

impl<S: Recorder + Reader> Store for S {}
