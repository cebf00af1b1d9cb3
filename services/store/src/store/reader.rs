//! Reads of the store: each waits for entries if it must see them in the database, and asks the
//! sources.

use std::collections::BTreeMap;

use assay_core::{BatchId, BoxFuture, GradeId, Hash};
use assay_record::Visit;
use assay_record::access::recorded_run;
use assay_record::channel::ChannelCounts;
use assay_record::chart::Steps;
use assay_record::dataset_check::DatasetCheck;
use assay_record::event::{Adjudication, Draw};
use assay_record::names::{DeletedNames, UsedNames};
use assay_record::pair::{KnownPairs, PairPage};
use assay_record::retention::{PruneEstimate, PruneFilter, StorageReport};
use assay_record::rollup::Rollups;
use assay_record::store::{
    GradeFilter, GradePage, Reader, RecordState, RunSummary, SetAside, StoreError,
};
use assay_record::{Body, Claim, GradeRecord, RequestKey};

use super::{DurableStore, blocking};
use crate::CLAIM_LIFETIME_US;

impl DurableStore {
    fn read<'r, T: 'r>(
        &'r self,
        read: impl Future<Output = Result<T, StoreError>> + Send + 'r,
    ) -> BoxFuture<'r, Result<T, StoreError>> {
        Box::pin(self.noting_damage(read))
    }
}

impl Reader for DurableStore {
    fn grade(&self, id: GradeId) -> BoxFuture<'_, Result<Option<GradeRecord>, StoreError>> {
        self.read(async move { self.sources().grade(id).await })
    }

    fn grades<'a>(
        &'a self,
        filter: &'a GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> BoxFuture<'a, Result<GradePage, StoreError>> {
        self.read(async move { self.sources().grades(filter, before, limit).await })
    }

    fn runs(&self, limit: u32) -> BoxFuture<'_, Result<Vec<RunSummary>, StoreError>> {
        self.read(async move { self.sources().runs("", limit).await })
    }

    fn runs_of<'a>(
        &'a self,
        caller: &'a str,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<RunSummary>, StoreError>> {
        let prefix = recorded_run(caller, "");
        self.read(async move { self.sources().runs(&prefix, limit).await })
    }

    fn run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<RunSummary>, StoreError>> {
        self.read(async move { self.sources().run(run).await })
    }

    fn run_steps<'a>(
        &'a self,
        run: &'a str,
        width: i64,
    ) -> BoxFuture<'a, Result<Steps, StoreError>> {
        self.read(async move { self.sources().run_steps(run, width.max(1)).await })
    }

    fn run_series<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Rollups, StoreError>> {
        self.read(async move { self.sources().run_series(run).await })
    }

    fn body(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Body>, StoreError>> {
        self.read(async move { self.sources().body(hash).await })
    }

    fn claim<'a>(
        &'a self,
        key: &'a RequestKey,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>> {
        self.read(async move {
            let oldest = self.clock.unix_us().saturating_sub(CLAIM_LIFETIME_US);
            let claim = self.sources().claim(key).await?;
            Ok(claim.filter(|claim| claim.time_us > oldest))
        })
    }

    fn channels(&self) -> BoxFuture<'_, Result<ChannelCounts, StoreError>> {
        self.read(async move { self.sources().channels().await })
    }

    fn used_names(&self) -> BoxFuture<'_, Result<UsedNames, StoreError>> {
        self.read(async move { self.sources().used_names().await })
    }

    fn take_deleted_names(&self) -> DeletedNames {
        self.retention.take_deleted_names()
    }

    fn prompts<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.read(async move { self.sources().prompts(run).await })
    }

    fn visits<'a>(
        &'a self,
        run: &'a str,
        prompts: Option<&'a [String]>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, Vec<Visit>>, StoreError>> {
        self.read(async move { self.sources().visits(run, prompts).await })
    }

    fn adjudications(
        &self,
        grade: GradeId,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>> {
        self.read(async move { self.sources().adjudications(grade).await })
    }

    fn last_adjudications(
        &self,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>> {
        self.read(async move { self.sources().last_adjudications(limit).await })
    }

    fn draws<'a>(&'a self, grades: &'a [GradeId]) -> BoxFuture<'a, Result<Vec<Draw>, StoreError>> {
        self.read(async move { self.sources().draws(grades).await })
    }

    fn known_pairs<'a>(
        &'a self,
        model: &'a str,
        pairs: &'a [Hash],
    ) -> BoxFuture<'a, Result<KnownPairs, StoreError>> {
        self.read(async move { self.sources().known_pairs(model, pairs).await })
    }

    fn pairs<'a>(
        &'a self,
        model: &'a str,
        after: u64,
        limit: u32,
    ) -> BoxFuture<'a, Result<PairPage, StoreError>> {
        self.read(async move { self.sources().pairs(model, after, limit).await })
    }

    fn dataset_checks(
        &self,
        before: Option<BatchId>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<DatasetCheck>, StoreError>> {
        self.read(async move { self.sources().dataset_checks(before, limit).await })
    }

    fn dataset_check(
        &self,
        id: BatchId,
    ) -> BoxFuture<'_, Result<Option<DatasetCheck>, StoreError>> {
        self.read(async move { self.sources().dataset_check(id).await })
    }

    fn prune_estimate<'a>(
        &'a self,
        filter: &'a PruneFilter,
    ) -> BoxFuture<'a, Result<PruneEstimate, StoreError>> {
        self.read(async move {
            self.wait_applied().await?;
            let mut snapshot = self.database.snapshot().await?;
            let target = snapshot.prune_target(filter).await?;
            Ok(snapshot.prune_estimate(&target).await?)
        })
    }

    fn storage(&self, limit: u32) -> BoxFuture<'_, Result<StorageReport, StoreError>> {
        self.read(async move {
            let report = self.database.snapshot().await?.storage(limit).await?;
            let folder = self.folder.clone();
            let spool_bytes = match folder {
                Some(folder) => blocking(move || folder.bytes()).await,
                None => 0,
            };
            Ok(self.retention.complete(StorageReport {
                log_bytes: self.database.log_bytes(),
                spool_bytes,
                ..report
            }))
        })
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.check())
    }

    fn state(&self) -> RecordState {
        RecordState {
            pending: self.pending.len() as u64,
            set_aside: self.health.set_aside(),
            apply_error: self.health.apply_error(),
        }
    }

    fn set_aside(&self) -> BoxFuture<'_, Result<Vec<SetAside>, StoreError>> {
        Box::pin(self.list_set_aside())
    }
}
