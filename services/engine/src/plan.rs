//! Stage 1, plan: checks and prepares every distinct task once, and orders the work.

use std::cmp::Reverse;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use assay_core::grader::PrepareError;
use assay_core::{BatchId, ErrorCode, Fault, Grader, GraderTable, Lane, PrepareContext, Task};
use tokio::sync::oneshot;

use crate::Batch;
use crate::cache::PreparedTask;
use crate::context::BatchContext;
use crate::policy::RewardPolicy;
use crate::state::EngineState;
use crate::tasks::{CheckedTasks, DistinctTask, Received, Unit};
use crate::worker_threads::Job;

/// A batch with prepared tasks and ordered work.
pub(crate) struct Plan {
    pub(crate) id: BatchId,
    pub(crate) batch: Batch,
    /// The distinct tasks, prepared.
    pub(crate) tasks: Vec<Arc<PreparedTask>>,
    /// Units of work, long work first.
    pub(crate) units: Vec<Unit>,
    /// When the batch was received.
    pub(crate) received: Received,
    /// Whether cached outcomes may be used.
    pub(crate) use_cache: bool,
    /// The graders of the node.
    pub(crate) graders: GraderTable,
    /// Channels, groups and histories; empty for a batch that is sent to a judge.
    pub(crate) context: BatchContext,
}

impl Plan {
    /// The reward policy of the item at this position.
    pub(crate) fn policy(&self, position: usize) -> &RewardPolicy {
        self.batch.policy_of(&self.batch.items[position])
    }
}

/// Prepares the tasks of a batch and orders its units.
pub(crate) async fn plan(
    state: &Arc<EngineState>,
    id: BatchId,
    batch: Batch,
    checked: CheckedTasks,
    context: BatchContext,
    received: Received,
    use_cache: bool,
) -> Plan {
    let CheckedTasks {
        distinct,
        mut units,
        ..
    } = checked;
    let tasks = prepare(state, &batch.caller, distinct).await;
    order(&mut units, &tasks, &batch);
    Plan {
        id,
        batch,
        tasks,
        units,
        received,
        use_cache,
        graders: state.graders.clone(),
        context,
    }
}

/// Orders the units so that long work starts first and does not run alone at the end. Units whose
/// grader accepts several items at once are grouped by task, at the position of the longest of
/// them.
fn order(units: &mut [Unit], tasks: &[Arc<PreparedTask>], batch: &Batch) {
    let bytes = |unit: &Unit| {
        batch
            .items
            .get(unit.item)
            .map_or(0, |item| item.item.completion.bytes())
    };
    let mut longest = vec![0; tasks.len()];
    for unit in units.iter() {
        longest[unit.task] = bytes(unit).max(longest[unit.task]);
    }
    units.sort_by_key(|unit| {
        let task = &tasks[unit.task];
        let group = (task.spec.max_batch > 1).then_some((Reverse(longest[unit.task]), unit.task));
        (lane_rank(task.lane()), group, Reverse(bytes(unit)))
    });
}

/// Lanes that wait for other processes start first, so that the cores are busy meanwhile.
fn lane_rank(lane: Lane) -> u8 {
    match lane {
        Lane::Remote => 0,
        Lane::Device => 1,
        Lane::Sandbox => 2,
        Lane::Cpu => 3,
    }
}

/// Prepares the distinct tasks that are not cached, on the worker threads.
async fn prepare(
    state: &Arc<EngineState>,
    caller: &Arc<str>,
    distinct: Vec<DistinctTask>,
) -> Vec<Arc<PreparedTask>> {
    let mut slots = Vec::with_capacity(distinct.len());
    let mut jobs: Vec<Job> = Vec::new();
    for DistinctTask { grader, task } in distinct {
        let spec = grader.spec();
        if let Some(prepared) = state.caches.prepared(spec, task.hash()) {
            slots.push(Slot::Ready(prepared));
            continue;
        }
        let (sender, receiver) = oneshot::channel();
        let state = Arc::clone(state);
        jobs.push(Box::new(move || {
            let prepared = Arc::new(prepare_one(&state, grader.as_ref(), &task));
            state.caches.insert_prepared(task.hash(), &prepared);
            // If the client has disconnected, the receiver is gone; the task stays in the cache.
            let _ = sender.send(prepared);
        }));
        slots.push(Slot::Pending(spec, receiver));
    }
    if !jobs.is_empty() {
        state.workers.submit(caller, jobs);
    }
    let mut tasks = Vec::with_capacity(slots.len());
    for slot in slots {
        tasks.push(match slot {
            Slot::Ready(prepared) => prepared,
            Slot::Pending(spec, receiver) => receiver.await.unwrap_or_else(|_| {
                let fault = Fault::transient(
                    ErrorCode::ShuttingDown,
                    "the node is shutting down; send the item again",
                );
                Arc::new(PreparedTask {
                    spec,
                    ready: Err(PrepareError::Failed(fault)),
                })
            }),
        });
    }
    tasks
}

/// A prepared task, or where it arrives once a worker thread has prepared it.
enum Slot {
    Ready(Arc<PreparedTask>),
    Pending(
        &'static assay_core::Spec,
        oneshot::Receiver<Arc<PreparedTask>>,
    ),
}

/// Prepares one task. A panic of the grader becomes a fault.
pub(crate) fn prepare_one(state: &EngineState, grader: &dyn Grader, task: &Task) -> PreparedTask {
    let spec = grader.spec();
    if let Some(reason) = grader.unavailable() {
        let fault = Fault::permanent(ErrorCode::GraderUnavailable, reason);
        return PreparedTask {
            spec,
            ready: Err(PrepareError::Failed(fault)),
        };
    }
    let cx = PrepareContext::new(&state.graders);
    let ready = catch_unwind(AssertUnwindSafe(|| grader.prepare(task, &cx))).unwrap_or_else(|_| {
        let message = format!(
            "`{}` panicked while preparing the task; report it with the task",
            spec.id()
        );
        Err(PrepareError::Failed(Fault::permanent(
            ErrorCode::GraderPanicked,
            message,
        )))
    });
    PreparedTask { spec, ready }
}
