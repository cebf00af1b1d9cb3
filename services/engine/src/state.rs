//! The state that all batches of a node share (graders, record, clock, worker threads, caches,
//! admission), and the limits of a node.

use std::sync::Arc;
use std::time::Duration;

use assay_core::{Clock, FairPermits, GraderTable, Ids, Lane};
use assay_record::Record;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::{Admission, SETTINGS};
use crate::cache::{Caches, CheckedTasks};
use crate::channel_cache::{ChannelCache, ChannelSettings};
use crate::failure_log::FailureLog;
use crate::keeping::Keeping;
use crate::keys_in_flight::KeysInFlight;
use crate::metrics;
use crate::names::{NameLimits, Names};
use crate::policy::{Policies, RewardPolicy};
use crate::totals::TotalCounters;
use crate::worker_threads::WorkerThreads;

/// Callers that can use a lane up to their limits at the same time. With more, the lane is shared
/// fairly: each item in a lane uses memory, even while it waits for a worker.
const MAX_BUSY_CALLERS: usize = 8;

/// Limits of a node. Only `completion_bytes` can change a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Jobs of one caller that run on the worker threads at the same time; there are twice as many
    /// threads.
    pub workers: usize,
    /// Items of all batches that are admitted at the same time; a caller alone can have half of
    /// them.
    pub items_in_flight: usize,
    /// Bytes of memory that all request bodies, raw and parsed, and replies together may use; a
    /// caller alone can use half of them.
    pub body_bytes_in_flight: usize,
    /// Longest completion in bytes that is graded; longer ones are `too_long`.
    pub completion_bytes: usize,
    /// Bytes of prepared tasks that are cached.
    pub prepared_bytes: u64,
    /// Bytes of outcomes that are cached.
    pub outcome_bytes: u64,
    /// Items of one caller that use the sandbox lane at the same time: a few more than there are
    /// sandbox workers, so that one item runs while another is compared. The workers are shared
    /// by all callers.
    pub in_workers: usize,
    /// Items of one caller that use the device lane at the same time.
    pub waiting: usize,
    /// Items of one caller that use the remote lane at the same time. Most of them wait for their
    /// turn: each judge limits its own calls, and none may keep items of others from being graded.
    pub remote: usize,
    /// Channels that one caller introduces.
    pub channels_per_caller: usize,
    /// Runs that one caller introduces.
    pub runs_per_caller: usize,
    /// Prompts of one run.
    pub prompts_per_run: usize,
    /// Longest wait for a streaming client to read. Its batch occupies capacity meanwhile.
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
            remote: 16_384,
            channels_per_caller: 1_024,
            runs_per_caller: 10_000,
            prompts_per_run: 1_000_000,
            delivery: Duration::from_secs(10),
        }
    }
}

/// The parts of an engine.
pub struct EngineParts {
    /// The graders, in the order in which they are listed.
    pub graders: GraderTable,
    /// The record; without one, nothing is recorded and results have `recorded: false`.
    pub record: Option<Record>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The source of ids.
    pub ids: Ids,
    /// Its limits.
    pub limits: Limits,
    /// Policies by name.
    pub policies: Policies,
    /// How error rates of channels are estimated.
    pub channels: ChannelSettings,
    /// What of a batch is kept in the record.
    pub keeping: Keeping,
}

/// The state of an engine, shared by its clones and its batches.
pub(crate) struct EngineState {
    pub(crate) graders: GraderTable,
    pub(crate) record: Option<Record>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) limits: Limits,
    pub(crate) admission: Arc<Admission>,
    pub(crate) workers: WorkerThreads,
    pub(crate) caches: Caches,
    pub(crate) checked: CheckedTasks,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the grace period of a shutdown ends: items that are not graded by then fail
    /// with a retryable error.
    pub(crate) stopping: CancellationToken,
    pub(crate) keys_in_flight: Arc<KeysInFlight>,
    pub(crate) policies: Policies,
    pub(crate) channel_cache: Arc<ChannelCache>,
    pub(crate) names: Arc<Names>,
    pub(crate) keeping: Keeping,
    pub(crate) failure_log: FailureLog,
    pub(crate) totals: TotalCounters,
    sandbox_permits: FairPermits,
    device_permits: FairPermits,
    remote_permits: FairPermits,
}

impl EngineState {
    pub(crate) fn start(parts: EngineParts) -> std::io::Result<Self> {
        let EngineParts {
            graders,
            record,
            clock,
            ids,
            limits,
            policies,
            channels,
            keeping,
        } = parts;
        metrics::describe_all();
        let judges = policies.iter().flat_map(RewardPolicy::judges).collect();
        metrics::start_counters(&graders, &judges, SETTINGS);
        let lane = |per_caller: usize| {
            FairPermits::new(per_caller.saturating_mul(MAX_BUSY_CALLERS), per_caller)
        };
        Ok(Self {
            graders,
            record,
            admission: Admission::new(limits.items_in_flight, limits.body_bytes_in_flight, &clock),
            names: Arc::new(Names::new(
                NameLimits {
                    channels_per_caller: limits.channels_per_caller,
                    runs_per_caller: limits.runs_per_caller,
                    prompts_per_run: limits.prompts_per_run,
                },
                Arc::clone(&clock),
            )),
            channel_cache: Arc::new(ChannelCache::new(channels, Arc::clone(&clock))),
            clock,
            ids,
            workers: WorkerThreads::start(limits.workers)?,
            caches: Caches::new(limits.prepared_bytes, limits.outcome_bytes),
            checked: CheckedTasks::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            keys_in_flight: Arc::new(KeysInFlight::default()),
            policies,
            keeping,
            failure_log: FailureLog::default(),
            totals: TotalCounters::default(),
            sandbox_permits: lane(limits.in_workers),
            device_permits: lane(limits.waiting),
            remote_permits: lane(limits.remote),
            limits,
        })
    }

    /// The permits that limit the items in a lane.
    pub(crate) fn lane_permits(&self, lane: Lane) -> FairPermits {
        match lane {
            Lane::Cpu | Lane::Sandbox => self.sandbox_permits.clone(),
            Lane::Device => self.device_permits.clone(),
            Lane::Remote => self.remote_permits.clone(),
        }
    }
}
