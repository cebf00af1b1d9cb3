//! The record's two sides: writing that is durable before it answers, and reading what was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::Visit;
use crate::channel::{Adjudication, Appeal, ChannelCounts, Draw};
use crate::chart::Steps;
use crate::check::DatasetCheck;
use crate::grader::BoxFuture;
use crate::pair::{KnownPairs, PairPage};
use crate::record::{Body, Claim, Entry, GradeRecord, RequestKey};
use crate::rollup::Rollups;
use crate::{Hash, clock::BatchId, clock::GradeId};

/// The record cannot be read or written now.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The medium failed or is full.
    #[error("the record is unavailable: {0}")]
    Unavailable(String),
    /// What was read does not fit its type.
    #[error("the record is inconsistent: {0}")]
    Inconsistent(String),
}

/// The state of the record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RecordState {
    /// Entries that are recorded but not in the database yet.
    pub pending: u64,
    /// Entries that the database rejected; see [`Reader::set_aside`].
    pub set_aside: u64,
    /// Why entries cannot be applied to the database; `None` if they can. Until they are applied
    /// they are durable and visible.
    pub apply_error: Option<String>,
}

/// A recorded entry that the database rejected because of its contents. It is durable but not
/// visible to reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Its name, unique among the entries set aside.
    pub name: String,
    /// Its batch; `None` if the entry cannot be decoded.
    pub batch: Option<BatchId>,
    /// Number of its grades.
    pub grades: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Why it was rejected.
    pub reason: String,
    /// When it was set aside, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// An entry that was retried, and why it was rejected again; `None` if it was applied.
pub type Retried = (SetAside, Option<String>);

/// The durable side.
pub trait Recorder: Send + Sync {
    /// Appends `entry`. Once this answers `Ok`, the entry survives `kill -9` and power loss, and
    /// every read sees it.
    ///
    /// Appending a grade whose id is already there changes nothing: sent again, a batch is not
    /// written twice.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: nothing of the entry may be relied on.
    fn record(&self, entry: Arc<Entry>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Stops taking entries and brings all taken ones into the database.
    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Retries the entries that are set aside and returns the result for each. Entries that are
    /// applied are removed from those set aside.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if they cannot be listed.
    fn apply_set_aside(&self) -> BoxFuture<'_, Result<Vec<Retried>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// Which grades to list. Every field narrows; `None` does not.
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
    /// Exact outcome word.
    pub outcome: Option<String>,
    /// Exact verdict.
    pub verdict: Option<String>,
    /// What became of its appeal: `overturned`, `upheld`, `disagreed` or `unjudged`.
    pub appeal: Option<String>,
    /// Exact batch.
    pub batch: Option<crate::clock::BatchId>,
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
    /// Whether `grade` is one of those the filter keeps: the definition every database query is
    /// held to.
    #[must_use]
    pub fn keeps(&self, grade: &GradeRecord) -> bool {
        fn same<T: PartialEq>(wanted: Option<&T>, got: Option<&T>) -> bool {
            wanted.is_none_or(|wanted| Some(wanted) == got)
        }
        self.run
            .as_deref()
            .is_none_or(|run| grade.run.as_deref() == Some(run))
            && same(self.step.as_ref(), grade.step.as_ref())
            && same(self.grader.as_ref(), Some(&grade.grader))
            && same(self.channel.as_ref(), Some(&grade.channel))
            && same(self.outcome.as_ref(), Some(&grade.outcome))
            && same(self.verdict.as_ref(), grade.verdict.as_ref())
            && self
                .appeal
                .as_deref()
                .is_none_or(|word| grade.appeal.as_ref().map(Appeal::word) == Some(word))
            && same(self.batch.as_ref(), Some(&grade.batch))
            && same(self.item.as_ref(), grade.item.as_ref())
            && same(self.group.as_ref(), grade.group.as_ref())
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
    /// The rows.
    pub grades: Vec<GradeRecord>,
    /// Where the next page starts: pass it as `before`. `None` on the last page.
    pub next: Option<GradeId>,
}

/// One training run, summed up over its grades.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Name of the run.
    pub run: String,
    /// Grades of all steps.
    pub grades: u64,
    /// Of those, graded.
    pub graded: u64,
    /// Of those, ungradable.
    pub ungradable: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Of the graded, passed.
    pub passed: u64,
    /// Mean score of the graded; `None` without any.
    pub mean_score: Option<f64>,
    /// Highest step seen.
    pub last_step: Option<i64>,
    /// First grade, in microseconds since the Unix epoch.
    pub first_us: i64,
    /// Last grade, in microseconds since the Unix epoch.
    pub last_us: i64,
}

/// The reading side. Every read sees all that [`Recorder::record`] answered for, whether it has
/// reached the database or not.
pub trait Reader: Send + Sync {
    /// One grade.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn grade(&self, id: GradeId) -> BoxFuture<'_, Result<Option<GradeRecord>, StoreError>>;

    /// Grades the filter keeps, newest id first, those below `before`, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn grades<'a>(
        &'a self,
        filter: &'a GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> BoxFuture<'a, Result<GradePage, StoreError>>;

    /// Runs, the last used first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn runs(&self, limit: u32) -> BoxFuture<'_, Result<Vec<RunSummary>, StoreError>>;

    /// One run summed up; `None` without a grade.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<RunSummary>, StoreError>>;

    /// What is counted of a run, by buckets of `width` steps, at least 1; see
    /// [`bucket`](crate::chart::bucket). Of an unknown run nothing.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn run_steps<'a>(
        &'a self,
        run: &'a str,
        width: i64,
    ) -> BoxFuture<'a, Result<Steps, StoreError>>;

    /// Sums over the grades of a run, by step, grader, outcome and verdict. Of an unknown run there
    /// are none.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn run_series<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Rollups, StoreError>>;

    /// A body by its name.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn body(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Body>, StoreError>>;

    /// The claim under an idempotency key, if it is younger than a day.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn claim<'a>(&'a self, key: &'a RequestKey)
    -> BoxFuture<'a, Result<Option<Claim>, StoreError>>;

    /// Everything counted of channels.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn channels(&self) -> BoxFuture<'_, Result<ChannelCounts, StoreError>>;

    /// Visits of a run by prompt, oldest step first: of the prompts named, or of all.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn visits<'a>(
        &'a self,
        run: &'a str,
        prompts: Option<&'a [String]>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, Vec<Visit>>, StoreError>>;

    /// What operators said of a grade, in order of time.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn adjudications(&self, grade: GradeId)
    -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>>;

    /// What operators said last of any grade, the newest word first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn last_adjudications(
        &self,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>>;

    /// Those of `grades` that were drawn for operators.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn draws<'a>(&'a self, grades: &'a [GradeId]) -> BoxFuture<'a, Result<Vec<Draw>, StoreError>>;

    /// Which of `pairs` were collected for a model, and how many were in all.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn known_pairs<'a>(
        &'a self,
        model: &'a str,
        pairs: &'a [Hash],
    ) -> BoxFuture<'a, Result<KnownPairs, StoreError>>;

    /// Pairs of a model in the order of arrival, those with a number above `after`, at most
    /// `limit`. A number is given when the pair reaches the database, so this waits until those
    /// that were recorded before have reached it: no later pair gets a lower number.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn pairs<'a>(
        &'a self,
        model: &'a str,
        after: u64,
        limit: u32,
    ) -> BoxFuture<'a, Result<PairPage, StoreError>>;

    /// Checks of datasets with an id below `before`, the newest first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn dataset_checks(
        &self,
        before: Option<BatchId>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<DatasetCheck>, StoreError>>;

    /// One check of datasets.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn dataset_check(&self, id: BatchId)
    -> BoxFuture<'_, Result<Option<DatasetCheck>, StoreError>>;

    /// Checks that grades can be recorded and read; the error has the reason if not.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn ready(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The state of the record.
    fn state(&self) -> RecordState {
        RecordState::default()
    }

    /// The entries that are set aside, in the order they were recorded.
    ///
    /// # Errors
    /// [`StoreError`], as all reads.
    fn set_aside(&self) -> BoxFuture<'_, Result<Vec<SetAside>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// Both sides in one.
pub trait Store: Recorder + Reader {}

impl<S: Recorder + Reader> Store for S {}
