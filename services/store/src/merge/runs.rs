//! Reads of runs: their totals, and the sums and counts of their steps, including pending entries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_record::chart::{Steps, bucket};
use assay_record::rollup::{RollupKey, Rollups};
use assay_record::store::{RunSummary, StoreError};

use super::{LOOKUP, Sources, batches, by_batch, new_grades, new_grades_by_entry};
use crate::pending::Digest;
use crate::totals::RunTotals;

impl Sources<'_> {
    pub(crate) async fn run(&self, run: &str) -> Result<Option<RunSummary>, StoreError> {
        let of_run =
            |digest: &Digest| digest.run.as_deref() == Some(run) && digest.totals.grades > 0;
        let totals = self.totals(of_run, "", 0, &[run.into()]).await?;
        Ok(totals.get(run).and_then(|totals| totals.summary(run)))
    }

    /// The runs used last whose names start with `prefix`.
    pub(crate) async fn runs(
        &self,
        prefix: &str,
        limit: u32,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let of_prefix = |digest: &Digest| {
            let run = digest.run.as_deref();
            run.is_some_and(|run| run.starts_with(prefix)) && digest.totals.grades > 0
        };
        let runs = self.totals(of_prefix, prefix, limit, &[]).await?;
        let mut summaries: Vec<RunSummary> = runs
            .iter()
            .filter_map(|(run, totals)| totals.summary(run))
            .collect();
        // The sort is stable: runs that were last used at the same time are sorted by name.
        summaries.sort_by_key(|summary| std::cmp::Reverse(summary.last_us));
        summaries.truncate(limit as usize);
        Ok(summaries)
    }

    /// Totals of the runs used last, at most `limit` whose names start with `prefix`, of the
    /// `named` ones, and of those that have pending entries whose digest passes.
    async fn totals(
        &self,
        passes: impl Fn(&Digest) -> bool,
        prefix: &str,
        limit: u32,
        named: &[Arc<str>],
    ) -> Result<BTreeMap<Arc<str>, RunTotals>, StoreError> {
        let (pending, mut snapshot) = self.view(passes).await?;
        let pending_runs = pending.iter().filter_map(|entry| entry.digest.run.clone());
        let named: BTreeSet<Arc<str>> = pending_runs.chain(named.iter().cloned()).collect();
        let named: Vec<Arc<str>> = named.into_iter().collect();
        let mut runs: BTreeMap<Arc<str>, RunTotals> = snapshot
            .runs(prefix, limit, &named)
            .await?
            .into_iter()
            .collect();
        let groups = by_batch(pending);
        for chunk in groups.chunks(LOOKUP) {
            let present = snapshot.present(&batches(chunk)).await?;
            for group in chunk {
                let [first, ..] = group.as_slice() else {
                    continue;
                };
                let Some(run) = &first.digest.run else {
                    continue;
                };
                let is_only_entry = group.len() == 1 && !present.contains_key(&first.digest.batch);
                let totals = if is_only_entry {
                    first.digest.totals.clone()
                } else {
                    RunTotals::of(&new_grades(group, &present).await?)
                };
                runs.entry(run.clone()).or_default().add(&totals);
            }
        }
        Ok(runs)
    }

    pub(crate) async fn run_steps(&self, run: &str, width: i64) -> Result<Steps, StoreError> {
        let (pending, mut snapshot) = self
            .view(|digest| digest.run.as_deref() == Some(run) && digest.totals.grades > 0)
            .await?;
        let mut steps = snapshot.run_steps(run, width).await?;
        for (loaded, new_grades) in new_grades_by_entry(pending, snapshot.as_mut()).await? {
            if !new_grades.is_empty() {
                let first = loaded.entry.step.map(|step| bucket(step, width));
                loaded.count(&new_grades, steps.entry(first).or_default());
            }
        }
        Ok(steps)
    }

    pub(crate) async fn run_series(&self, run: &str) -> Result<Rollups, StoreError> {
        let (pending, mut snapshot) = self
            .view(|digest| digest.run.as_deref() == Some(run) && digest.totals.grades > 0)
            .await?;
        let mut rollups = snapshot.run_series(run).await?;
        for grade in new_grades_by_entry(pending, snapshot.as_mut())
            .await?
            .iter()
            .flat_map(|(_, new_grades)| new_grades)
        {
            rollups.entry(RollupKey::of(grade)).or_default().push(grade);
        }
        Ok(rollups)
    }
}
