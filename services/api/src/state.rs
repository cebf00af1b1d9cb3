//! The state that all endpoints share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_access::{Caller, Gate};
use assay_alerts::Alerts;
use assay_core::FairPermits;
use assay_core::execution::Execute;
use assay_core::reward_model::RewardModels;
use assay_engine::{Engine, EngineError, Permit};
use assay_jobs::Jobs;
use assay_review::Review;
use assay_sessions::Sessions;
use assay_templates::Templates;

use crate::roles::RoleTable;
use crate::tls::Tls;

/// Limits on requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiLimits {
    /// Maximum size of a body, in bytes after decompression.
    pub body_bytes: usize,
    /// Maximum memory of one parsed body, in bytes.
    pub parsed_bytes: usize,
    /// Maximum number of items in a batch.
    pub batch_items: usize,
    /// Maximum time without new data of a body.
    pub body_pause: Duration,
    /// Maximum time until a body is complete.
    pub body_total: Duration,
    /// Limits on connections.
    pub connections: ConnectionLimits,
    /// Whether the host of a request must be `localhost` or an address while callers need no key.
    /// Set if the service listens on a loopback address, because any other name can be pointed at
    /// this machine (DNS rebinding). With keys, a page of another site has none.
    pub local_names: bool,
}

impl Default for ApiLimits {
    fn default() -> Self {
        Self {
            body_bytes: 64 << 20,
            parsed_bytes: 256 << 20,
            batch_items: 65_536,
            body_pause: Duration::from_secs(30),
            body_total: Duration::from_secs(300),
            connections: ConnectionLimits::default(),
            local_names: false,
        }
    }
}

/// Limits on connections. A connection is never closed for its age while a request is being
/// processed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of open connections.
    pub max: usize,
    /// Maximum time until the head of the first request is complete.
    pub head: Duration,
    /// Maximum time between a reply and the head of the next request.
    pub idle: Duration,
    /// Maximum time during which a client does not read its reply.
    pub reply_pause: Duration,
    /// Maximum time until a connection without requests is closed after the server requested it.
    pub close: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max: 1_024,
            head: Duration::from_secs(30),
            idle: Duration::from_secs(75),
            reply_pause: Duration::from_secs(60),
            close: Duration::from_secs(1),
        }
    }
}

/// The parts of [`Api`].
pub struct ApiParts {
    /// The engine, which grades batches, and the review of what it recorded.
    pub review: Review,
    /// The templates that make tasks from rows.
    pub templates: Arc<Templates>,
    /// Runs programs for routes that do not grade them.
    pub programs: Arc<dyn Execute>,
    /// Interpreter sessions.
    pub sessions: Sessions,
    /// Jobs.
    pub jobs: Jobs,
    /// The reward models.
    pub models: Arc<dyn RewardModels>,
    /// Returns the text of `/metrics`.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// Whether the node is still being warmed up and therefore not ready.
    pub warming: Arc<AtomicBool>,
    /// The open problems.
    pub alerts: Arc<Alerts>,
    /// Decides who may call the node.
    pub gate: Arc<Gate>,
    /// The certificate; `None` for connections without TLS.
    pub tls: Option<Arc<Tls>>,
    /// Limits on requests.
    pub limits: ApiLimits,
}

/// Permits for work of requests that takes long, or needs memory before it can be counted.
#[derive(Clone)]
pub(crate) struct RequestPermits {
    /// To decode large bodies.
    pub(crate) decoders: FairPermits,
    /// To make tasks from rows. A template may need 250 MiB to read a row of 150 KB.
    pub(crate) templates: FairPermits,
    /// To make replies that contain stored bodies, which take several times their size.
    pub(crate) replies: FairPermits,
}

/// Number of bodies with rows for templates that are decoded at the same time, and of replies with
/// stored bodies that are made.
const MAX_LARGE: usize = 4;

impl RequestPermits {
    fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let large = || FairPermits::new(MAX_LARGE, MAX_LARGE / 2);
        Self {
            // More than there are processors, so that another caller does not wait for long bodies.
            decoders: FairPermits::new(2 * processors, processors),
            templates: large(),
            replies: large(),
        }
    }
}

/// The state that all endpoints share, as the caller of a request sees it. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    parts: Arc<ApiParts>,
    permits: RequestPermits,
    roles: Arc<RoleTable>,
    /// With the part of the record that the caller sees.
    review: Review,
    caller: Caller,
}

impl Api {
    /// Creates the API from its parts.
    #[must_use]
    pub fn new(parts: ApiParts) -> Self {
        Self {
            review: parts.review.clone(),
            parts: Arc::new(parts),
            permits: RequestPermits::new(),
            roles: Arc::default(),
            caller: Caller::local(),
        }
    }

    /// The API with the roles that its endpoints need.
    pub(crate) fn with_roles(self, roles: RoleTable) -> Self {
        Self {
            roles: Arc::new(roles),
            ..self
        }
    }

    /// The API as a caller sees it.
    pub(crate) fn seen_by(&self, caller: Caller) -> Self {
        let own = (!caller.role().sees_all()).then_some(caller.name());
        Self {
            parts: Arc::clone(&self.parts),
            permits: self.permits.clone(),
            roles: Arc::clone(&self.roles),
            review: self.parts.review.seen_by(own, Arc::clone(caller.share())),
            caller,
        }
    }

    pub(crate) fn permits(&self) -> &RequestPermits {
        &self.permits
    }

    /// Admits other work than a batch, which counts as so many items in progress.
    pub(crate) fn admit(&self, items: usize) -> Result<Permit, EngineError> {
        self.engine().admission().admit(self.caller.share(), items)
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) fn alerts(&self) -> &Arc<Alerts> {
        &self.parts.alerts
    }

    pub(crate) fn tls(&self) -> Option<&Arc<Tls>> {
        self.parts.tls.as_ref()
    }

    pub(crate) fn shared_gate(&self) -> &Arc<Gate> {
        &self.parts.gate
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.parts.gate
    }

    pub(crate) fn roles(&self) -> &RoleTable {
        &self.roles
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.review.engine()
    }

    pub(crate) fn review(&self) -> &Review {
        &self.review
    }

    pub(crate) fn templates(&self) -> &Arc<Templates> {
        &self.parts.templates
    }

    pub(crate) fn limits(&self) -> &ApiLimits {
        &self.parts.limits
    }

    pub(crate) fn programs(&self) -> &dyn Execute {
        self.parts.programs.as_ref()
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.parts.sessions
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.parts.jobs
    }

    pub(crate) fn models(&self) -> &dyn RewardModels {
        self.parts.models.as_ref()
    }

    pub(crate) fn is_warming(&self) -> bool {
        self.parts.warming.load(Ordering::Acquire)
    }

    pub(crate) fn metrics(&self) -> String {
        let callers = self.engine().admission().usage();
        (self.parts.metrics)() + &assay_engine::usage_metrics(&callers)
    }
}
