//! What all batches of a node share: graders, record, clock, workers, caches, doors; and what
//! bounds them.

use std::sync::Arc;
use std::time::Duration;

use assay_core::store::Store;
use assay_core::{Clock, GraderTable, Ids, Lane};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Admission;
use crate::cache::Caches;
use crate::idempotency::InFlight;
use crate::ledger::{ChannelSettings, Known};
use crate::metrics;
use crate::policy::Policies;
use crate::workers::Workers;

/// What bounds a node. None of it changes a verdict but `completion_bytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Worker threads.
    pub workers: usize,
    /// Items admitted at once, over all batches.
    pub items_in_flight: usize,
    /// Bytes of memory that all request bodies together may take, raw and parsed.
    pub body_bytes_in_flight: usize,
    /// Longest completion a grader is shown, in bytes; longer ones are `too_long`.
    pub completion_bytes: usize,
    /// Bytes of prepared tasks kept.
    pub prepared_bytes: u64,
    /// Bytes of outcomes kept.
    pub outcome_bytes: u64,
    /// Items at once in the lane of workers. A few more than workers: while one item compares, another
    /// runs.
    pub in_workers: usize,
    /// Items at once in each other lane that waits for others.
    pub waiting: usize,
    /// Longest wait for a streaming client to read on. Meanwhile its batch holds room that others
    /// wait for.
    pub delivery: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            items_in_flight: 131_072,
            body_bytes_in_flight: 1 << 30,
            completion_bytes: 1 << 20,
            prepared_bytes: 64 << 20,
            outcome_bytes: 64 << 20,
            in_workers: 2 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            waiting: 256,
            delivery: Duration::from_secs(10),
        }
    }
}

/// What an engine is put together from.
pub struct EngineParts {
    /// The graders, in the order they are shown.
    pub graders: GraderTable,
    /// The record; without one nothing is recorded and replies say so.
    pub store: Option<Arc<dyn Store>>,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Ids,
    /// What bounds it.
    pub limits: Limits,
    /// Policies by name.
    pub policies: Policies,
    /// How rates of channels are estimated.
    pub channels: ChannelSettings,
}

pub(crate) struct Shared {
    pub(crate) graders: GraderTable,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) limits: Limits,
    pub(crate) admission: Arc<Admission>,
    pub(crate) workers: Workers,
    pub(crate) caches: Caches,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the time to finish has ended: items that are not graded by then fail with a
    /// retryable error.
    pub(crate) stopping: CancellationToken,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) policies: Policies,
    pub(crate) known: Known,
    /// Held while an operator draws or decides: both look at what was drawn and decided before.
    pub(crate) operators: tokio::sync::Mutex<()>,
    /// Held while pairs are collected: which of them are new is looked up before they are kept.
    pub(crate) pairs: tokio::sync::Mutex<()>,
    sandbox: Arc<Semaphore>,
    device: Arc<Semaphore>,
    remote: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn start(parts: EngineParts) -> std::io::Result<Self> {
        let EngineParts {
            graders,
            store,
            clock,
            ids,
            limits,
            policies,
            channels,
        } = parts;
        metrics::describe();
        let lane = |wide: usize| Arc::new(Semaphore::new(wide.clamp(1, Semaphore::MAX_PERMITS)));
        Ok(Self {
            graders,
            store,
            admission: Admission::new(
                limits.items_in_flight,
                limits.body_bytes_in_flight,
                Arc::clone(&clock),
            ),
            clock,
            ids,
            workers: Workers::start(limits.workers)?,
            caches: Caches::new(limits.prepared_bytes, limits.outcome_bytes),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            in_flight: Arc::new(InFlight::default()),
            policies,
            known: Known::new(channels),
            operators: tokio::sync::Mutex::new(()),
            pairs: tokio::sync::Mutex::new(()),
            sandbox: lane(limits.in_workers),
            device: lane(limits.waiting),
            remote: lane(limits.waiting),
            limits,
        })
    }

    /// The bound on items at once in a lane that waits.
    pub(crate) fn lane_permits(&self, lane: Lane) -> Arc<Semaphore> {
        Arc::clone(match lane {
            Lane::Cpu | Lane::Sandbox => &self.sandbox,
            Lane::Device => &self.device,
            Lane::Remote => &self.remote,
        })
    }
}
