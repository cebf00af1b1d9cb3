//! The pipeline of a batch, `check -> plan -> grade -> appeal -> compose -> correct -> record`, in
//! one function. Each stage is a module; the stages after `grade` fill in the grades of a wave.

pub(crate) mod appeal;
pub(crate) mod compose;
mod context;
pub(crate) mod correct;
mod grade;
mod literals;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod prepare;
mod record;
pub(crate) mod tasks;

use std::sync::Arc;

use assay_record::{ItemGrade, SealedReply};
use tokio::sync::mpsc::error::SendTimeoutError;
use tracing::Instrument as _;

use self::appeal::appeal;
use self::compose::compose;
use self::context::BatchContext;
use self::correct::correct;
use self::grade::grade;
use self::options::PipelineOptions;
use self::plan::plan;
use self::tasks::{BatchTasks, Received};
use crate::allowance::Charge;
use crate::metrics;
use crate::names::HeldNames;
use crate::state::EngineState;
use crate::{Batch, EngineError, Mode, Reply};

/// Runs the pipeline. Returns the reply and, if it is recorded under a key, its sealed form.
pub(crate) async fn run(
    state: &Arc<EngineState>,
    batch: Batch,
    options: PipelineOptions<'_>,
) -> Result<(Reply, Option<SealedReply>), EngineError> {
    let span = tracing::info_span!(
        "batch",
        batch = %options.id,
        items = batch.items.len(),
        run = batch.run.as_deref(),
        step = batch.step,
    );
    run_stages(state, batch, options).instrument(span).await
}

async fn run_stages(
    state: &Arc<EngineState>,
    batch: Batch,
    options: PipelineOptions<'_>,
) -> Result<(Reply, Option<SealedReply>), EngineError> {
    // Counts the items until the last result is delivered. A reply that the client keeps longer
    // does not count.
    let _admitted = state.admission.admit(&batch.share, batch.items.len())?;
    context::check(&batch)?;
    let received = Received::now(state.clock.as_ref());
    let charge = admit(&batch)?;
    let checked = check(state, &batch, &options, charge.as_deref())
        .instrument(tracing::info_span!("check"))
        .await;
    let (tasks, names) = match checked {
        Ok(checked) => checked,
        Err(error) => {
            if let Some(charge) = charge {
                charge.reject();
            }
            return Err(error);
        }
    };
    let context = BatchContext::of(state, &batch, &tasks, names).await;
    let plan = plan(
        state,
        options.id,
        batch,
        tasks,
        context,
        received,
        options.use_cache,
    );
    let whole = matches!(options.mode, Mode::Whole) || plan.context.single_wave;
    let mut grading = grade(state, &plan);
    let (mut reply, mut sealed, mut is_connected) = (Reply::new(&plan), None, true);
    while let Some(mut wave) = grading.next(whole).await {
        if let Some(charge) = &charge {
            charge.spend(grading.charge());
        }
        appeal(state, &plan, charge.as_deref(), &mut wave).await;
        let weights = compose(&plan, &mut wave);
        if whole {
            reply.set_summary(correct(&plan, &mut wave, &weights));
        }
        reject_unfinished(state, &options, &wave)?;
        reply.push(wave);
        if !whole && grading.is_done() {
            reply.set_summary(correct::summary(&plan, reply.grades()));
        }
        sealed = record::wave(state, &mut reply, &options, grading.is_done())
            .instrument(tracing::info_span!("record"))
            .await?;
        is_connected = is_connected && deliver(state, &reply, &options).await?;
    }
    plan.context.names.release();
    if let Some(charge) = charge {
        charge.finish();
    }
    let now = state.clock.monotonic();
    state.failure_log.write(&plan.batch, reply.grades(), now);
    // Replays and checks grade without recording.
    if options.record.is_some() == state.record.is_some() {
        let has_record = state.record.is_some();
        state
            .totals
            .finished(&plan.batch, has_record, reply.grades());
    }
    metrics::batch(now.saturating_sub(plan.received.monotonic));
    Ok((reply, sealed))
}

/// Fails if items of a wave failed and the sender of the batch grades it again.
fn reject_unfinished(
    state: &EngineState,
    options: &PipelineOptions<'_>,
    wave: &[ItemGrade],
) -> Result<(), EngineError> {
    let Some(repeated) = options.keyed.and_then(|keyed| keyed.repeated) else {
        return Ok(());
    };
    let mut errors = wave.iter().filter_map(|grade| grade.error.as_ref());
    let Some(error) = errors.find(|error| error.retryable) else {
        return Ok(());
    };
    if state.stopping.is_cancelled() {
        return Err(EngineError::ShuttingDown);
    }
    if repeated.keeps_failures {
        return Ok(());
    }
    Err(EngineError::Unfinished(error.clone()))
}

/// Admits a batch within the quotas of its key. Each check of an item counts as an item.
fn admit(batch: &Batch) -> Result<Option<Box<dyn Charge>>, EngineError> {
    let Some(allowance) = &batch.allowance else {
        return Ok(None);
    };
    let tasks = batch.items.iter().map(|item| 1 + item.checks.len());
    allowance.admit(tasks.sum())
}

/// Checks the tasks of a batch and reserves the names that it introduces.
async fn check(
    state: &Arc<EngineState>,
    batch: &Batch,
    options: &PipelineOptions<'_>,
    charge: Option<&dyn Charge>,
) -> Result<(BatchTasks, HeldNames), EngineError> {
    let tasks = tasks::find(state, batch)?;
    if options.has_rewards {
        tasks.check_labels(batch)?;
    }
    let grader_of = |at| tasks.spec(at).name;
    let names = state.names.hold(options.record, batch, grader_of).await?;
    tasks::check(state, &batch.share, &tasks.distinct, charge).await?;
    Ok((tasks, names))
}

/// Sends the latest wave to the stream and returns whether the client still reads. A client that
/// does not read for [`Limits::delivery`](crate::Limits::delivery) is disconnected. Under an
/// idempotency key its batch is graded all the same, so that a repeated request gets the reply.
async fn deliver(
    state: &EngineState,
    reply: &Reply,
    options: &PipelineOptions<'_>,
) -> Result<bool, EngineError> {
    let Mode::Streamed(sender) = options.mode else {
        return Ok(false);
    };
    let timeout = state.limits.delivery;
    match sender.send_timeout(reply.latest(), timeout).await {
        Ok(()) => Ok(true),
        Err(SendTimeoutError::Closed(_)) => Ok(false),
        Err(SendTimeoutError::Timeout(_)) if options.keyed.is_some() => Ok(false),
        Err(SendTimeoutError::Timeout(_)) => Err(EngineError::ClientStalled),
    }
}
