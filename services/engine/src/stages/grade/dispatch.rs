//! Sends the units of a batch to the lanes of their graders.
//!
//! A task is prepared when the first of its units is graded, and released after the last one,
//! unless it is cached: the prepared tasks of a batch may need far more memory than the batch
//! itself.

use std::sync::Arc;
use std::time::Duration;

use assay_core::clock::thread_time;
use assay_core::{CancelFlag, FairPermit, GradeContext, Lane};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::run::{UnitRunner, not_graded};
use super::unit::GradedUnit;
use crate::cache::PreparedTask;
use crate::stages::plan::{Plan, TaskWork};
use crate::stages::prepare::prepare;
use crate::stages::tasks::Unit;
use crate::state::EngineState;
use crate::worker_threads::{Job, Place};

/// Most units per job. Few enough that callers alternate quickly, enough that queueing costs
/// little.
const UNITS_PER_JOB: usize = 32;

/// Ranks of units that wait for a lane: those of a task that was prepared for them are served
/// first.
const CONTINUED: u8 = 0;
const NEW: u8 = 1;

/// Sends the units of one batch to their lanes.
pub(super) struct Dispatcher {
    runner: UnitRunner,
    sender: mpsc::UnboundedSender<Vec<GradedUnit>>,
    /// Cancels tasks that wait for a permit; they do not check the context while they wait.
    dropped: CancellationToken,
    units_per_job: usize,
    /// The runtime and the span of the batch, which threads of workers do not know.
    runtime: Handle,
    span: Span,
}

impl Dispatcher {
    pub(super) fn new(
        state: &Arc<EngineState>,
        plan: &Arc<Plan>,
        sender: mpsc::UnboundedSender<Vec<GradedUnit>>,
        cancel: &CancelFlag,
        dropped: &CancellationToken,
    ) -> Arc<Self> {
        let on_threads = plan.work.iter().filter_map(|TaskWork { task, units }| {
            (plan.tasks[*task].spec().lane == Lane::Cpu).then_some(units.len())
        });
        let units_per_job = on_threads
            .sum::<usize>()
            .div_ceil(state.workers.count() * 4);
        Arc::new(Self {
            runner: UnitRunner {
                state: Arc::clone(state),
                plan: Arc::clone(plan),
                cx: GradeContext {
                    caller: Arc::clone(&plan.batch.caller),
                    run: plan.batch.run.clone(),
                    use_cache: plan.use_cache,
                    cancel: cancel.clone(),
                },
            },
            sender,
            dropped: dropped.clone(),
            units_per_job: units_per_job.clamp(1, UNITS_PER_JOB),
            runtime: Handle::current(),
            span: Span::current(),
        })
    }

    /// Sends all units.
    pub(super) fn start(self: &Arc<Self>) {
        let (state, plan) = (&self.runner.state, &self.runner.plan);
        let mut jobs: Vec<Job> = Vec::new();
        let mut ready: Vec<(Arc<PreparedTask>, Unit)> = Vec::new();
        for TaskWork { task, units } in &plan.work {
            let distinct = &plan.tasks[*task];
            let cached = state.caches.prepared(distinct.spec(), distinct.task.hash());
            match cached {
                Some(prepared) if prepared.lane() == Lane::Cpu => {
                    for unit in units {
                        ready.push((Arc::clone(&prepared), *unit));
                        if ready.len() == self.units_per_job {
                            jobs.push(self.job(std::mem::take(&mut ready)));
                        }
                    }
                }
                Some(prepared) => self.wait(&prepared, units, None),
                None if distinct.spec().lane == Lane::Cpu => {
                    jobs.push(self.preparation(*task, units.clone()));
                }
                None => self.wait_to_prepare(*task, units.clone()),
            }
        }
        if !ready.is_empty() {
            jobs.push(self.job(ready));
        }
        self.submit(Place::Last, jobs);
    }

    fn submit(&self, place: Place, jobs: Vec<Job>) {
        let state = &self.runner.state;
        let share = &self.runner.plan.batch.share;
        state.workers.submit_at(share, place, jobs);
    }

    /// A job that grades units of prepared tasks.
    fn job(self: &Arc<Self>, units: Vec<(Arc<PreparedTask>, Unit)>) -> Job {
        let this = Arc::clone(self);
        Box::new(move || this.run(units, Duration::ZERO))
    }

    /// A job that prepares a task and starts to grade its units.
    fn preparation(self: &Arc<Self>, task: usize, units: Vec<Unit>) -> Job {
        let this = Arc::clone(self);
        Box::new(move || {
            if let Some(outcome) = this.runner.stopped() {
                this.send(this.runner.all_with(&units, &outcome));
                return;
            }
            let (prepared, spent) = this.prepare(task);
            if prepared.lane() == Lane::Cpu {
                this.run_all(&prepared, &units, spent);
            } else {
                let first = First {
                    spent,
                    permit: None,
                };
                this.wait(&prepared, &units, Some(first));
            }
        })
    }

    /// Prepares a task on this thread. Returns it with the time that it took.
    fn prepare(&self, task: usize) -> (Arc<PreparedTask>, Duration) {
        let (state, distinct) = (&self.runner.state, &self.runner.plan.tasks[task]);
        let span = tracing::info_span!(
            parent: &self.span,
            "prepare",
            grader = distinct.spec().name
        );
        thread_time(state.clock.as_ref(), || {
            span.in_scope(|| prepare(state, distinct.grader.as_ref(), &distinct.task))
        })
    }

    /// Waits for a permit of the lane of a task, then prepares it and grades its units.
    fn wait_to_prepare(self: &Arc<Self>, task: usize, units: Vec<Unit>) {
        let this = Arc::clone(self);
        let preparing = async move {
            let (runner, share) = (&this.runner, &this.runner.plan.batch.share);
            let lane = runner
                .state
                .lane_permits(runner.plan.tasks[task].spec().lane);
            let prepared = async {
                // The permits are never closed.
                let permit = lane.acquire_ranked(share, NEW).await.ok();
                let prepare = {
                    let this = Arc::clone(&this);
                    // The client may have disconnected meanwhile.
                    move || this.runner.stopped().is_none().then(|| this.prepare(task))
                };
                let (prepared, spent) = runner.state.workers.run(share, prepare).await??;
                Some((prepared, First { spent, permit }))
            };
            let prepared = tokio::select! {
                biased;
                () = this.dropped.cancelled() => return,
                () = runner.state.stopping.cancelled() => None,
                prepared = prepared => prepared,
            };
            match prepared {
                Some((prepared, first)) => this.wait(&prepared, &units, Some(first)),
                None => this.send(runner.all_with(&units, &not_graded())),
            }
        };
        let preparing = preparing.instrument(self.span.clone());
        self.runner.state.tasks.spawn_on(preparing, &self.runtime);
    }

    /// Grades the first units of a task on this thread, and leaves the others to all threads,
    /// before other tasks of the caller. `spent` is the time of its preparation.
    fn run_all(self: &Arc<Self>, prepared: &Arc<PreparedTask>, units: &[Unit], spent: Duration) {
        let with_task = |units: &[Unit]| -> Vec<(Arc<PreparedTask>, Unit)> {
            let units = units.iter();
            units.map(|unit| (Arc::clone(prepared), *unit)).collect()
        };
        let mut chunks = units.chunks(self.units_per_job);
        let first = chunks.next().map(with_task).unwrap_or_default();
        let others = chunks.map(|units| self.job(with_task(units)));
        self.submit(Place::Next, others.collect());
        self.run(first, spent);
    }

    /// Grades units on this thread.
    fn run(&self, units: Vec<(Arc<PreparedTask>, Unit)>, spent: Duration) {
        let span = tracing::info_span!(
            parent: &self.span,
            "grade",
            lane = "cpu",
            units = units.len()
        );
        let _entered = span.enter();
        // Each task is released as soon as its last unit is graded.
        let units = units.into_iter();
        let grade = units.map(|(prepared, unit)| self.runner.run_cpu(&prepared, unit));
        let (done, time) = thread_time(self.runner.state.clock.as_ref(), || grade.collect());
        self.send(charge_first(done, spent + time));
    }

    /// Grades units of a task that waits for others, as tasks of the runtime. `first` is what the
    /// first of them gets if the task was prepared for them; the others then precede other tasks of
    /// the caller, because the task is in memory until they are done.
    fn wait(
        self: &Arc<Self>,
        prepared: &Arc<PreparedTask>,
        units: &[Unit],
        mut first: Option<First>,
    ) {
        let rank = if first.is_some() { CONTINUED } else { NEW };
        let state = &self.runner.state;
        // At most what the grader accepts per call, and few enough that all permits of the lane are
        // used.
        let units_per_chunk = units.len().div_ceil(state.limits.in_workers.max(1));
        let units_per_chunk = units_per_chunk.clamp(1, prepared.spec.max_batch.max(1));
        for units in units.chunks(units_per_chunk) {
            let First { spent, permit } = first.take().unwrap_or_default();
            let (this, prepared, units) = (Arc::clone(self), Arc::clone(prepared), units.to_vec());
            let span = tracing::info_span!(
                parent: &self.span,
                "grade",
                grader = prepared.spec.name,
                units = units.len()
            );
            let task = async move {
                let Self {
                    runner, dropped, ..
                } = &*this;
                let lane = runner.state.lane_permits(prepared.lane());
                let graded = async {
                    let _permit = match permit {
                        Some(permit) => Some(permit),
                        // The permits are never closed.
                        None => {
                            let share = &runner.plan.batch.share;
                            lane.acquire_ranked(share, rank).await.ok()
                        }
                    };
                    runner.run_charged(&prepared, &units).await
                };
                let done = tokio::select! {
                    biased;
                    // Dropping a grader's future also kills the sandboxed processes that work for
                    // it.
                    () = dropped.cancelled() => return,
                    () = runner.state.stopping.cancelled() => {
                        runner.all_with(&units, &not_graded())
                    }
                    done = graded => done,
                };
                this.send(charge_first(done, spent));
            };
            state.tasks.spawn_on(task.instrument(span), &self.runtime);
        }
    }

    fn send(&self, done: Vec<GradedUnit>) {
        // If the client has disconnected, the receiver is gone.
        let _ = self.sender.send(done);
    }
}

/// What the first units of a task get that was prepared for them.
#[derive(Default)]
struct First {
    /// Time of the preparation.
    spent: Duration,
    /// The permit of the lane under which it was prepared.
    permit: Option<FairPermit>,
}

/// Charges work for several units with the first of them.
fn charge_first(mut done: Vec<GradedUnit>, spent: Duration) -> Vec<GradedUnit> {
    if let Some(first) = done.first_mut() {
        first.charged += spent;
    }
    done
}
