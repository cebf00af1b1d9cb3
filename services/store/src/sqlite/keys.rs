//! Keys of rows without a run or step, and totals by kind.

use std::collections::HashSet;

use assay_record::Entry;
use assay_record::rollup::Totals;

use super::kinds::Kind;

/// The value of a step that was not sent.
pub(super) const NO_STEP: i64 = i64::MIN;

/// The number of a run that was not sent.
pub(super) const NO_RUN: i64 = 0;

/// Sums over the new grades of one batch and kind.
pub(super) type KindTotals<'a> = (&'a AppliedBatch<'a>, Kind<'a>, &'a Totals);

/// A batch of which this transaction applies grades.
pub(super) struct AppliedBatch<'e> {
    pub(super) number: i64,
    pub(super) run: i64,
    pub(super) entry: &'e Entry,
    /// Whether grades may be repeated, because the batch is stored already or has several entries.
    /// A single entry never repeats a position.
    pub(super) may_repeat: bool,
    /// Positions of grades that are stored or were applied; used only if grades may be repeated.
    pub(super) existing: HashSet<u32>,
    /// Earliest and latest time of its new grades.
    pub(super) times: Option<(i64, i64)>,
    pub(super) new: bool,
}
