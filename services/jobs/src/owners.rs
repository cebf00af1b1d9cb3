//! Who submitted a job, while its shards are graded.

use std::sync::Arc;

use assay_engine::Allowance;

/// Knows what callers may use. A shard may be graded long after its request, and on another node.
pub trait Owners: Send + Sync {
    /// What a caller may use for a shard of `bytes` bytes; `None` without limits.
    ///
    /// # Errors
    /// Why nothing is graded for the caller any more, such as a key that was revoked.
    fn allowance(&self, caller: &str, bytes: usize) -> Result<Option<Arc<dyn Allowance>>, String>;
}

/// Callers without limits.
pub(crate) struct Unlimited;

impl Owners for Unlimited {
    fn allowance(&self, _: &str, _: usize) -> Result<Option<Arc<dyn Allowance>>, String> {
        Ok(None)
    }
}
