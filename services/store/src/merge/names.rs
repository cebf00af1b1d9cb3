//! Reads of the names that callers chose, including those of pending entries.

use assay_record::names::UsedNames;
use assay_record::store::StoreError;

use super::{Sources, load};

impl Sources<'_> {
    pub(crate) async fn used_names(&self) -> Result<UsedNames, StoreError> {
        let (pending, mut snapshot) = self.view(|digest| digest.totals.grades > 0).await?;
        let mut names = snapshot.used_names().await?;
        drop(snapshot);
        for entry in &pending {
            let loaded = load(entry).await?;
            let entry = &loaded.entry;
            for grade in &entry.grades {
                names.add_channel(&grade.channel, &entry.caller);
            }
            if let Some(run) = &entry.run {
                names.add_run(run, &entry.caller);
            }
        }
        Ok(names)
    }

    /// An upper bound: pending grades may repeat prompts.
    pub(crate) async fn prompts(&self, run: &str) -> Result<u64, StoreError> {
        let (pending, mut snapshot) = self
            .view(|digest| digest.run.as_deref() == Some(run))
            .await?;
        let unapplied: u64 = pending.iter().map(|entry| entry.digest.totals.grades).sum();
        Ok(snapshot.prompts(run).await? + unapplied)
    }
}
