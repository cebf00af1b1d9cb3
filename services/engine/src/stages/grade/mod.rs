//! Units run in the lanes of their graders, and items are returned in waves.
//!
//! The `Cpu` lane runs jobs of a few units on the worker threads. The other lanes run as tasks of
//! the runtime, a bounded number at a time. In both, a panic affects only the item in which it
//! occurred.

mod counts;
mod dispatch;
mod open_items;
mod run;
mod unit;

use std::sync::Arc;
use std::time::Duration;

use assay_core::{CancelFlag, Component, Lane, Outcome, Score};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use assay_record::{ComponentGrade, ItemGrade};

use crate::batch::prompt_key;
use crate::stages::plan::Plan;
use crate::state::EngineState;
use counts::GradedCounts;
use dispatch::Dispatcher;
use open_items::OpenItems;

pub(crate) use unit::GradedUnit;

/// Receives items as they finish. Dropping it cancels the rest.
pub(crate) struct GradedItems {
    plan: Arc<Plan>,
    results: mpsc::UnboundedReceiver<Vec<GradedUnit>>,
    open: OpenItems,
    counts: GradedCounts,
    /// What the caller is charged for items that were returned since [`GradedItems::charge`].
    charge: Duration,
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
        open: OpenItems::new(plan.batch.items.iter().map(|item| 1 + item.checks.len())),
        counts: GradedCounts::default(),
        charge: Duration::ZERO,
        cancel,
        _dropped: dropped.drop_guard(),
    }
}

impl GradedItems {
    /// Whether every item is graded.
    pub(crate) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// What the caller is charged for the items that were returned since the last call.
    pub(crate) fn charge(&mut self) -> Duration {
        std::mem::take(&mut self.charge)
    }

    /// Returns the next graded items in the order of the batch: all remaining ones if `whole`,
    /// otherwise those that are ready. `None` after the last.
    pub(crate) async fn next(&mut self, whole: bool) -> Option<Vec<ItemGrade>> {
        let mut wave = Vec::with_capacity(if whole { self.open.len() } else { 0 });
        while !self.open.is_empty() && (whole || wave.is_empty()) {
            let Some(parts) = self.results.recv().await else {
                self.fail_open_items(&mut wave);
                break;
            };
            self.collect(parts, &mut wave);
            while let Ok(parts) = self.results.try_recv() {
                self.collect(parts, &mut wave);
            }
        }
        self.counts.flush();
        // Grades are large: each is moved once.
        wave.sort_by_cached_key(|grade: &ItemGrade| grade.position);
        (!wave.is_empty()).then_some(wave)
    }

    fn collect(&mut self, units: Vec<GradedUnit>, wave: &mut Vec<ItemGrade>) {
        for unit in units {
            if !self.cancel.is_cancelled() {
                self.counts.add(&unit);
            }
            if let Some(units) = self.open.add(unit) {
                self.charge += units.iter().map(|unit| unit.charged).sum::<Duration>();
                wave.extend(item_grade(&self.plan, units));
            }
        }
    }

    /// The lanes ended before all units were graded: every open item fails.
    fn fail_open_items(&mut self, wave: &mut Vec<ItemGrade>) {
        let plan = Arc::clone(&self.plan);
        for work in &plan.work {
            let spec = plan.tasks[work.task].spec();
            let missing = work
                .units
                .iter()
                .filter(|unit| self.open.lacks(unit.item, unit.part))
                .map(|unit| GradedUnit {
                    item: unit.item,
                    part: unit.part,
                    spec,
                    outcome: run::not_graded(),
                    cached: false,
                    queue_us: 0,
                    grade_us: 0,
                    charged: Duration::ZERO,
                    time_us: plan.received.unix_us,
                })
                .collect();
            self.collect(missing, wave);
        }
    }
}

/// What a unit cost, in microseconds. Units of the `Cpu` lane keep a thread busy, and several of
/// them are charged together.
fn charged(unit: &GradedUnit) -> u64 {
    match unit.spec.lane {
        Lane::Cpu => unit.grade_us,
        _ => u64::try_from(unit.charged.as_micros()).unwrap_or(u64::MAX),
    }
}

/// The grade of an item whose units are graded: first the one of its own task, then its checks.
/// Appeals, policies and corrections fill in the rest.
fn item_grade(plan: &Plan, units: Vec<GradedUnit>) -> Option<ItemGrade> {
    let mut units = units.into_iter();
    let main = units.next()?;
    let item = &plan.batch.items[main.item];
    let position = u32::try_from(main.item).unwrap_or(u32::MAX);
    let mut grade = ItemGrade {
        position,
        id: item.id.clone(),
        group: item.group.clone(),
        prompt_key: Some(prompt_key(item)),
        grade: plan.id.grade(position),
        channel: plan.context.channel_name(main.item),
        grader: main.spec.id(),
        outcome: main.outcome.as_str().into(),
        deterministic: true,
        queue_us: main.queue_us,
        grade_us: main.grade_us,
        time_us: main.time_us,
        cached: main.cached,
        charged_us: charged(&main),
        ..ItemGrade::default()
    };
    match main.outcome {
        Outcome::Graded(graded) => {
            let verdict = graded.verdict.as_str();
            grade.verdict = Some(verdict.into());
            grade.pass = main.spec.pass(verdict);
            grade.score = graded.known_score().map(Score::get);
            let measures = graded.measures.into_iter().chain(item.item.meta.measures());
            grade.measures = measures
                .map(|(name, measure)| (name.into(), measure.get()))
                .collect();
            grade.components = graded.components.into_iter().map(Into::into).collect();
            grade.steps = graded.steps;
            grade.evidence = Some(graded.evidence);
            grade.deterministic = graded.deterministic;
            grade.work = graded.work;
        }
        Outcome::Ungradable(fault) | Outcome::Failed(fault) => grade.error = Some(fault),
    }
    for (check, (name, _)) in units.zip(&item.checks) {
        grade.queue_us = grade.queue_us.max(check.queue_us);
        grade.grade_us = grade.grade_us.saturating_add(check.grade_us);
        grade.time_us = grade.time_us.max(check.time_us);
        grade.charged_us = grade.charged_us.saturating_add(charged(&check));
        add_check(&mut grade, name, check);
    }
    Some(grade)
}

/// Adds the result of a check: a component, and its measures as `NAME.MEASURE`. Its steps are those
/// of the item if no part before it has any.
fn add_check(grade: &mut ItemGrade, name: &str, check: GradedUnit) {
    if let Outcome::Graded(graded) = &check.outcome {
        let measures = graded.measures.iter();
        let measures =
            measures.map(|(measure, value)| (format!("{name}.{measure}").into(), value.get()));
        grade.measures.extend(measures);
        if grade.steps.is_empty() {
            grade.steps.clone_from(&graded.steps);
        }
    }
    let component = Component {
        name: name.to_owned(),
        grader: check.spec.id(),
        outcome: check.outcome,
    };
    grade.components.push(ComponentGrade::of_check(component));
}
