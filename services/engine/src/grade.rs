//! Stage 2, grade: units run in the lanes of their graders, and items are returned in waves.
//!
//! The `Cpu` lane runs jobs of a few units on the worker threads. The other lanes run as tasks of
//! the runtime, a bounded number at a time. In both, a panic affects only the item in which it
//! occurred.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use assay_core::worker_use;
use assay_core::{
    CancelFlag, ErrorCode, Fault, Grade, GradeContext, Item, Lane, Outcome, Prepared, Score, Spec,
    Verdict,
};
use futures::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;

use crate::cache::outcome_key;
use crate::metrics;
use crate::plan::Plan;
use crate::state::EngineState;
use crate::tasks::Unit;
use crate::worker_threads::Job;

/// Most units per job. Few enough that callers alternate quickly, enough that queueing costs
/// little.
const UNITS_PER_JOB: usize = 32;

/// A graded unit.
pub(crate) struct GradedUnit {
    pub(crate) item: usize,
    pub(crate) part: usize,
    pub(crate) spec: &'static Spec,
    pub(crate) outcome: Outcome,
    pub(crate) cached: bool,
    pub(crate) queue_us: u64,
    pub(crate) grade_us: u64,
    /// What its caller is charged.
    pub(crate) charged: Duration,
    pub(crate) time_us: i64,
}

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
    let runner = Arc::new(UnitRunner {
        state: Arc::clone(state),
        plan: Arc::clone(plan),
        cx: GradeContext {
            caller: Arc::clone(&plan.batch.caller),
            use_cache: plan.use_cache,
            cancel: cancel.clone(),
        },
    });
    let lane_of = |unit: &&Unit| plan.tasks[unit.task].lane();
    let (cpu, waiting): (Vec<&Unit>, Vec<&Unit>) = plan
        .units
        .iter()
        .partition(|unit| lane_of(unit) == Lane::Cpu);

    for units in waiting.chunk_by(|a, b| a.task == b.task) {
        let spec = plan.tasks[units[0].task].spec;
        // At most what the grader accepts per call, and few enough that all permits of the lane are
        // used.
        let share = units.len().div_ceil(state.limits.in_workers.max(1));
        for units in units.chunks(share.clamp(1, spec.max_batch.max(1))) {
            let (runner, sender) = (Arc::clone(&runner), sender.clone());
            let units: Vec<Unit> = units.iter().map(|unit| **unit).collect();
            let lane = runner.state.lane_permits(plan.tasks[units[0].task].lane());
            let dropped = dropped.clone();
            let span = tracing::info_span!("grade", grader = spec.name, units = units.len());
            let task = async move {
                let graded = async {
                    // The permits are never closed.
                    let _permit = lane.acquire(&runner.cx.caller).await;
                    runner.run_charged(&units).await
                };
                let done = tokio::select! {
                    biased;
                    // Dropping a grader's future also kills the sandboxed processes that work for
                    // it.
                    () = dropped.cancelled() => return,
                    () = runner.state.stopping.cancelled() => runner.not_graded(&units),
                    done = graded => done,
                };
                let _ = sender.send(done);
            };
            state.tasks.spawn(task.instrument(span));
        }
    }

    let share = cpu.len().div_ceil(state.workers.count() * 4);
    let units_per_job = share.clamp(1, UNITS_PER_JOB);
    let jobs = cpu.chunks(units_per_job).map(|units| {
        let (runner, sender) = (Arc::clone(&runner), sender.clone());
        let units: Vec<Unit> = units.iter().map(|unit| **unit).collect();
        let span = tracing::info_span!("grade", lane = "cpu", units = units.len());
        Box::new(move || {
            let _entered = span.enter();
            let done = units.into_iter().map(|unit| runner.run_cpu(unit)).collect();
            let _ = sender.send(done);
        }) as Job
    });
    state.workers.submit(&plan.batch.caller, jobs.collect());

    let slots = plan.batch.items.iter().map(|_| Vec::new()).collect();
    let _dropped = dropped.drop_guard();
    GradedItems {
        plan: Arc::clone(plan),
        results,
        slots,
        open: plan.batch.items.len(),
        cancel,
        _dropped,
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
        for unit in &plan.units {
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
                    spec: plan.tasks[unit.task].spec,
                    outcome: not_graded(),
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

/// Grades the units of one batch.
struct UnitRunner {
    state: Arc<EngineState>,
    plan: Arc<Plan>,
    cx: GradeContext,
}

/// The result of the checks that precede grading.
enum Precheck<'a> {
    Done(Outcome, bool),
    Grade {
        prepared: &'a Arc<dyn Prepared>,
        key: Option<assay_core::Hash>,
    },
}

impl UnitRunner {
    fn run_cpu(&self, unit: Unit) -> GradedUnit {
        let started = self.state.clock.monotonic();
        let item = &self.plan.batch.items[unit.item].item;
        let (outcome, cached) = match self.precheck(unit) {
            Precheck::Done(outcome, cached) => (outcome, cached),
            Precheck::Grade { prepared, key } => {
                let spec = self.plan.tasks[unit.task].spec;
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
    async fn run_charged(&self, units: &[Unit]) -> Vec<GradedUnit> {
        let started = self.state.clock.monotonic();
        let (mut done, workers) =
            worker_use::measured(&self.cx.caller, self.run_waiting(units)).await;
        let elapsed = self.state.clock.monotonic().saturating_sub(started);
        let count = u32::try_from(done.len()).unwrap_or(u32::MAX).max(1);
        let share = workers.charged(elapsed) / count;
        done.iter_mut().for_each(|unit| unit.charged = share);
        done
    }

    /// Grades units of one task in a lane other than `Cpu`.
    async fn run_waiting(&self, units: &[Unit]) -> Vec<GradedUnit> {
        let started = self.state.clock.monotonic();
        let mut done = Vec::with_capacity(units.len());
        let mut to_grade = Vec::with_capacity(units.len());
        for unit in units {
            match self.precheck(*unit) {
                Precheck::Done(outcome, cached) => {
                    done.push(self.done(*unit, started, outcome, cached));
                }
                Precheck::Grade { prepared, key } => to_grade.push((*unit, prepared, key)),
            }
        }
        let Some((unit, prepared, _)) = to_grade.first() else {
            return done;
        };
        let (task, hash) = (&self.plan.tasks[unit.task], self.task_hash(*unit));
        let (spec, prepared) = (task.spec, *prepared);
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
            if is_transient(&outcome) {
                outcome = grade_alone(prepared, items[at], &self.cx, spec).await;
            }
            done.push(self.done(unit, started, self.cache_outcome(key, outcome), false));
        }
        // The grader may have prepared more data for the first completion, which counts for the
        // cache.
        self.state.caches.reweigh(hash, task);
        done
    }

    fn task_hash(&self, unit: Unit) -> assay_core::Hash {
        let batch_item = &self.plan.batch.items[unit.item];
        batch_item
            .part(unit.part)
            .map_or(batch_item.task.hash(), assay_core::Task::hash)
    }

    /// The results of units that were not graded when the node stopped.
    fn not_graded(&self, units: &[Unit]) -> Vec<GradedUnit> {
        let started = self.state.clock.monotonic();
        units
            .iter()
            .map(|unit| self.done(*unit, started, not_graded(), false))
            .collect()
    }

    /// Returns results that need no grader: the node is stopping, the client has disconnected, the
    /// task is invalid, the completion is too long, or the outcome is cached.
    fn precheck(&self, unit: Unit) -> Precheck<'_> {
        let task = &self.plan.tasks[unit.task];
        let batch_item = &self.plan.batch.items[unit.item];
        if self.state.stopping.is_cancelled() {
            return Precheck::Done(not_graded(), false);
        }
        if self.cx.cancel.is_cancelled() {
            let fault = Fault::transient(
                ErrorCode::Cancelled,
                "the client disconnected; send the item again",
            );
            return Precheck::Done(Outcome::Failed(fault), false);
        }
        let prepared = match &task.ready {
            Ok(prepared) => prepared,
            Err(unprepared) => return Precheck::Done(unprepared.clone().into(), false),
        };
        let bytes = batch_item.item.completion.bytes();
        let most = self.state.limits.completion_bytes;
        if bytes > most {
            let evidence = assay_core::Evidence::new()
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

    fn cache_outcome(&self, key: Option<assay_core::Hash>, outcome: Outcome) -> Outcome {
        if let Some(key) = key {
            self.state.caches.insert_outcome(key, &outcome);
        }
        outcome
    }

    fn done(
        &self,
        unit: Unit,
        started: std::time::Duration,
        outcome: Outcome,
        cached: bool,
    ) -> GradedUnit {
        let now = self.state.clock.monotonic();
        let taken = now.saturating_sub(started);
        let micros =
            |span: std::time::Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let done = GradedUnit {
            item: unit.item,
            part: unit.part,
            spec: self.plan.tasks[unit.task].spec,
            outcome,
            cached,
            queue_us: micros(started.saturating_sub(self.plan.received.monotonic)),
            grade_us: micros(taken),
            charged: taken,
            time_us: self.state.clock.unix_us(),
        };
        if !self.cx.cancel.is_cancelled() {
            metrics::graded(
                done.spec,
                &done.outcome,
                cached,
                done.queue_us,
                done.grade_us,
            );
        }
        done
    }
}

/// The outcome of an item that was not graded before the node stopped.
fn not_graded() -> Outcome {
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
pub(crate) fn is_transient(outcome: &Outcome) -> bool {
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
