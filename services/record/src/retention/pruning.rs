//! Deletes what a filter matches: batches in the order of their ids, then runs, and then what these
//! leave behind.

use std::collections::BTreeSet;

use assay_core::BatchId;

use super::pace::Pace;
use super::steps::{Interruption, Steps};
use crate::database;
use crate::database::texts::TextPass;
use crate::retention_step::{PruneTarget, RetentionStep, StepOutcome};
use crate::storage::{ChannelFilter, PruneFilter};

/// Number of batches that are looked up at once.
const BATCHES: u32 = 64;

/// Finishes what an earlier process, or a prune that failed, left unfinished.
pub(super) async fn finish_interrupted(steps: &Steps) -> Result<(), Interruption> {
    let mut pace = Pace::new();
    loop {
        let left = database::interrupted(&mut steps.snapshot().await?).await?;
        if left.batches.is_empty() {
            if left.runs {
                steps.repeat(RetentionStep::Runs, &mut Pace::new()).await?;
            }
            if left.sweep {
                sweep(steps).await?;
            }
            return Ok(());
        }
        let batches = left.batches.into();
        steps
            .repeat(RetentionStep::Grades(batches), &mut pace)
            .await?;
    }
}

/// Prepares the record for a prune.
pub(super) async fn prepare(steps: &Steps) -> Result<(), Interruption> {
    steps.progress.enter("counting");
    finish_interrupted(steps).await?;
    steps.repeat(RetentionStep::Count, &mut Pace::new()).await
}

/// Deletes all that the filter matches.
pub(super) async fn prune(steps: &Steps, filter: &PruneFilter) -> Result<(), Interruption> {
    if let Some(channels) = &filter.channels {
        return prune_channels(steps, channels).await;
    }
    prepare(steps).await?;
    let target = target(steps, filter).await?;
    steps.progress.enter("deleting");
    let runs = delete(steps, &target, u64::MAX).await?;
    if filter.deletes_runs() {
        steps.progress.enter("deleting runs");
        let mut pace = Pace::new();
        // Runs that are named may have no batches left.
        let named = target.runs.iter().flatten().copied();
        for run in runs.into_iter().chain(named).collect::<BTreeSet<i64>>() {
            if run > 0 {
                steps.step(&RetentionStep::BeginRun(run), &mut pace).await?;
            }
        }
        steps.repeat(RetentionStep::Runs, &mut Pace::new()).await?;
    }
    sweep(steps).await?;
    return_space(steps).await
}

async fn prune_channels(steps: &Steps, filter: &ChannelFilter) -> Result<(), Interruption> {
    steps.progress.enter("deleting channels");
    let step = RetentionStep::Channels(filter.clone());
    steps.repeat(step, &mut Pace::new()).await?;
    return_space(steps).await
}

pub(super) async fn target(
    steps: &Steps,
    filter: &PruneFilter,
) -> Result<PruneTarget, Interruption> {
    Ok(database::prune_target(&mut steps.snapshot().await?, filter).await?)
}

/// Deletes batches until they have about `bytes`, the oldest first; returns their runs.
pub(super) async fn delete(
    steps: &Steps,
    target: &PruneTarget,
    bytes: u64,
) -> Result<BTreeSet<i64>, Interruption> {
    let mut pace = Pace::new();
    let (mut runs, mut deleted) = (BTreeSet::new(), 0);
    let mut after = BatchId::from(0);
    while deleted < bytes {
        let mut snapshot = steps.snapshot().await?;
        let mut batches = database::next_batches(&mut snapshot, target, after, BATCHES).await?;
        drop(snapshot);
        let within = batches.iter().take_while(|batch| {
            let within = deleted < bytes;
            deleted = deleted.saturating_add(batch.bytes);
            within
        });
        let within = within.count();
        batches.truncate(within);
        let Some(last) = batches.last() else {
            break;
        };
        after = last.id;
        let numbers = batches.iter().map(|batch| batch.number).collect();
        if target.bodies_only {
            steps
                .repeat(RetentionStep::Bodies(numbers), &mut pace)
                .await?;
        } else {
            steps
                .repeat(RetentionStep::Grades(numbers), &mut pace)
                .await?;
            runs.extend(batches.iter().map(|batch| batch.run));
        }
    }
    Ok(runs)
}

/// Removes what deleted batches leave behind.
pub(super) async fn sweep(steps: &Steps) -> Result<(), Interruption> {
    steps.progress.enter("sweeping");
    steps.repeat(RetentionStep::Sweep, &mut Pace::new()).await?;
    let Some(texts) = steps.database.texts() else {
        return Ok(());
    };
    steps.progress.enter("removing texts");
    let remove = |after, amount| texts.step(TextPass::Remove, after, amount);
    steps.repeat_texts(remove).await
}

/// Merges segments of the index of texts that have deleted rows, and returns its free space.
async fn shrink_texts(steps: &Steps) -> Result<(), Interruption> {
    fn more(outcome: &StepOutcome) -> Option<i64> {
        (!outcome.done).then_some(0)
    }
    let Some(texts) = steps.database.texts() else {
        return Ok(());
    };
    let merge = |_, amount| async move { Ok(more(&texts.index.merge(amount).await?)) };
    steps.repeat_texts(merge).await?;
    let shrink = |_, amount| async move { Ok(more(&texts.index.return_pages(amount).await?)) };
    steps.repeat_texts(shrink).await?;
    Ok(texts.index.truncate_log().await?)
}

/// Returns free space to the file system.
pub(super) async fn return_space(steps: &Steps) -> Result<(), Interruption> {
    steps.progress.enter("returning space");
    steps
        .repeat(RetentionStep::Vacuum, &mut Pace::new())
        .await?;
    shrink_texts(steps).await?;
    Ok(steps.database.truncate_log().await?)
}
