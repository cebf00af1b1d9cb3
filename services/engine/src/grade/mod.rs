//! Stage 2, grade: units run in the lanes of their graders, and items are returned in waves.
//!
//! The `Cpu` lane runs jobs of a few units on the worker threads. The other lanes run as tasks of
//! the runtime, a bounded number at a time. In both, a panic affects only the item in which it
//! occurred.

mod dispatch;
mod run;
mod unit;

use std::sync::Arc;
use std::time::Duration;

use assay_core::CancelFlag;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::plan::Plan;
use crate::state::EngineState;
use dispatch::Dispatcher;

pub(crate) use run::is_transient;
pub(crate) use unit::GradedUnit;

/// An item whose units are all graded.
pub(crate) struct GradedItem {
    pub(crate) main: GradedUnit,
    pub(crate) checks: Vec<GradedUnit>,
}

impl GradedItem {
    /// What its caller is charged.
    pub(crate) fn charged(&self) -> Duration {
        let units = std::iter::once(&self.main).chain(&self.checks);
        units.map(|unit| unit.charged).sum()
    }
}

/// Receives items as they finish. Dropping it cancels the rest.
pub(crate) struct GradedItems {
    plan: Arc<Plan>,
    results: mpsc::UnboundedReceiver<Vec<GradedUnit>>,
    slots: Vec<Vec<GradedUnit>>,
    open: usize,
    cancel: CancelFlag,
    /// Cancels tasks that wait for a permit; they do not check `cancel` while they wait.
    _dropped: DropGuard,
}

impl Drop for GradedItems {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Sends every unit of the plan to its lane.
pub(crate) fn grade(state: &Arc<EngineState>, plan: &Arc<Plan>) -> GradedItems {
    let (sender, results) = mpsc::unbounded_channel();
    let cancel = CancelFlag::new();
    let dropped = CancellationToken::new();
    Dispatcher::new(state, plan, sender, &cancel, &dropped).start();
    GradedItems {
        plan: Arc::clone(plan),
        results,
        slots: plan.batch.items.iter().map(|_| Vec::new()).collect(),
        open: plan.batch.items.len(),
        cancel,
        _dropped: dropped.drop_guard(),
    }
}

impl GradedItems {
    /// Whether every item is graded.
    pub(crate) fn is_done(&self) -> bool {
        self.open == 0
    }

    /// Returns the next graded items in the order of the batch: all remaining ones if `whole`,
    /// otherwise those that are ready. `None` after the last.
    pub(crate) async fn next(&mut self, whole: bool) -> Option<Vec<GradedItem>> {
        let mut wave = Vec::new();
        while self.open > 0 && (whole || wave.is_empty()) {
            let Some(parts) = self.results.recv().await else {
                self.fail_open_items(&mut wave);
                break;
            };
            self.collect(parts, &mut wave);
            while let Ok(parts) = self.results.try_recv() {
                self.collect(parts, &mut wave);
            }
        }
        wave.sort_by_key(|done| done.main.item);
        (!wave.is_empty()).then_some(wave)
    }

    fn collect(&mut self, parts: Vec<GradedUnit>, wave: &mut Vec<GradedItem>) {
        for part in parts {
            let item = part.item;
            let Some(expected) = self
                .plan
                .batch
                .items
                .get(item)
                .map(|item| 1 + item.checks.len())
            else {
                continue;
            };
            self.slots[item].push(part);
            if self.slots[item].len() == expected {
                let mut parts = std::mem::take(&mut self.slots[item]);
                parts.sort_by_key(|part| part.part);
                let mut parts = parts.into_iter();
                if let Some(main) = parts.next() {
                    wave.push(GradedItem {
                        main,
                        checks: parts.collect(),
                    });
                    self.open -= 1;
                }
            }
        }
    }

    /// The lanes ended before all units were graded: every open item fails.
    fn fail_open_items(&mut self, wave: &mut Vec<GradedItem>) {
        let plan = Arc::clone(&self.plan);
        let mut missing = Vec::new();
        for unit in plan.work.iter().flat_map(|work| &work.units) {
            let item_open = self.slots[unit.item]
                .iter()
                .all(|done| done.part != unit.part);
            let already_waved = wave
                .iter()
                .any(|done: &GradedItem| done.main.item == unit.item);
            if item_open && !already_waved {
                missing.push(GradedUnit {
                    item: unit.item,
                    part: unit.part,
                    spec: plan.tasks[unit.task].spec(),
                    outcome: run::not_graded(),
                    cached: false,
                    queue_us: 0,
                    grade_us: 0,
                    charged: Duration::ZERO,
                    time_us: plan.received.unix_us,
                });
            }
        }
        self.collect(missing, wave);
        self.open = 0;
    }
}
