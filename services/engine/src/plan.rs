//! Stage 1, plan: checks every distinct task, prepares each once, and orders the work.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use assay_core::grader::Unprepared;
use assay_core::{
    BatchId, ErrorCode, Fault, Grader, GraderTable, Hash, Lane, PrepareContext, Spec, Task,
};
use tokio::sync::oneshot;

use crate::cache::PreparedTask;
use crate::context::BatchContext;
use crate::policy::RewardPolicy;
use crate::shared::Shared;
use crate::workers::Job;
use crate::{Batch, EngineError};

/// A batch, its tasks prepared, its work ordered.
pub(crate) struct Plan {
    pub(crate) id: BatchId,
    pub(crate) batch: Batch,
    /// Distinct prepared tasks.
    pub(crate) tasks: Vec<Arc<PreparedTask>>,
    /// Units of work, long work first.
    pub(crate) units: Vec<Unit>,
    /// When the batch was admitted, on the monotonic clock.
    pub(crate) admitted: Duration,
    /// Whether outcomes kept from earlier may answer.
    pub(crate) use_kept: bool,
    /// The same moment in microseconds since the Unix epoch.
    pub(crate) received_us: i64,
    /// The graders that plan and grade it.
    pub(crate) graders: GraderTable,
    /// Channels, groups and histories; empty for what a judge is asked.
    pub(crate) around: BatchContext,
    /// Place of each item's own task.
    task_of: Vec<usize>,
}

impl Plan {
    /// The policy of an item.
    pub(crate) fn policy(&self, at: usize) -> &RewardPolicy {
        self.batch.policy_of(&self.batch.items[at])
    }

    /// The grader of an item's own task.
    pub(crate) fn spec(&self, at: usize) -> &'static Spec {
        self.tasks[self.task_of[at]].spec
    }
}

/// One task of one item: part 0 is the item's own task, the checks follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) item: usize,
    pub(crate) part: usize,
    pub(crate) task: usize,
}

pub(crate) async fn plan(
    inner: &Arc<Shared>,
    batch: Batch,
    id: BatchId,
    use_kept: bool,
) -> Result<Plan, EngineError> {
    let (admitted, received_us) = (inner.clock.monotonic(), inner.clock.unix_us());
    let (distinct, mut units) = distinct_tasks(inner, &batch)?;
    let tasks = prepare(inner, &batch.caller, distinct).await;
    order(&mut units, &tasks, &batch);
    let mut task_of = vec![0; batch.items.len()];
    for unit in units.iter().filter(|unit| unit.part == 0) {
        task_of[unit.item] = unit.task;
    }
    let (graders, around) = (inner.graders.clone(), BatchContext::default());
    Ok(Plan {
        id,
        batch,
        tasks,
        units,
        admitted,
        use_kept,
        received_us,
        graders,
        around,
        task_of,
    })
}

/// Orders long work first, so that none is left when the rest is done. Units that a grader takes in
/// groups stay together by task, at the position of the longest of them.
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
        let group = (task.spec.at_once > 1).then_some((Reverse(longest[unit.task]), unit.task));
        (lane_rank(task.lane()), group, Reverse(bytes(unit)))
    });
}

/// Lanes that wait for others go first, so that the cores work meanwhile.
fn lane_rank(lane: Lane) -> u8 {
    match lane {
        Lane::Remote => 0,
        Lane::Device => 1,
        Lane::Sandbox => 2,
        Lane::Cpu => 3,
    }
}

struct Distinct {
    grader: Arc<dyn Grader>,
    task: Task,
}

/// Where a task stands in its item: the item's own, or the check of this name.
pub(crate) fn task_pointer(check: Option<&str>) -> String {
    match check {
        None => "/task".to_owned(),
        Some(name) => format!("/checks/{}", name.replace('~', "~0").replace('/', "~1")),
    }
}

/// Finds the distinct tasks and checks the shape of each, before anything is graded.
fn distinct_tasks(
    inner: &Shared,
    batch: &Batch,
) -> Result<(Vec<Distinct>, Vec<Unit>), EngineError> {
    let mut index_of: HashMap<Hash, usize> = HashMap::new();
    let (mut distinct, mut units) = (Vec::new(), Vec::with_capacity(batch.items.len()));
    for (item, batch_item) in batch.items.iter().enumerate() {
        for (part, (name, task)) in batch_item.tasks().enumerate() {
            let index = if let Some(index) = index_of.get(&task.hash()) {
                *index
            } else {
                let grader = check(inner, task).map_err(|error| EngineError::Task {
                    pointer: format!("/items/{item}{}", task_pointer(name)),
                    error,
                })?;
                distinct.push(Distinct {
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

/// Looks at the shape of one task and finds its grader.
pub(crate) fn check(inner: &Shared, task: &Task) -> Result<Arc<dyn Grader>, assay_core::TaskError> {
    let grader = inner.graders.get(task)?;
    grader.check(task, &PrepareContext::new(&inner.graders))?;
    Ok(Arc::clone(grader))
}

/// Prepares the distinct tasks that are not in the cache, on the workers.
async fn prepare(
    inner: &Arc<Shared>,
    caller: &Arc<str>,
    distinct: Vec<Distinct>,
) -> Vec<Arc<PreparedTask>> {
    let mut slots = Vec::with_capacity(distinct.len());
    let mut jobs: Vec<Job> = Vec::new();
    for Distinct { grader, task } in distinct {
        let spec = grader.spec();
        if let Some(prepared) = inner.caches.prepared(spec, task.hash()) {
            slots.push(Slot::Ready(prepared));
            continue;
        }
        let (sender, receiver) = oneshot::channel();
        let inner = Arc::clone(inner);
        jobs.push(Box::new(move || {
            let prepared = Arc::new(prepare_one(&inner, grader.as_ref(), &task));
            inner.caches.keep_prepared(task.hash(), &prepared);
            // Nobody waits any more when the client is gone; the cache keeps the work.
            let _ = sender.send(prepared);
        }));
        slots.push(Slot::Coming(spec, receiver));
    }
    if !jobs.is_empty() {
        inner.workers.submit(caller, jobs);
    }
    let mut tasks = Vec::with_capacity(slots.len());
    for slot in slots {
        tasks.push(match slot {
            Slot::Ready(prepared) => prepared,
            Slot::Coming(spec, receiver) => receiver.await.unwrap_or_else(|_| {
                let fault = Fault::passing(
                    ErrorCode::ShuttingDown,
                    "the node is shutting down; send the item again",
                );
                Arc::new(PreparedTask {
                    spec,
                    ready: Err(Unprepared::Failed(fault)),
                })
            }),
        });
    }
    tasks
}

enum Slot {
    Ready(Arc<PreparedTask>),
    Coming(
        &'static assay_core::Spec,
        oneshot::Receiver<Arc<PreparedTask>>,
    ),
}

pub(crate) fn prepare_one(inner: &Shared, grader: &dyn Grader, task: &Task) -> PreparedTask {
    let spec = grader.spec();
    if let Some(reason) = grader.unavailable() {
        let fault = Fault::lasting(ErrorCode::GraderUnavailable, reason);
        return PreparedTask {
            spec,
            ready: Err(Unprepared::Failed(fault)),
        };
    }
    let cx = PrepareContext::new(&inner.graders);
    let ready = catch_unwind(AssertUnwindSafe(|| grader.prepare(task, &cx))).unwrap_or_else(|_| {
        let message = format!(
            "`{}` panicked while it prepared the task; report it with the task",
            spec.id()
        );
        Err(Unprepared::Failed(Fault::lasting(
            ErrorCode::GraderPanicked,
            message,
        )))
    });
    PreparedTask { spec, ready }
}
