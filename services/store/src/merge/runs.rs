//! Reads of runs: their totals and their sums by step, those of waiting entries added.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_core::rollup::{RollupKey, Rollups};
use assay_core::store::{RunSummary, StoreError};

use super::{LOOKUP, Sources, batches, by_batch, fresh, fresh_by_entry};
use crate::database::Snapshot;
use crate::pending::Item;
use crate::totals::RunTotals;

impl Sources<'_> {
    pub(crate) async fn runs(&self, limit: u32) -> Result<Vec<RunSummary>, StoreError> {
        let (items, mut snapshot) = self.view(|digest| digest.run.is_some() && digest.totals.grades > 0).await?;
        let named: BTreeSet<Arc<str>> = items.iter().filter_map(|item| item.digest.run.clone()).collect();
        let named: Vec<Arc<str>> = named.into_iter().collect();
        let mut runs: BTreeMap<Arc<str>, RunTotals> = snapshot.runs(limit, &named).await?.into_iter().collect();
        add_waiting(items, snapshot.as_mut(), &mut runs).await?;
        let mut summaries: Vec<RunSummary> = runs.iter().filter_map(|(run, totals)| totals.summary(run)).collect();
        // Stable: runs last used at the same time stay in the order of their names.
        summaries.sort_by_key(|summary| std::cmp::Reverse(summary.last_us));
        summaries.truncate(limit as usize);
        Ok(summaries)
    }

    pub(crate) async fn run(&self, run: &str) -> Result<Option<RunSummary>, StoreError> {
        let (items, mut snapshot) =
            self.view(|digest| digest.run.as_deref() == Some(run) && digest.totals.grades > 0).await?;
        let mut runs: BTreeMap<Arc<str>, RunTotals> = snapshot.runs(0, &[run.into()]).await?.into_iter().collect();
        add_waiting(items, snapshot.as_mut(), &mut runs).await?;
        Ok(runs.get(run).and_then(|totals| totals.summary(run)))
    }

    pub(crate) async fn run_series(&self, run: &str) -> Result<Rollups, StoreError> {
        let (items, mut snapshot) =
            self.view(|digest| digest.run.as_deref() == Some(run) && digest.totals.grades > 0).await?;
        let mut rollups = snapshot.run_series(run).await?;
        for grade in fresh_by_entry(items, snapshot.as_mut()).await?.iter().flatten() {
            rollups.entry(RollupKey::of(grade)).or_default().push(grade);
        }
        Ok(rollups)
    }
}

/// Adds the totals of waiting entries, each grade once.
async fn add_waiting(
    items: Vec<Arc<Item>>,
    snapshot: &mut dyn Snapshot,
    runs: &mut BTreeMap<Arc<str>, RunTotals>,
) -> Result<(), StoreError> {
    for chunk in by_batch(items).chunks(LOOKUP) {
        let present = snapshot.present(&batches(chunk)).await?;
        for group in chunk {
            let [first, ..] = group.as_slice() else {
                continue;
            };
            let Some(run) = &first.digest.run else {
                continue;
            };
            let alone = group.len() == 1 && !present.contains_key(&first.digest.batch);
            let totals =
                if alone { first.digest.totals.clone() } else { RunTotals::of(&fresh(group, &present).await?) };
            runs.entry(run.clone()).or_default().add(&totals);
        }
    }
    Ok(())
}
