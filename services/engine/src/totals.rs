//! Counts of finished items of which the record has no sums by step: those that could not be
//! recorded, and those without a run or step.

use std::sync::atomic::{AtomicU64, Ordering};

use assay_record::ItemGrade;

use crate::{Batch, metrics};

/// Counts since the node started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Grades with `recorded: false` because they could not be recorded.
    pub unrecorded: u64,
    /// Items without a run or step; all items if the node has no record.
    pub without_step: u64,
    /// Of those, failed.
    pub failed_without_step: u64,
    /// Of those, with a truncated completion.
    pub truncated_without_step: u64,
}

impl Totals {
    /// What was counted since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let difference = |of: fn(&Self) -> u64| of(self).saturating_sub(of(before));
        Self {
            unrecorded: difference(|totals| totals.unrecorded),
            without_step: difference(|totals| totals.without_step),
            failed_without_step: difference(|totals| totals.failed_without_step),
            truncated_without_step: difference(|totals| totals.truncated_without_step),
        }
    }
}

/// The counters behind [`Totals`]. Each is read alone, so they need no order.
#[derive(Debug, Default)]
pub(crate) struct TotalCounters {
    unrecorded: AtomicU64,
    without_step: AtomicU64,
    failed_without_step: AtomicU64,
    truncated_without_step: AtomicU64,
}

impl TotalCounters {
    /// Counts grades that could not be recorded.
    pub(crate) fn unrecorded(&self, grades: usize) {
        metrics::unrecorded(grades);
        self.unrecorded.fetch_add(grades as u64, Ordering::Relaxed);
    }

    /// Counts the items of a finished batch. `has_record` is whether the node has a record.
    pub(crate) fn finished<'g>(
        &self,
        batch: &Batch,
        has_record: bool,
        grades: impl Iterator<Item = &'g ItemGrade>,
    ) {
        let truncated = batch.items.iter().filter(|item| item.item.meta.truncated);
        let (items, truncated) = (batch.items.len() as u64, truncated.count() as u64);
        metrics::truncated(truncated);
        if has_record && batch.run.is_some() && batch.step.is_some() {
            return;
        }
        let failed = grades.filter(|grade| grade.outcome == "failed").count();
        self.without_step.fetch_add(items, Ordering::Relaxed);
        self.failed_without_step
            .fetch_add(failed as u64, Ordering::Relaxed);
        self.truncated_without_step
            .fetch_add(truncated, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Totals {
        Totals {
            unrecorded: self.unrecorded.load(Ordering::Relaxed),
            without_step: self.without_step.load(Ordering::Relaxed),
            failed_without_step: self.failed_without_step.load(Ordering::Relaxed),
            truncated_without_step: self.truncated_without_step.load(Ordering::Relaxed),
        }
    }
}
