//! Stage 2, grade: units go to the lanes of their graders; items come back in waves.
//!
//! The `Cpu` lane runs on the worker threads in short runs of units. Lanes that wait run as tasks
//! of the runtime, a bounded number at once. Either way a panic costs the item it happened in.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use assay_core::{
    CancelFlag, ErrorCode, Fault, Grade, GradeContext, Item, Lane, Outcome, Prepared, Score, Spec,
    Verdict,
};
use futures::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::cache::outcome_key;
use crate::metrics;
use crate::plan::{Plan, Unit};
use crate::shared::Shared;
use crate::workers::Job;

/// Most units one job grades. Short enough that callers take turns quickly, long enough that
/// queueing costs little.
const RUN_LENGTH: usize = 32;

/// A unit graded.
pub(crate) struct PartDone {
    pub(crate) item: usize,
    pub(crate) part: usize,
    pub(crate) spec: &'static Spec,
    pub(crate) outcome: Outcome,
    pub(crate) cached: bool,
    pub(crate) queue_us: u64,
    pub(crate) grade_us: u64,
    pub(crate) time_us: i64,
}

/// An item all of whose parts are graded.
pub(crate) struct ItemDone {
    pub(crate) main: PartDone,
    pub(crate) checks: Vec<PartDone>,
}

/// Items as they finish. Dropping it tells the lanes that nobody waits any more.
pub(crate) struct Finished {
    plan: Arc<Plan>,
    results: mpsc::UnboundedReceiver<Vec<PartDone>>,
    slots: Vec<Vec<PartDone>>,
    open: usize,
    cancel: CancelFlag,
    /// Cancels tasks that wait in lanes; they do not check `cancel` while they wait.
    _dropped: DropGuard,
}

impl Drop for Finished {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Sends every unit of the plan to its lane.
pub(crate) fn grade(inner: &Arc<Shared>, plan: &Arc<Plan>) -> Finished {
    let (sender, results) = mpsc::unbounded_channel();
    let cancel = CancelFlag::new();
    let dropped = CancellationToken::new();
    let shared = Arc::new(Lanes {
        inner: Arc::clone(inner),
        plan: Arc::clone(plan),
        cx: GradeContext {
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
        // Enough at once to be quick, few enough for everyone in the lane to have some.
        let share = units.len().div_ceil(inner.limits.in_workers.max(1));
        for units in units.chunks(share.clamp(1, spec.at_once.max(1))) {
            let (shared, sender) = (Arc::clone(&shared), sender.clone());
            let units: Vec<Unit> = units.iter().map(|unit| **unit).collect();
            let lane = shared.inner.lane_permits(plan.tasks[units[0].task].lane());
            let dropped = dropped.clone();
            inner.tasks.spawn(async move {
                let graded = async {
                    // The semaphore cannot be closed: it lives as long as the engine.
                    let _permit = lane.acquire_owned().await;
                    shared.run_waiting(&units).await
                };
                let done = tokio::select! {
                    biased;
                    // Dropping a grader's future also kills the sandboxed processes that work for
                    // it.
                    () = dropped.cancelled() => return,
                    () = shared.inner.stopping.cancelled() => shared.stopped(&units),
                    done = graded => done,
                };
                let _ = sender.send(done);
            });
        }
    }

    let share = cpu.len().div_ceil(inner.workers.count() * 4);
    let run_length = share.clamp(1, RUN_LENGTH);
    let jobs = cpu.chunks(run_length).map(|units| {
        let (shared, sender) = (Arc::clone(&shared), sender.clone());
        let units: Vec<Unit> = units.iter().map(|unit| **unit).collect();
        Box::new(move || {
            let done = units.into_iter().map(|unit| shared.run_cpu(unit)).collect();
            let _ = sender.send(done);
        }) as Job
    });
    inner.workers.submit(&plan.batch.caller, jobs.collect());

    let slots = plan.batch.items.iter().map(|_| Vec::new()).collect();
    let _dropped = dropped.drop_guard();
    Finished {
        plan: Arc::clone(plan),
        results,
        slots,
        open: plan.batch.items.len(),
        cancel,
        _dropped,
    }
}

impl Finished {
    /// Whether every item is done.
    pub(crate) fn is_done(&self) -> bool {
        self.open == 0
    }

    /// The next items that are done, in the order of the batch: all of them when `whole`, else
    /// those there are; `None` when there are no more.
    pub(crate) async fn next(&mut self, whole: bool) -> Option<Vec<ItemDone>> {
        let mut wave = Vec::new();
        while self.open > 0 && (whole || wave.is_empty()) {
            let Some(parts) = self.results.recv().await else {
                self.give_up(&mut wave);
                break;
            };
            self.file(parts, &mut wave);
            while let Ok(parts) = self.results.try_recv() {
                self.file(parts, &mut wave);
            }
        }
        wave.sort_by_key(|done| done.main.item);
        (!wave.is_empty()).then_some(wave)
    }

    fn file(&mut self, parts: Vec<PartDone>, wave: &mut Vec<ItemDone>) {
        for part in parts {
            let item = part.item;
            let Some(wanted) = self
                .plan
                .batch
                .items
                .get(item)
                .map(|item| 1 + item.checks.len())
            else {
                continue;
            };
            self.slots[item].push(part);
            if self.slots[item].len() == wanted {
                let mut parts = std::mem::take(&mut self.slots[item]);
                parts.sort_by_key(|part| part.part);
                let mut parts = parts.into_iter();
                if let Some(main) = parts.next() {
                    wave.push(ItemDone {
                        main,
                        checks: parts.collect(),
                    });
                    self.open -= 1;
                }
            }
        }
    }

    /// The lanes stopped with work undone: every open item fails, none is lost.
    fn give_up(&mut self, wave: &mut Vec<ItemDone>) {
        let plan = Arc::clone(&self.plan);
        let mut missing = Vec::new();
        for unit in &plan.units {
            let item_open = self.slots[unit.item]
                .iter()
                .all(|done| done.part != unit.part);
            let already_waved = wave
                .iter()
                .any(|done: &ItemDone| done.main.item == unit.item);
            if item_open && !already_waved {
                missing.push(PartDone {
                    item: unit.item,
                    part: unit.part,
                    spec: plan.tasks[unit.task].spec,
                    outcome: stopped(),
                    cached: false,
                    queue_us: 0,
                    grade_us: 0,
                    time_us: plan.received_us,
                });
            }
        }
        self.file(missing, wave);
        self.open = 0;
    }
}

/// What the lanes of one batch share.
struct Lanes {
    inner: Arc<Shared>,
    plan: Arc<Plan>,
    cx: GradeContext,
}

/// What was found out about a unit before its grader is asked.
enum Before<'a> {
    Known(Outcome, bool),
    Ask {
        prepared: &'a Arc<dyn Prepared>,
        key: Option<assay_core::Hash>,
    },
}

impl Lanes {
    fn run_cpu(&self, unit: Unit) -> PartDone {
        let started = self.inner.clock.monotonic();
        let item = &self.plan.batch.items[unit.item].item;
        let (outcome, cached) = match self.before(unit) {
            Before::Known(outcome, cached) => (outcome, cached),
            Before::Ask { prepared, key } => {
                let spec = self.plan.tasks[unit.task].spec;
                let ask = || {
                    let items = [item];
                    let grading =
                        AssertUnwindSafe(|| prepared.grade(&items, &self.cx).now_or_never());
                    match catch_unwind(grading) {
                        Ok(Some(outcomes)) => first(outcomes, spec),
                        Ok(None) => misbehaved(spec, "waited in the `cpu` lane"),
                        Err(_) => panicked(spec),
                    }
                };
                (self.keep(key, retried(ask(), ask)), false)
            }
        };
        self.done(unit, started, outcome, cached)
    }

    /// Grades units of one task.
    async fn run_waiting(&self, units: &[Unit]) -> Vec<PartDone> {
        let started = self.inner.clock.monotonic();
        let mut done = Vec::with_capacity(units.len());
        let mut asked = Vec::with_capacity(units.len());
        for unit in units {
            match self.before(*unit) {
                Before::Known(outcome, cached) => {
                    done.push(self.done(*unit, started, outcome, cached))
                }
                Before::Ask { prepared, key } => asked.push((*unit, prepared, key)),
            }
        }
        let Some((unit, prepared, _)) = asked.first() else {
            return done;
        };
        let (task, hash) = (&self.plan.tasks[unit.task], self.task_hash(*unit));
        let (spec, prepared) = (task.spec, *prepared);
        let items: Vec<&Item> = asked
            .iter()
            .map(|(unit, ..)| &self.plan.batch.items[unit.item].item)
            .collect();
        let together = items.len() > 1;
        let mut outcomes = if together {
            ask_waiting(prepared, &items, &self.cx).await
        } else {
            None
        }
        .unwrap_or_default();
        for (at, (unit, _, key)) in asked.into_iter().enumerate() {
            // One by one what several could not be asked: a panic costs its own item alone.
            let mut outcome = match outcomes.get_mut(at).and_then(Option::take) {
                Some(outcome) => outcome,
                None => ask_alone(prepared, items[at], &self.cx, spec).await,
            };
            if is_transient(&outcome) {
                outcome = ask_alone(prepared, items[at], &self.cx, spec).await;
            }
            done.push(self.done(unit, started, self.keep(key, outcome), false));
        }
        // The grader may have prepared more when the first completion arrived.
        self.inner.caches.reweigh(hash, task);
        done
    }

    fn task_hash(&self, unit: Unit) -> assay_core::Hash {
        let batch_item = &self.plan.batch.items[unit.item];
        batch_item
            .part(unit.part)
            .map_or(batch_item.task.hash(), assay_core::Task::hash)
    }

    /// Results for units that were not graded before the node stopped.
    fn stopped(&self, units: &[Unit]) -> Vec<PartDone> {
        let started = self.inner.clock.monotonic();
        units
            .iter()
            .map(|unit| self.done(*unit, started, stopped(), false))
            .collect()
    }

    /// Returns results that need no grader: the node is stopping, the client has disconnected, the
    /// task is invalid, the completion is too long, or the outcome is cached.
    fn before(&self, unit: Unit) -> Before<'_> {
        let task = &self.plan.tasks[unit.task];
        let batch_item = &self.plan.batch.items[unit.item];
        if self.inner.stopping.is_cancelled() {
            return Before::Known(stopped(), false);
        }
        if self.cx.cancel.is_cancelled() {
            let fault = Fault::passing(
                ErrorCode::Cancelled,
                "the client went away; send the item again",
            );
            return Before::Known(Outcome::Failed(fault), false);
        }
        let prepared = match &task.ready {
            Ok(prepared) => prepared,
            Err(unprepared) => return Before::Known(unprepared.clone().into(), false),
        };
        let bytes = batch_item.item.completion.bytes();
        let most = self.inner.limits.completion_bytes;
        if bytes > most {
            let evidence = assay_core::Evidence::new()
                .value("bytes", bytes)
                .value("most_bytes", most);
            let grade = Grade::new(Verdict::TOO_LONG, Score::ZERO).with_evidence(evidence);
            return Before::Known(Outcome::Graded(grade), false);
        }
        let cacheable = task.spec.deterministic && self.plan.use_kept;
        let key = cacheable.then(|| {
            let context = task
                .spec
                .reads_context
                .then(|| batch_item.item.context_hash());
            let hash = self.task_hash(unit);
            outcome_key(
                task.spec,
                hash,
                batch_item.completion_hash(),
                batch_item.item.meta.think_open,
                context,
            )
        });
        if let Some(outcome) = key.as_ref().and_then(|key| self.inner.caches.outcome(key)) {
            return Before::Known(Outcome::clone(&outcome), true);
        }
        Before::Ask { prepared, key }
    }

    fn keep(&self, key: Option<assay_core::Hash>, outcome: Outcome) -> Outcome {
        if let Some(key) = key {
            self.inner.caches.keep_outcome(key, &outcome);
        }
        outcome
    }

    fn done(
        &self,
        unit: Unit,
        started: std::time::Duration,
        outcome: Outcome,
        cached: bool,
    ) -> PartDone {
        let now = self.inner.clock.monotonic();
        let micros =
            |span: std::time::Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let done = PartDone {
            item: unit.item,
            part: unit.part,
            spec: self.plan.tasks[unit.task].spec,
            outcome,
            cached,
            queue_us: micros(started.saturating_sub(self.plan.admitted)),
            grade_us: micros(now.saturating_sub(started)),
            time_us: self.inner.clock.unix_us(),
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
fn stopped() -> Outcome {
    let message = "the node stopped before the item was graded; send it again";
    Outcome::Failed(Fault::passing(ErrorCode::ShuttingDown, message))
}

/// An outcome for each item; `None` when the grader panics or gives another number of them.
async fn ask_waiting(
    prepared: &Arc<dyn Prepared>,
    items: &[&Item],
    cx: &GradeContext,
) -> Option<Vec<Option<Outcome>>> {
    let grading = catch_unwind(AssertUnwindSafe(|| prepared.grade(items, cx))).ok()?;
    let outcomes = AssertUnwindSafe(grading).catch_unwind().await.ok()?;
    (outcomes.len() == items.len()).then(|| outcomes.into_iter().map(Some).collect())
}

async fn ask_alone(
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

/// A failure that may pass is tried once more before it is told.
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
        _ => misbehaved(spec, "gave not exactly one outcome for one item"),
    }
}

fn misbehaved(spec: &Spec, what: &str) -> Outcome {
    Outcome::Failed(Fault::lasting(
        ErrorCode::Internal,
        format!("`{}` {what}; report it with the item", spec.id()),
    ))
}

fn panicked(spec: &Spec) -> Outcome {
    let message = format!(
        "`{}` panicked on this item; report it with the item",
        spec.id()
    );
    Outcome::Failed(Fault::lasting(ErrorCode::GraderPanicked, message))
}
