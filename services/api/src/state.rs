//! What every endpoint shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_core::execution::Execute;
use assay_core::reward_model::RewardModels;
use assay_engine::Engine;

/// What bounds a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiLimits {
    /// Largest body, in bytes after unpacking.
    pub body_bytes: usize,
    /// Most memory that one body may take when parsed, in bytes.
    pub parsed_bytes: usize,
    /// Most items in a batch.
    pub batch_items: usize,
    /// Longest pause between two pieces of a body.
    pub body_pause: Duration,
    /// Longest time for a whole body to arrive.
    pub body_whole: Duration,
    /// Limits on connections.
    pub connections: ConnectionLimits,
    /// Whether requests must be sent to `localhost` or an address, as where the service listens to
    /// its own machine alone: a browser may be told that any other name is this machine.
    pub local_names: bool,
}

impl Default for ApiLimits {
    fn default() -> Self {
        Self {
            body_bytes: 64 << 20,
            parsed_bytes: 256 << 20,
            batch_items: 65_536,
            body_pause: Duration::from_secs(30),
            body_whole: Duration::from_secs(300),
            connections: ConnectionLimits::default(),
            local_names: false,
        }
    }
}

/// Limits on connections. A connection is never closed for its age while a request is being
/// processed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Most open connections.
    pub most: usize,
    /// Longest time until the head of the first request has arrived.
    pub head: Duration,
    /// Longest time between a reply and the head of the next request.
    pub idle: Duration,
    /// Longest time that a client may stop reading its reply.
    pub reply_pause: Duration,
    /// Longest time until a connection that was asked to close is closed, once its requests are
    /// answered.
    pub close: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            most: 1_024,
            head: Duration::from_secs(30),
            idle: Duration::from_secs(75),
            reply_pause: Duration::from_secs(60),
            close: Duration::from_secs(1),
        }
    }
}

/// What the API is put together from.
pub struct ApiParts {
    /// Grades batches and holds the record.
    pub engine: Engine,
    /// Runs programs for routes that only run them.
    pub programs: Arc<dyn Execute>,
    /// Holds the reward models.
    pub models: Arc<dyn RewardModels>,
    /// Text of `/metrics`.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// Whether the node is being warmed up, and so not ready yet.
    pub warming: Arc<AtomicBool>,
    /// What bounds a request.
    pub limits: ApiLimits,
}

/// What every endpoint shares. Cheap to clone.
#[derive(Clone)]
pub struct Api(Arc<ApiParts>);

impl Api {
    /// Puts the API together.
    #[must_use]
    pub fn new(parts: ApiParts) -> Self {
        Self(Arc::new(parts))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn limits(&self) -> &ApiLimits {
        &self.0.limits
    }

    pub(crate) fn programs(&self) -> &dyn Execute {
        self.0.programs.as_ref()
    }

    pub(crate) fn models(&self) -> &dyn RewardModels {
        self.0.models.as_ref()
    }

    pub(crate) fn is_warming(&self) -> bool {
        self.0.warming.load(Ordering::Acquire)
    }

    pub(crate) fn metrics(&self) -> String {
        (self.0.metrics)()
    }
}
