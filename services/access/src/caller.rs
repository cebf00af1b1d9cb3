//! Who sent a request, and who may call an endpoint.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use assay_core::Clock;
use assay_record::access::{LOCAL_CALLER, Role, recorded_run};

use crate::proxy::USER_PREFIX;
use crate::quota::{ExceededQuota, Meter};
use crate::work::WorkCharge;

/// The sender of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    name: Arc<str>,
    /// Whose share of the node it uses.
    share: Arc<str>,
    role: Role,
    meter: Option<Arc<Meter>>,
}

impl Caller {
    /// The caller of a node that requires no keys. It may do everything.
    #[must_use]
    pub fn local() -> Self {
        Self::without_meter(LOCAL_CALLER.into(), Role::Admin)
    }

    /// A caller that sends no key to an endpoint that needs none. It sees nothing of the record.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::without_meter("unknown".into(), Role::Trainer)
    }

    fn without_meter(name: Arc<str>, role: Role) -> Self {
        Self {
            share: Arc::clone(&name),
            name,
            role,
            meter: None,
        }
    }

    pub(crate) fn with_key(meter: Arc<Meter>, role: Role) -> Self {
        Self {
            name: Arc::clone(meter.name()),
            share: Arc::clone(meter.name()),
            role,
            meter: Some(meter),
        }
    }

    /// A user whom a proxy has authenticated. It has no quotas.
    pub(crate) fn proxied(user: &str, role: Role) -> Self {
        Self::without_meter(format!("{USER_PREFIX}{user}").into(), role)
    }

    /// Whether the caller was authenticated, by a key or by a proxy.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.meter.is_some() || self.name.starts_with(USER_PREFIX)
    }

    /// The caller at the address that `find` returns, which is called only if it is needed: callers
    /// without a name share the node by their addresses.
    #[must_use]
    pub fn at(self, find: impl FnOnce() -> Option<IpAddr>) -> Self {
        if self.is_named() {
            return self;
        }
        match find() {
            Some(address) => Self {
                share: address.to_string().into(),
                ..self
            },
            None => self,
        }
    }

    /// Whose share of the node it uses: its own, or that of its address if it has no name.
    #[must_use]
    pub fn share(&self) -> &Arc<str> {
        &self.share
    }

    /// Whose share of the node its batches of a run use. The runs of callers without a name have a
    /// share each, so that one run does not delay another.
    #[must_use]
    pub fn share_of_run(&self, run: Option<&str>) -> Arc<str> {
        match run {
            Some(run) if !self.is_named() => format!("{} {run}", self.share).into(),
            _ => Arc::clone(&self.share),
        }
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

    /// Admits a request before its body is read, if the caller has time left at the monotonic time
    /// `now`.
    ///
    /// # Errors
    /// [`ExceededQuota`].
    pub fn admit_time(&self, now: Duration) -> Result<(), ExceededQuota> {
        self.meter
            .as_ref()
            .map_or(Ok(()), |meter| meter.admit_time(now))
    }

    /// Charges time to its key.
    pub fn spend(&self, time: Duration) {
        if let Some(meter) = &self.meter {
            meter.spend(time);
        }
    }

    /// Meters the use of its key; `None` without a key, which means no limits.
    #[must_use]
    pub fn meter(&self) -> Option<&Arc<Meter>> {
        self.meter.as_ref()
    }
}
