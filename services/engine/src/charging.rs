//! Charges the key of a batch while it is graded.

use crate::Allowance;
use crate::grade::GradedItem;
use crate::plan::Plan;

/// Charges the key of a batch until this is dropped, which is before the reply is: a client may
/// keep its reply for long.
pub(crate) struct Charging<'a>(Option<&'a dyn Allowance>);

impl<'a> Charging<'a> {
    pub(crate) fn start(plan: &'a Plan) -> Self {
        let allowance = plan.batch.allowance.as_deref();
        if let Some(allowance) = allowance {
            allowance.start();
        }
        Self(allowance)
    }

    pub(crate) fn spend(&self, wave: &[GradedItem]) {
        if let Some(allowance) = self.0 {
            allowance.spend(wave.iter().map(GradedItem::charged).sum());
        }
    }

    pub(crate) fn finish(self) {
        if let Some(allowance) = self.0 {
            allowance.finish();
        }
    }
}

impl Drop for Charging<'_> {
    fn drop(&mut self) {
        if let Some(allowance) = self.0 {
            allowance.end();
        }
    }
}
