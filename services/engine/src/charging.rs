//! Charges the key of a batch while it is graded.

use std::sync::Arc;
use std::time::Duration;

use crate::{Allowance, Batch, EngineError};

/// Charges the key of a batch until this is dropped, which is before the reply is: a client may
/// keep its reply for long.
pub(crate) struct Charging(Option<Arc<dyn Allowance>>);

impl Charging {
    /// Admits a batch within the quotas of its key. Each check of an item counts as an item.
    pub(crate) fn admit(batch: &Batch) -> Result<Self, EngineError> {
        let allowance = batch.allowance.clone();
        if let Some(allowance) = &allowance {
            let tasks = batch.items.iter().map(|item| 1 + item.checks.len());
            allowance.admit(tasks.sum())?;
        }
        Ok(Self(allowance))
    }

    pub(crate) fn spend(&self, time: Duration) {
        if let Some(allowance) = &self.0 {
            allowance.spend(time);
        }
    }

    /// The batch is rejected: one item is charged.
    pub(crate) fn reject(self) {
        if let Some(allowance) = &self.0 {
            allowance.reject();
        }
    }

    pub(crate) fn finish(self) {
        if let Some(allowance) = &self.0 {
            allowance.finish();
        }
    }
}

impl Drop for Charging {
    fn drop(&mut self) {
        if let Some(allowance) = &self.0 {
            allowance.end();
        }
    }
}
