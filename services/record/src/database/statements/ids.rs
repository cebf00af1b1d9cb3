//! The caller and the ids of batches that the test uses.

use assay_core::BatchId;

pub(super) const CALLER: &str = "alice";

/// Time of the ids, in milliseconds since the Unix epoch.
const TIME_MS: u128 = 1_795_000_000_000;

pub(super) fn batch(n: u64) -> BatchId {
    (u128::from(n + 1) << 24 | TIME_MS << 80).into()
}
