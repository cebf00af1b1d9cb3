//! Orders the work of a batch, long work first.

use std::cmp::Reverse;
use std::sync::Arc;

use assay_core::{BatchId, GraderTable, Lane};

use crate::Batch;
use crate::policy::RewardPolicy;
use crate::stages::context::BatchContext;
use crate::stages::tasks::{BatchTasks, DistinctTask, Received, Unit};
use crate::state::EngineState;

/// A batch with checked tasks and ordered work.
pub(crate) struct Plan {
    pub(crate) id: BatchId,
    pub(crate) batch: Batch,
    /// The distinct tasks.
    pub(crate) tasks: Vec<DistinctTask>,
    /// The units of each task, long work first.
    pub(crate) work: Vec<TaskWork>,
    /// When the batch was received.
    pub(crate) received: Received,
    /// Whether cached outcomes may be used.
    pub(crate) use_cache: bool,
    /// The graders of the node.
    pub(crate) graders: GraderTable,
    /// Channels, groups and histories; empty for a batch that is sent to a judge.
    pub(crate) context: BatchContext,
}

/// The units of one task. They share the prepared task, which is in memory only while they are
/// graded.
pub(crate) struct TaskWork {
    /// Index of the task.
    pub(crate) task: usize,
    /// Longest completion first.
    pub(crate) units: Vec<Unit>,
}

impl Plan {
    /// The reward policy of the item at this position.
    pub(crate) fn policy(&self, position: usize) -> &RewardPolicy {
        self.batch.policy_of(&self.batch.items[position])
    }
}

/// Orders the units of a batch.
pub(crate) fn plan(
    state: &EngineState,
    id: BatchId,
    batch: Batch,
    tasks: BatchTasks,
    context: BatchContext,
    received: Received,
    use_cache: bool,
) -> Arc<Plan> {
    let BatchTasks {
        distinct, units, ..
    } = tasks;
    let work = order(units, &distinct, &batch);
    Arc::new(Plan {
        id,
        batch,
        tasks: distinct,
        work,
        received,
        use_cache,
        graders: state.graders.clone(),
        context,
    })
}

/// Groups the units by task and orders them so that long work starts first and does not run alone
/// at the end. A task is ordered by the longest of its completions.
fn order(units: Vec<Unit>, tasks: &[DistinctTask], batch: &Batch) -> Vec<TaskWork> {
    let bytes = |unit: &Unit| batch.items[unit.item].item.completion.bytes();
    let mut work: Vec<TaskWork> = (0..tasks.len())
        .map(|task| TaskWork {
            task,
            units: Vec::new(),
        })
        .collect();
    for unit in units {
        work[unit.task].units.push(unit);
    }
    for TaskWork { units, .. } in &mut work {
        units.sort_by_key(|unit| Reverse(bytes(unit)));
    }
    work.sort_by_key(|TaskWork { task, units }| {
        let longest = units.first().map_or(0, bytes);
        (lane_rank(tasks[*task].spec().lane), Reverse(longest))
    });
    work
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
