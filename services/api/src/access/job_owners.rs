//! What the callers of jobs may use when their shards are graded.

use std::sync::Arc;

use assay_access::Gate;
use assay_engine::Allowance;
use assay_jobs::Owners;

use super::batch_allowance::BatchAllowance;

/// The callers of a node, by their names.
pub struct JobOwners(pub Arc<Gate>);

impl Owners for JobOwners {
    fn allowance(&self, caller: &str, bytes: usize) -> Result<Option<Arc<dyn Allowance>>, String> {
        let found = self.0.named(caller);
        let caller = found.map_err(|denied| {
            format!("the caller `{caller}` submitted the job and cannot use the node: {denied}")
        })?;
        if caller.meter().is_none() {
            return Ok(None);
        }
        Ok(Some(Arc::new(BatchAllowance {
            caller,
            clock: Arc::clone(self.0.clock()),
            body_bytes: bytes,
        })))
    }
}
