//! The tasks of a batch: finds the distinct ones and checks each before anything is graded.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use assay_core::{Clock, Grader, Hash, PrepareContext, Spec, Task, TaskError};

use crate::state::EngineState;
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
}

/// The checked tasks of a batch.
pub(crate) struct CheckedTasks {
    /// The distinct tasks.
    pub(crate) distinct: Vec<DistinctTask>,
    /// Units of work, in the order of the items.
    pub(crate) units: Vec<Unit>,
    /// Index of each item's own task in `distinct`.
    pub(crate) task_of: Vec<usize>,
}

impl CheckedTasks {
    /// The grader of the task of the item at this position.
    pub(crate) fn spec(&self, position: usize) -> &'static Spec {
        self.distinct[self.task_of[position]].grader.spec()
    }
}

/// JSON pointer to a task within its item: the item's own, or the check of this name.
pub(crate) fn task_pointer(check: Option<&str>) -> String {
    match check {
        None => "/task".to_owned(),
        Some(name) => format!("/checks/{}", name.replace('~', "~0").replace('/', "~1")),
    }
}

/// Finds the distinct tasks and checks each of them before anything is graded.
pub(crate) fn check(state: &EngineState, batch: &Batch) -> Result<CheckedTasks, EngineError> {
    let mut index_of: HashMap<Hash, usize> = HashMap::new();
    let (mut distinct, mut units) = (Vec::new(), Vec::with_capacity(batch.items.len()));
    for (item, batch_item) in batch.items.iter().enumerate() {
        for (part, (name, task)) in batch_item.tasks().enumerate() {
            let index = if let Some(index) = index_of.get(&task.hash()) {
                *index
            } else {
                let grader = check_one(state, task).map_err(|error| EngineError::Task {
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
    let mut task_of = vec![0; batch.items.len()];
    for unit in units.iter().filter(|unit: &&Unit| unit.part == 0) {
        task_of[unit.item] = unit.task;
    }
    Ok(CheckedTasks {
        distinct,
        units,
        task_of,
    })
}

/// Checks one task and returns its grader.
pub(crate) fn check_one(state: &EngineState, task: &Task) -> Result<Arc<dyn Grader>, TaskError> {
    let grader = state.graders.get(task)?;
    grader.check(task, &PrepareContext::new(&state.graders))?;
    Ok(Arc::clone(grader))
}
