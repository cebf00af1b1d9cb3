//! Keys of rows without a run or step, and totals by kind.

use std::collections::HashSet;

use crate::Entry;
use crate::rollup::Totals;

use super::kinds::Kind;

/// The value of a step that was not sent.
pub(crate) const NO_STEP: i64 = i64::MIN;

/// The number of a run that was not sent.
pub(crate) const NO_RUN: i64 = 0;

/// The number of a run in counts by policy, which are of all runs.
pub(crate) const ALL_RUNS: i64 = -1;

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
    /// Whether its grades and bytes are counted; false for a batch of an earlier release that no
    /// retention run has counted.
    pub(super) counted: bool,
    /// Sum of the checksums of its grades, wrapping; `None` if some have none.
    pub(super) checksum: Option<i64>,
    /// What this transaction adds.
    pub(super) added: Amounts,
}

/// Amounts that are counted for `batches` and `holdings`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    pub(super) grades: u64,
    pub(super) grade_bytes: u64,
    pub(super) pack_bytes: u64,
}
