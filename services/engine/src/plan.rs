//! Stage 1, plan: checks and prepares every distinct task once, and orders the work.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use assay_core::grader::PrepareError;
use assay_core::{
    BatchId, ErrorCode, Fault, Grader, GraderTable, Hash, Lane, PrepareContext, Spec, Task,
};
use tokio::sync::oneshot;

use crate::cache::PreparedTask;
use crate::context::BatchContext;
use crate::policy::RewardPolicy;
use crate::state::EngineState;
use crate::worker_threads::Job;
use crate::{Batch, EngineError};

/// A batch with prepared tasks and ordered work.
pub(crate) struct Plan {
    pub(crate) id: BatchId,
    pub(crate) batch: Batch,
    /// The distinct tasks, prepared.
    pub(crate) tasks: Vec<Arc<PreparedTask>>,
    /// Units of work, long work first.
    pub(crate) units: Vec<Unit>,
    /// When the batch was admitted, on the monotonic clock.
    pub(crate) admitted: Duration,
    /// Whether cached outcomes may be used.
    pub(crate) use_cache: bool,
    /// The same time in microseconds since the Unix epoch.
    pub(crate) received_us: i64,
    /// The graders of the node.
    pub(crate) graders: GraderTable,
    /// Channels, groups and histories; empty for a batch that is sent to a judge.
    pub(crate) context: BatchContext,
    /// Index of each item's own task in `tasks`.
    task_of: Vec<usize>,
}

impl Plan {
    /// The reward policy of the item at this position.
    pub(crate) fn policy(&self, position: usize) -> &RewardPolicy {
        self.batch.policy_of(&self.batch.items[position])
    }

    /// The grader of the task of the item at this position.
    pub(crate) fn spec(&self, position: usize) -> &'static Spec {
        self.tasks[self.task_of[position]].spec
    }
}

/// One task of one item. Part 0 is the item's own task; the checks follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) item: usize,
    pub(crate) part: usize,
    pub(crate) task: usize,
}

/// Checks and prepares the tasks of a batch and orders its units.
pub(crate) async fn plan(
    state: &Arc<EngineState>,
    batch: Batch,
    id: BatchId,
    use_cache: bool,
) -> Result<Plan, EngineError> {
    let (admitted, received_us) = (state.clock.monotonic(), state.clock.unix_us());
    let (distinct, mut units) = distinct_tasks(state, &batch)?;
    let tasks = prepare(state, &batch.caller, distinct).await;
    order(&mut units, &tasks, &batch);
    let mut task_of = vec![0; batch.items.len()];
    for unit in units.iter().filter(|unit| unit.part == 0) {
        task_of[unit.item] = unit.task;
    }
    let (graders, context) = (state.graders.clone(), BatchContext::default());
    Ok(Plan {
        id,
        batch,
        tasks,
        units,
        admitted,
        use_cache,
        received_us,
        graders,
        context,
        task_of,
    })
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

/// A task that occurs in the batch, with its grader.
struct DistinctTask {
    grader: Arc<dyn Grader>,
    task: Task,
}

/// JSON pointer to a task within its item: the item's own, or the check of this name.
pub(crate) fn task_pointer(check: Option<&str>) -> String {
    match check {
        None => "/task".to_owned(),
        Some(name) => format!("/checks/{}", name.replace('~', "~0").replace('/', "~1")),
    }
}

/// Finds the distinct tasks and checks each of them before anything is graded.
fn distinct_tasks(
    state: &EngineState,
    batch: &Batch,
) -> Result<(Vec<DistinctTask>, Vec<Unit>), EngineError> {
    let mut index_of: HashMap<Hash, usize> = HashMap::new();
    let (mut distinct, mut units) = (Vec::new(), Vec::with_capacity(batch.items.len()));
    for (item, batch_item) in batch.items.iter().enumerate() {
        for (part, (name, task)) in batch_item.tasks().enumerate() {
            let index = if let Some(index) = index_of.get(&task.hash()) {
                *index
            } else {
                let grader = check(state, task).map_err(|error| EngineError::Task {
                    pointer: format!("/items/{item}{}", task_pointer(name)),
                    error,
                })?;
                distinct.push(DistinctTask {
                    grader,
                    task: task.clone(),
                });
                index_of.insert(task.hash(), distinct.len() - 1);
                distinct.len() - 1
            };
            units.push(Unit {
                item,
                part,
                task: index,
            });
        }
    }
    Ok((distinct, units))
}

/// Checks one task and returns its grader.
pub(crate) fn check(
    state: &EngineState,
    task: &Task,
) -> Result<Arc<dyn Grader>, assay_core::TaskError> {
    let grader = state.graders.get(task)?;
    grader.check(task, &PrepareContext::new(&state.graders))?;
    Ok(Arc::clone(grader))
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
