//! Deletes what exceeds the limits of the record.

use assay_core::BatchId;

use super::pruning::{delete, prepare, prune, return_space, sweep, target};
use super::steps::{Interruption, Steps};
use crate::database;
use crate::storage::{ChannelFilter, PruneFilter, RetentionLimits};

/// The record is reduced to this share of its limit on size, so that it is not checked again for
/// every batch.
const TARGET_SHARE: f64 = 0.95;

/// What is due by age is deleted when some of it is older by this share of the limit, because a
/// sweep looks at all bodies.
const DELAY_SHARE: i64 = 100;

/// Deletes what exceeds the limits.
pub(super) async fn enforce(steps: &Steps, limits: &RetentionLimits) -> Result<(), Interruption> {
    let now_us = steps.clock.unix_us();
    for (age_us, bodies_only) in [(limits.body_age_us, true), (limits.grade_age_us, false)] {
        if age_us == 0 {
            continue;
        }
        let older = |age_us: i64| PruneFilter {
            before_us: Some(now_us.saturating_sub(age_us)),
            ..everything(limits, bodies_only)
        };
        if is_any_left(steps, &older(age_us.saturating_add(age_us / DELAY_SHARE))).await? {
            let filter = older(age_us);
            steps.progress.begin_automatic(&filter, now_us);
            prune(steps, &filter).await?;
        }
    }
    enforce_size(steps, limits, now_us).await?;
    enforce_use(steps, limits, now_us).await
}

/// Deletes channels that are no longer used.
async fn enforce_use(
    steps: &Steps,
    limits: &RetentionLimits,
    now_us: i64,
) -> Result<(), Interruption> {
    if limits.channel_age_us == 0 {
        return Ok(());
    }
    let filter = PruneFilter {
        channels: Some(ChannelFilter {
            unused_since_us: Some(now_us.saturating_sub(limits.channel_age_us)),
            ..ChannelFilter::default()
        }),
        ..PruneFilter::default()
    };
    let target = target(steps, &filter).await?;
    let estimate = database::prune_estimate(&mut steps.snapshot().await?, &target).await?;
    if estimate.channels == 0 {
        return Ok(());
    }
    steps.progress.begin_automatic(&filter, now_us);
    prune(steps, &filter).await
}

/// Everything except the runs that are kept.
fn everything(limits: &RetentionLimits, bodies_only: bool) -> PruneFilter {
    PruneFilter {
        keep_runs: limits.keep_runs.clone(),
        bodies_only,
        ..PruneFilter::default()
    }
}

async fn is_any_left(steps: &Steps, filter: &PruneFilter) -> Result<bool, Interruption> {
    let target = target(steps, filter).await?;
    let mut snapshot = steps.snapshot().await?;
    let left = database::next_batches(&mut snapshot, &target, BatchId::from(0), 1).await?;
    Ok(!left.is_empty())
}

/// Deletes the oldest bodies, then the oldest grades, while the database exceeds its limit.
async fn enforce_size(
    steps: &Steps,
    limits: &RetentionLimits,
    now_us: i64,
) -> Result<(), Interruption> {
    let max = limits.max_bytes;
    if max == 0 || used_bytes(steps).await? <= max {
        return Ok(());
    }
    // A size needs no last digit.
    let goal = (max as f64 * TARGET_SHARE) as u64;
    steps
        .progress
        .begin_automatic(&everything(limits, false), now_us);
    prepare(steps).await?;
    for bodies_only in [true, false] {
        let filter = everything(limits, bodies_only);
        // A body that other batches use is moved and not deleted, so this may need several rounds.
        while is_any_left(steps, &filter).await? {
            let excess = used_bytes(steps).await?.saturating_sub(goal);
            if excess == 0 {
                break;
            }
            steps.progress.enter("deleting");
            let target = target(steps, &filter).await?;
            delete(steps, &target, excess).await?;
            sweep(steps).await?;
        }
    }
    return_space(steps).await
}

async fn used_bytes(steps: &Steps) -> Result<u64, Interruption> {
    let mut snapshot = steps.snapshot().await?;
    Ok(database::storage_report(&mut snapshot, 1)
        .await?
        .limited_bytes())
}
