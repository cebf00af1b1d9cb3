//! The record as one caller sees it: only what it recorded itself, with the names that it gave its
//! runs. What belongs to others does not exist for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::grader::BoxFuture;
use assay_core::{BatchId, GradeId, Hash};
use assay_record::access::{own_run, recorded_run};
use assay_record::channel::ChannelCounts;
use assay_record::chart::Steps;
use assay_record::dataset_check::DatasetCheck;
use assay_record::event::{Adjudication, Draw};
use assay_record::names::{DeletedNames, UsedNames};
use assay_record::pair::{KnownPairs, PairPage};
use assay_record::rollup::Rollups;
use assay_record::store::{
    GradeFilter, GradePage, Reader, RecordState, Recorder, RunSummary, Store, StoreError,
};
use assay_record::{Body, Claim, Entry, GradeRecord, RequestKey, Visit};

/// The record as `caller` sees it.
///
/// Bodies are not restricted: they are found only by hashes, which come from grades. Neither are
/// counts of channels, from which rewards are computed, nor dataset checks.
pub(crate) struct ScopedStore {
    inner: Arc<dyn Store>,
    caller: Arc<str>,
}

impl ScopedStore {
    pub(crate) fn new(inner: Arc<dyn Store>, caller: Arc<str>) -> Self {
        Self { inner, caller }
    }

    fn recorded(&self, run: &str) -> String {
        recorded_run(&self.caller, run)
    }

    /// The run under the name that its caller gave it; `None` if it belongs to another caller.
    fn own(&self, recorded: &str) -> Option<String> {
        own_run(&self.caller, recorded).map(str::to_owned)
    }

    fn own_grade(&self, grade: GradeRecord) -> Option<GradeRecord> {
        (*grade.caller == *self.caller).then(|| GradeRecord {
            run: grade
                .run
                .as_deref()
                .and_then(|run| self.own(run))
                .map(Into::into),
            ..grade
        })
    }

    fn own_summary(&self, mut summary: RunSummary) -> Option<RunSummary> {
        summary.run = self.own(&summary.run)?;
        Some(summary)
    }
}

impl Recorder for ScopedStore {
    fn record(&self, entry: Arc<Entry>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.record(entry)
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.close()
    }
}

impl Reader for ScopedStore {
    // The limits on names need those of all callers.
    fn used_names(&self) -> BoxFuture<'_, Result<UsedNames, StoreError>> {
        self.inner.used_names()
    }

    fn take_deleted_names(&self) -> DeletedNames {
        self.inner.take_deleted_names()
    }

    fn prompts<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.inner.prompts(run)
    }

    fn grade(&self, id: GradeId) -> BoxFuture<'_, Result<Option<GradeRecord>, StoreError>> {
        Box::pin(async move {
            let grade = self.inner.grade(id).await?;
            Ok(grade.and_then(|grade| self.own_grade(grade)))
        })
    }

    fn grades<'a>(
        &'a self,
        filter: &'a GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> BoxFuture<'a, Result<GradePage, StoreError>> {
        Box::pin(async move {
            let other = filter.caller.as_ref();
            if other.is_some_and(|caller| **caller != *self.caller) {
                return Ok(GradePage {
                    grades: Vec::new(),
                    next: None,
                });
            }
            let filter = GradeFilter {
                caller: Some(self.caller.to_string()),
                run: filter.run.as_deref().map(|run| self.recorded(run)),
                ..filter.clone()
            };
            let page = self.inner.grades(&filter, before, limit).await?;
            let grades = page.grades.into_iter();
            Ok(GradePage {
                grades: grades.filter_map(|grade| self.own_grade(grade)).collect(),
                ..page
            })
        })
    }

    fn runs(&self, limit: u32) -> BoxFuture<'_, Result<Vec<RunSummary>, StoreError>> {
        Box::pin(async move {
            let runs = self.inner.runs_of(&self.caller, limit).await?;
            let own = runs.into_iter().filter_map(|run| self.own_summary(run));
            Ok(own.collect())
        })
    }

    fn runs_of<'a>(
        &'a self,
        caller: &'a str,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<RunSummary>, StoreError>> {
        if *caller == *self.caller {
            self.runs(limit)
        } else {
            Box::pin(async { Ok(Vec::new()) })
        }
    }

    fn run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<RunSummary>, StoreError>> {
        Box::pin(async move {
            let summary = self.inner.run(&self.recorded(run)).await?;
            Ok(summary.and_then(|summary| self.own_summary(summary)))
        })
    }

    fn run_steps<'a>(
        &'a self,
        run: &'a str,
        width: i64,
    ) -> BoxFuture<'a, Result<Steps, StoreError>> {
        Box::pin(async move { self.inner.run_steps(&self.recorded(run), width).await })
    }

    fn run_series<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Rollups, StoreError>> {
        Box::pin(async move { self.inner.run_series(&self.recorded(run)).await })
    }

    fn body(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Body>, StoreError>> {
        self.inner.body(hash)
    }

    fn claim<'a>(
        &'a self,
        key: &'a RequestKey,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>> {
        self.inner.claim(key)
    }

    fn channels(&self) -> BoxFuture<'_, Result<ChannelCounts, StoreError>> {
        self.inner.channels()
    }

    fn visits<'a>(
        &'a self,
        run: &'a str,
        prompts: Option<&'a [String]>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, Vec<Visit>>, StoreError>> {
        Box::pin(async move { self.inner.visits(&self.recorded(run), prompts).await })
    }

    fn adjudications(
        &self,
        grade: GradeId,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>> {
        Box::pin(async move {
            match self.grade(grade).await? {
                Some(_) => self.inner.adjudications(grade).await,
                None => Ok(Vec::new()),
            }
        })
    }

    // The routes and pages that use the rest require a role that sees all, for which there is no
    // scope.

    fn last_adjudications(&self, _: u32) -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn draws<'a>(&'a self, _: &'a [GradeId]) -> BoxFuture<'a, Result<Vec<Draw>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn known_pairs<'a>(
        &'a self,
        _: &'a str,
        _: &'a [Hash],
    ) -> BoxFuture<'a, Result<KnownPairs, StoreError>> {
        Box::pin(async { Ok(KnownPairs::default()) })
    }

    fn pairs<'a>(
        &'a self,
        _: &'a str,
        _: u64,
        _: u32,
    ) -> BoxFuture<'a, Result<PairPage, StoreError>> {
        Box::pin(async { Ok(PairPage::default()) })
    }

    fn dataset_checks(
        &self,
        before: Option<BatchId>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<DatasetCheck>, StoreError>> {
        self.inner.dataset_checks(before, limit)
    }

    fn dataset_check(
        &self,
        id: BatchId,
    ) -> BoxFuture<'_, Result<Option<DatasetCheck>, StoreError>> {
        self.inner.dataset_check(id)
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.ready()
    }

    fn state(&self) -> RecordState {
        self.inner.state()
    }
}
