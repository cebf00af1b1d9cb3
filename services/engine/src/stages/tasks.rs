//! The tasks of a batch: finds the distinct ones and checks each before anything is graded.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use assay_base::pointer;
use assay_core::clock::thread_time;
use assay_core::{Clock, ErrorCode, Grader, Hash, PrepareContext, Spec, Task, TaskError};
use tokio::sync::oneshot;

use crate::allowance::Charge;
use crate::cache::PreparedTask;
use crate::state::EngineState;
use crate::worker_threads::Job;
use crate::{Batch, EngineError};

/// When a batch was received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    /// On the monotonic clock.
    pub(crate) monotonic: Duration,
    /// In microseconds since the Unix epoch.
    pub(crate) unix_us: i64,
}

impl Received {
    pub(crate) fn now(clock: &dyn Clock) -> Self {
        Self {
            monotonic: clock.monotonic(),
            unix_us: clock.unix_us(),
        }
    }
}

/// One task of one item. Part 0 is the item's own task; the checks follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) item: usize,
    pub(crate) part: usize,
    pub(crate) task: usize,
}

/// A task that occurs in the batch, with its grader.
pub(crate) struct DistinctTask {
    pub(crate) grader: Arc<dyn Grader>,
    pub(crate) task: Task,
    /// Where it first occurs in the request, as a JSON pointer.
    pub(crate) pointer: String,
    /// The family of its items that name no channel.
    family: Option<String>,
}

impl DistinctTask {
    /// The description of its grader.
    pub(crate) fn spec(&self) -> &'static Spec {
        self.grader.spec()
    }
}

/// The tasks of a batch.
pub(crate) struct BatchTasks {
    /// The distinct tasks.
    pub(crate) distinct: Vec<DistinctTask>,
    /// Units of work, in the order of the items.
    pub(crate) units: Vec<Unit>,
    /// Index of each item's own task in `distinct`.
    pub(crate) task_of: Vec<usize>,
}

impl BatchTasks {
    /// The grader of the task of the item at this position.
    pub(crate) fn spec(&self, position: usize) -> &'static Spec {
        self.distinct[self.task_of[position]].spec()
    }

    /// Rejects items whose policy and task disagree on where right answers come from: a policy with
    /// `consensus` on a task with a gold, which says more than the group, and a task without a gold
    /// under another policy or as a check, where it would have no score.
    pub(crate) fn check_labels(&self, batch: &Batch) -> Result<(), EngineError> {
        // Most tasks need not be parsed.
        let has_gold: Vec<bool> = self
            .distinct
            .iter()
            .map(|DistinctTask { grader, task, .. }| {
                !task.body.get().contains("\"consensus\"") || grader.has_gold(task)
            })
            .collect();
        for unit in &self.units {
            let item = &batch.items[unit.item];
            let labels = unit.part == 0 && batch.policy_of(item).rules().consensus.is_some();
            let message = match (has_gold[unit.task], labels) {
                (true, true) => {
                    "the policy labels answers by consensus, but the task says which answers are \
                     right; send the task without a gold, as `\"consensus\": true` of `math` and \
                     `text` says, or use another policy"
                }
                (false, false) => {
                    "the task has no gold, so it needs a policy with `consensus`; a check always \
                     needs a gold"
                }
                (true, false) | (false, true) => continue,
            };
            let name = item.tasks().nth(unit.part).and_then(|(name, _)| name);
            return Err(EngineError::Refused {
                code: ErrorCode::InvalidPolicy,
                pointer: format!("/items/{}{}", unit.item, task_pointer(name)),
                message: message.to_owned(),
            });
        }
        Ok(())
    }

    /// The task family of the item at this position, if it names no channel; `None` for the default
    /// one.
    pub(crate) fn family(&self, position: usize) -> Option<&str> {
        self.distinct[self.task_of[position]].family.as_deref()
    }
}

/// JSON pointer to a task within its item: the item's own, or the check of this name.
pub(crate) fn task_pointer(check: Option<&str>) -> String {
    match check {
        None => "/task".to_owned(),
        Some(name) => pointer::member("/checks", name),
    }
}

/// Most checks of one item. Each is a task that is graded; a policy that needs more should be a
/// grader.
const MAX_CHECKS: usize = 256;

/// Number of tasks that are checked by one job, so that callers alternate quickly.
const TASKS_PER_JOB: usize = 4;

/// Finds the distinct tasks of a batch, whose tasks are not checked yet.
pub(crate) fn find(state: &EngineState, batch: &Batch) -> Result<BatchTasks, EngineError> {
    let mut index_of: HashMap<Hash, usize> = HashMap::new();
    let (mut distinct, mut units) = (Vec::new(), Vec::with_capacity(batch.items.len()));
    for (item, batch_item) in batch.items.iter().enumerate() {
        reject_many_checks(item, batch_item.checks.len())?;
        for (part, (name, task)) in batch_item.tasks().enumerate() {
            let index = if let Some(index) = index_of.get(&task.hash()) {
                *index
            } else {
                let pointer = || format!("/items/{item}{}", task_pointer(name));
                let grader = state.graders.get(task).map_err(|error| EngineError::Task {
                    pointer: pointer(),
                    error,
                })?;
                distinct.push(DistinctTask {
                    grader: Arc::clone(grader),
                    task: task.clone(),
                    pointer: pointer(),
                    family: grader.family(task),
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
    let mut task_of = vec![0; batch.items.len()];
    for unit in units.iter().filter(|unit: &&Unit| unit.part == 0) {
        task_of[unit.item] = unit.task;
    }
    Ok(BatchTasks {
        distinct,
        units,
        task_of,
    })
}

fn reject_many_checks(item: usize, checks: usize) -> Result<(), EngineError> {
    if checks <= MAX_CHECKS {
        return Ok(());
    }
    Err(EngineError::Refused {
        code: ErrorCode::InvalidField,
        pointer: format!("/items/{item}/checks"),
        message: format!("the item has {checks} checks; use at most {MAX_CHECKS}"),
    })
}

/// Checks the distinct tasks of a batch on the worker threads, before anything is graded, unless
/// they were checked before, as tasks were whose prepared form is cached. Returns the first error
/// in the order of the batch. Charges the time that it took.
pub(crate) async fn check(
    state: &Arc<EngineState>,
    share: &Arc<str>,
    tasks: &[DistinctTask],
    charge: Option<&dyn Charge>,
) -> Result<(), EngineError> {
    let is_new = |task: &&DistinctTask| {
        let hash = task.task.hash();
        let is_prepared = || state.caches.prepared(task.spec(), hash).is_some();
        !state.checked.contains(hash) && !is_prepared()
    };
    let new: Vec<&DistinctTask> = tasks.iter().filter(is_new).collect();
    // Later tasks are not checked once one is invalid, nor all if the client disconnects.
    let first_invalid = Arc::new(AtomicUsize::new(usize::MAX));
    let _stop = StopAll(Arc::clone(&first_invalid));
    let mut checks = Vec::new();
    let jobs = new.chunks(TASKS_PER_JOB).enumerate().map(|(chunk, tasks)| {
        let (sender, receiver) = oneshot::channel();
        checks.push(receiver);
        let job = CheckJob {
            state: Arc::clone(state),
            first: chunk * TASKS_PER_JOB,
            tasks: tasks
                .iter()
                .map(|task| (Arc::clone(&task.grader), task.task.clone()))
                .collect(),
            first_invalid: Arc::clone(&first_invalid),
        };
        Box::new(move || drop(sender.send(job.run()))) as Job
    });
    let jobs: Vec<Job> = jobs.collect();
    if jobs.is_empty() {
        return Ok(());
    }
    state.workers.submit(share, jobs);
    let mut first: Option<(usize, TaskError)> = None;
    for check in checks {
        let (time, error) = check.await.map_err(|_| EngineError::ShuttingDown)?;
        if let Some(charge) = charge {
            charge.spend(time);
        }
        if first.is_none() {
            first = error;
        }
    }
    match first {
        None => Ok(()),
        Some((index, error)) => Err(EngineError::Task {
            pointer: new[index].pointer.clone(),
            error,
        }),
    }
}

/// Stops the jobs of a check when it is dropped.
struct StopAll(Arc<AtomicUsize>);

impl Drop for StopAll {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

/// Checks some tasks of a batch.
struct CheckJob {
    state: Arc<EngineState>,
    /// Index of the first of its tasks.
    first: usize,
    tasks: Vec<(Arc<dyn Grader>, Task)>,
    /// Index of the first task that is known to be invalid.
    first_invalid: Arc<AtomicUsize>,
}

impl CheckJob {
    /// Returns the time that it took, and the first error.
    fn run(self) -> (Duration, Option<(usize, TaskError)>) {
        let (error, time) = thread_time(self.state.clock.as_ref(), || self.first_error());
        (time, error)
    }

    fn first_error(&self) -> Option<(usize, TaskError)> {
        for (index, (grader, task)) in (self.first..).zip(&self.tasks) {
            if self.first_invalid.load(Ordering::Acquire) < index {
                return None;
            }
            if let Err(error) = check_with(&self.state, grader.as_ref(), task) {
                self.first_invalid.fetch_min(index, Ordering::AcqRel);
                return Some((index, error));
            }
        }
        None
    }
}

/// Checks one task with its grader, and caches it if the grader prepares it at once. A panic of the
/// grader is an error of the task.
fn check_with(state: &EngineState, grader: &dyn Grader, task: &Task) -> Result<(), TaskError> {
    let cx = PrepareContext::new(&state.graders);
    let checked = catch_unwind(AssertUnwindSafe(|| match grader.unavailable() {
        // The task is prepared later, which fails.
        Some(_) => grader.check(task, &cx).map(|()| None),
        None => grader.check_and_prepare(task, &cx),
    }));
    let checked = checked.unwrap_or_else(|_| {
        let message = format!(
            "`{}` panicked while checking the task; report it with the task",
            grader.spec().id()
        );
        Err(TaskError::new(ErrorCode::GraderPanicked, "", message))
    });
    if let Some(prepared) = checked? {
        let prepared = Arc::new(PreparedTask {
            spec: grader.spec(),
            ready: Ok(prepared),
        });
        state.caches.insert_prepared(task.hash(), &prepared);
    }
    state.checked.insert(task.hash());
    Ok(())
}

/// Checks one task, unless it was checked before. Takes as long as the task requires, so it must
/// not run on a thread of the runtime.
pub(crate) fn check_one(state: &EngineState, task: &Task) -> Result<(), TaskError> {
    if state.checked.contains(task.hash()) {
        return Ok(());
    }
    let grader = state.graders.get(task)?;
    check_with(state, grader.as_ref(), task)
}
