//! Grades units of one task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use assay_core::worker_use;
use assay_core::{
    ErrorCode, Evidence, Fault, Grade, GradeContext, Hash, Item, Outcome, Prepared, Score, Spec,
    Task, Verdict,
};
use futures::FutureExt;

use super::unit::GradedUnit;
use crate::cache::{PreparedTask, outcome_key};
use crate::stages::plan::Plan;
use crate::stages::tasks::Unit;
use crate::state::EngineState;

/// Grades the units of one batch.
pub(super) struct UnitRunner {
    pub(super) state: Arc<EngineState>,
    pub(super) plan: Arc<Plan>,
    pub(super) cx: GradeContext,
}

/// The result of the checks that precede grading.
enum Precheck<'a> {
    Done(Outcome, bool),
    Grade {
        prepared: &'a Arc<dyn Prepared>,
        key: Option<Hash>,
    },
}

impl UnitRunner {
    pub(super) fn run_cpu(&self, task: &PreparedTask, unit: Unit) -> GradedUnit {
        let started = self.state.clock.monotonic();
        let item = &self.plan.batch.items[unit.item].item;
        let (outcome, cached) = match self.precheck(task, unit) {
            Precheck::Done(outcome, cached) => (outcome, cached),
            Precheck::Grade { prepared, key } => {
                let spec = task.spec;
                let grade_once = || {
                    let items = [item];
                    let grading =
                        AssertUnwindSafe(|| prepared.grade(&items, &self.cx).now_or_never());
                    match catch_unwind(grading) {
                        Ok(Some(outcomes)) => first(outcomes, spec),
                        Ok(None) => contract_violation(
                            spec,
                            "was not ready at once, as graders of the `cpu` lane must be",
                        ),
                        Err(_) => panicked(spec),
                    }
                };
                (
                    self.cache_outcome(key, retried(grade_once(), grade_once)),
                    false,
                )
            }
        };
        self.done(unit, started, outcome, cached)
    }

    /// Grades units of one task in a lane other than `Cpu`, and divides what it cost among them.
    pub(super) async fn run_charged(
        &self,
        task: &Arc<PreparedTask>,
        units: &[Unit],
    ) -> Vec<GradedUnit> {
        let started = self.state.clock.monotonic();
        let share = &self.plan.batch.share;
        let (mut done, workers) = worker_use::measured(share, self.run_waiting(task, units)).await;
        let elapsed = self.state.clock.monotonic().saturating_sub(started);
        let count = u32::try_from(done.len()).unwrap_or(u32::MAX).max(1);
        let per_unit = workers.charged(elapsed) / count;
        done.iter_mut().for_each(|unit| unit.charged = per_unit);
        done
    }

    /// Grades units of one task in a lane other than `Cpu`.
    async fn run_waiting(&self, task: &Arc<PreparedTask>, units: &[Unit]) -> Vec<GradedUnit> {
        let started = self.state.clock.monotonic();
        let mut done = Vec::with_capacity(units.len());
        let mut to_grade = Vec::with_capacity(units.len());
        for unit in units {
            match self.precheck(task, *unit) {
                Precheck::Done(outcome, cached) => {
                    done.push(self.done(*unit, started, outcome, cached));
                }
                Precheck::Grade { prepared, key } => to_grade.push((*unit, prepared, key)),
            }
        }
        let Some((unit, prepared, _)) = to_grade.first() else {
            return done;
        };
        let (spec, prepared, hash) = (task.spec, *prepared, self.task_hash(*unit));
        let items: Vec<&Item> = to_grade
            .iter()
            .map(|(unit, ..)| &self.plan.batch.items[unit.item].item)
            .collect();
        let together = items.len() > 1;
        let mut outcomes = if together {
            grade_together(prepared, &items, &self.cx).await
        } else {
            None
        }
        .unwrap_or_default();
        for (at, (unit, _, key)) in to_grade.into_iter().enumerate() {
            // If grading them together failed, each is graded alone, so that a panic affects only
            // its own item.
            let mut outcome = match outcomes.get_mut(at).and_then(Option::take) {
                Some(outcome) => outcome,
                None => grade_alone(prepared, items[at], &self.cx, spec).await,
            };
            if is_transient(&outcome) && !prepared.retries_itself() {
                outcome = grade_alone(prepared, items[at], &self.cx, spec).await;
            }
            done.push(self.done(unit, started, self.cache_outcome(key, outcome), false));
        }
        // The grader may have prepared more data for the first completion, which counts for the
        // cache.
        self.state.caches.reweigh(hash, task);
        done
    }

    fn task_hash(&self, unit: Unit) -> Hash {
        let batch_item = &self.plan.batch.items[unit.item];
        batch_item
            .part(unit.part)
            .map_or(batch_item.task.hash(), Task::hash)
    }

    /// The same outcome for all these units, which are not graded.
    pub(super) fn all_with(&self, units: &[Unit], outcome: &Outcome) -> Vec<GradedUnit> {
        let started = self.state.clock.monotonic();
        units
            .iter()
            .map(|unit| self.done(*unit, started, outcome.clone(), false))
            .collect()
    }

    /// The outcome of units that need not be graded any more: the node is stopping, or the client
    /// has disconnected.
    pub(super) fn stopped(&self) -> Option<Outcome> {
        if self.state.stopping.is_cancelled() {
            return Some(not_graded());
        }
        self.cx.cancel.is_cancelled().then(|| {
            Outcome::Failed(Fault::transient(
                ErrorCode::Cancelled,
                "the client disconnected; send the item again",
            ))
        })
    }

    /// Returns results that need no grader: the unit need not be graded any more, the task is
    /// invalid, the completion is too long, or the outcome is cached.
    fn precheck<'t>(&self, task: &'t PreparedTask, unit: Unit) -> Precheck<'t> {
        let batch_item = &self.plan.batch.items[unit.item];
        if let Some(outcome) = self.stopped() {
            return Precheck::Done(outcome, false);
        }
        let prepared = match &task.ready {
            Ok(prepared) => prepared,
            Err(unprepared) => return Precheck::Done(unprepared.clone().into(), false),
        };
        let bytes = batch_item.item.completion.bytes();
        let most = self.state.limits.completion_bytes;
        if bytes > most {
            let evidence = Evidence::new()
                .value("bytes", bytes)
                .value("max_bytes", most);
            let grade = Grade::new(Verdict::TOO_LONG, Score::ZERO).with_evidence(evidence);
            return Precheck::Done(Outcome::Graded(grade), false);
        }
        let cacheable = task.spec.deterministic && self.plan.use_cache;
        let key = cacheable.then(|| {
            let context = task
                .spec
                .reads_context
                .then(|| batch_item.item.context_hash());
            let hash = self.task_hash(unit);
            outcome_key(
                &self.plan.batch.caller,
                task.spec,
                hash,
                batch_item.completion_hash(),
                batch_item.item.meta.think_open,
                context,
            )
        });
        if let Some(outcome) = key.as_ref().and_then(|key| self.state.caches.outcome(key)) {
            return Precheck::Done(Outcome::clone(&outcome), true);
        }
        Precheck::Grade { prepared, key }
    }

    fn cache_outcome(&self, key: Option<Hash>, outcome: Outcome) -> Outcome {
        if let Some(key) = key {
            self.state.caches.insert_outcome(key, &outcome);
        }
        outcome
    }

    fn done(&self, unit: Unit, started: Duration, outcome: Outcome, cached: bool) -> GradedUnit {
        let now = self.state.clock.monotonic();
        let taken = now.saturating_sub(started);
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        GradedUnit {
            item: unit.item,
            part: unit.part,
            spec: self.plan.tasks[unit.task].spec(),
            outcome,
            cached,
            queue_us: micros(started.saturating_sub(self.plan.received.monotonic)),
            grade_us: micros(taken),
            charged: Duration::ZERO,
            time_us: self.state.clock.unix_us(),
        }
    }
}

/// The outcome of an item that was not graded before the node stopped.
pub(super) fn not_graded() -> Outcome {
    let message = "the node stopped before the item was graded; send it again";
    Outcome::Failed(Fault::transient(ErrorCode::ShuttingDown, message))
}

/// Grades several items. `None` if the grader panics or does not return one outcome per item.
async fn grade_together(
    prepared: &Arc<dyn Prepared>,
    items: &[&Item],
    cx: &GradeContext,
) -> Option<Vec<Option<Outcome>>> {
    let grading = catch_unwind(AssertUnwindSafe(|| prepared.grade(items, cx))).ok()?;
    let outcomes = AssertUnwindSafe(grading).catch_unwind().await.ok()?;
    (outcomes.len() == items.len()).then(|| outcomes.into_iter().map(Some).collect())
}

/// Grades one item, and reports a panic as its outcome.
async fn grade_alone(
    prepared: &Arc<dyn Prepared>,
    item: &Item,
    cx: &GradeContext,
    spec: &'static Spec,
) -> Outcome {
    let items = [item];
    let Ok(grading) = catch_unwind(AssertUnwindSafe(|| prepared.grade(&items, cx))) else {
        return panicked(spec);
    };
    match AssertUnwindSafe(grading).catch_unwind().await {
        Ok(outcomes) => first(outcomes, spec),
        Err(_) => panicked(spec),
    }
}

/// Repeats a transient failure once.
fn retried(outcome: Outcome, again: impl FnOnce() -> Outcome) -> Outcome {
    if is_transient(&outcome) {
        again()
    } else {
        outcome
    }
}

/// Whether grading again may give another outcome.
fn is_transient(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(fault) if fault.retryable)
}

fn first(outcomes: Vec<Outcome>, spec: &Spec) -> Outcome {
    let mut outcomes = outcomes.into_iter();
    match (outcomes.next(), outcomes.next()) {
        (Some(outcome), None) => outcome,
        _ => contract_violation(spec, "did not return exactly one outcome for one item"),
    }
}

fn contract_violation(spec: &Spec, what: &str) -> Outcome {
    Outcome::Failed(Fault::permanent(
        ErrorCode::Internal,
        format!("`{}` {what}; report it with the item", spec.id()),
    ))
}

fn panicked(spec: &Spec) -> Outcome {
    let message = format!(
        "`{}` panicked on this item; report it with the item",
        spec.id()
    );
    Outcome::Failed(Fault::permanent(ErrorCode::GraderPanicked, message))
}
