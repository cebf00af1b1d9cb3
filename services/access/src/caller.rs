//! Who sent a request, and who may call an endpoint.

use std::sync::Arc;

use assay_core::Clock;
use assay_record::access::{LOCAL_CALLER, Role, recorded_run};

use crate::proxy::USER_PREFIX;
use crate::quota::{ExceededQuota, Meter};
use crate::work::WorkCharge;

/// The sender of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    name: Arc<str>,
    role: Role,
    meter: Option<Arc<Meter>>,
}

impl Caller {
    /// The caller of a node that requires no keys. It may do everything.
    #[must_use]
    pub fn local() -> Self {
        Self {
            name: LOCAL_CALLER.into(),
            role: Role::Admin,
            meter: None,
        }
    }

    /// A caller that sends no key to an endpoint that needs none. It sees nothing of the record.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            name: "unknown".into(),
            role: Role::Trainer,
            meter: None,
        }
    }

    pub(crate) fn with_key(meter: Arc<Meter>, role: Role) -> Self {
        Self {
            name: Arc::clone(meter.name()),
            role,
            meter: Some(meter),
        }
    }

    /// A user whom a proxy has authenticated. It has no quotas.
    pub(crate) fn proxied(user: &str, role: Role) -> Self {
        Self {
            name: format!("{USER_PREFIX}{user}").into(),
            role,
            meter: None,
        }
    }

    /// Whether the caller was authenticated, by a key or by a proxy.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.meter.is_some() || self.name.starts_with(USER_PREFIX)
    }

    /// Name of its key, `@` and the name that a proxy gave, or `local`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its role.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The name under which its run is recorded. Callers that see all runs share one namespace with
    /// the runs of callers without keys; each other caller has a namespace of its own.
    #[must_use]
    pub fn recorded_run(&self, run: &str) -> String {
        if self.role.sees_all() {
            run.to_owned()
        } else {
            recorded_run(&self.name, run)
        }
    }

    /// Admits a request with `items` items that takes about `bytes` bytes of the record, within the
    /// quotas of the caller. Its items are in progress until the charge is dropped. `None` if the
    /// caller has no key.
    ///
    /// # Errors
    /// [`ExceededQuota`]; nothing is counted.
    pub fn charge(
        &self,
        items: usize,
        bytes: usize,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<WorkCharge>, ExceededQuota> {
        let Some(meter) = &self.meter else {
            return Ok(None);
        };
        let charge = meter.admit(items, bytes, clock.monotonic())?;
        Ok(Some(WorkCharge::new(charge, Arc::clone(clock))))
    }

    /// Meters the use of its key; `None` without a key, which means no limits.
    #[must_use]
    pub fn meter(&self) -> Option<&Arc<Meter>> {
        self.meter.as_ref()
    }
}
