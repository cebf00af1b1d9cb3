//! Adds the counts of new grades and events to those of their channels.

use assay_rewards::channel::counts::{Calibration, ChannelCounts, Checked, Checker, Graded, Place};

use super::insert::Insert;
use super::sums::{add_counts, add_numbers};
use crate::database::DatabaseError;
use crate::database::sql::Connection;

/// Number of the newest buckets of a channel that are read separately. Older ones have little
/// weight and are read as one sum.
pub(crate) const SINGLE_BUCKETS: i64 = 512;

const UPSERT_GRADED: Insert = Insert {
    prefix: "insert into channels (channel, version, bucket, negatives, positives, \
           bound_negatives, bound_positives, overturned_negatives, overturned_positives, repeats, \
           flips, unjudged_negatives, unjudged_positives)",
    columns: 13,
    suffix: concat!(
        "on conflict (channel, version, bucket) do update set ",
        add_counts!(
            "channels": "negatives",
            "positives",
            "bound_negatives",
            "bound_positives",
            "overturned_negatives",
            "overturned_positives",
            "repeats",
            "flips",
            "unjudged_negatives",
            "unjudged_positives"
        )
    ),
};

const UPSERT_CHECKED: Insert = Insert {
    prefix: "insert into channel_checks (channel, version, bucket, judge, sensitivity, \
           specificity, passes, checks, disagreed, weight, squares, disagreed_weight)",
    columns: 12,
    suffix: concat!(
        "on conflict (channel, version, bucket, judge, sensitivity, specificity, passes) do \
         update set ",
        add_counts!("channel_checks": "checks", "disagreed"),
        ", ",
        add_numbers!("channel_checks": "weight", "squares", "disagreed_weight")
    ),
};

const UPSERT_JUDGES: Insert = Insert {
    prefix: "insert into judges (channel, version, judge, passes, \"right\", right_passed, wrong, \
           wrong_rejected)",
    columns: 8,
    suffix: concat!(
        "on conflict (channel, version, judge, passes) do update set ",
        add_counts!("judges": "\"right\"", "right_passed", "wrong", "wrong_rejected")
    ),
};

const UPSERT_CALIBRATIONS: Insert = Insert {
    prefix: "insert into calibrations (channel, version, method, \"right\", right_rejected, wrong, \
           wrong_passed, time_us)",
    columns: 8,
    suffix: "on conflict (channel, version) do update set method = excluded.method, \"right\" = \
               excluded.\"right\", right_rejected = excluded.right_rejected, wrong = \
               excluded.wrong, wrong_passed = excluded.wrong_passed, time_us = excluded.time_us \
               where excluded.time_us >= calibrations.time_us",
};

/// Adds `counts` to the tables.
pub(super) async fn add(
    connection: &mut Connection,
    counts: &ChannelCounts,
) -> Result<(), DatabaseError> {
    let graded: Vec<(&Place, &Graded)> = counts.graded.iter().collect();
    UPSERT_GRADED
        .run(connection, &graded, |values, (place, graded)| {
            values
                .add(place.channel.as_str())
                .add(i64::from(place.version))
                .add(place.bucket)
                .add_count(graded.negatives)
                .add_count(graded.positives)
                .add_count(graded.bound_negatives)
                .add_count(graded.bound_positives)
                .add_count(graded.overturned_negatives)
                .add_count(graded.overturned_positives)
                .add_count(graded.repeats)
                .add_count(graded.flips)
                .add_count(graded.unjudged_negatives)
                .add_count(graded.unjudged_positives);
        })
        .await?;
    let checked: Vec<(&Place, &Checker, &Checked)> = counts
        .checked
        .iter()
        .flat_map(|(place, list)| {
            list.iter()
                .map(move |(checker, checked)| (place, checker, checked))
        })
        .collect();
    UPSERT_CHECKED
        .run(connection, &checked, |values, (place, checker, checked)| {
            values
                .add(place.channel.as_str())
                .add(i64::from(place.version))
                .add(place.bucket)
                .add(checker.judge.as_str())
                .add_number(checker.sensitivity)
                .add_number(checker.specificity)
                .add(checker.passes)
                .add_count(checked.checks)
                .add(checked.disagreed)
                .add_number(checked.weight)
                .add_number(checked.squares)
                .add_number(checked.disagreed_weight);
        })
        .await?;
    let judges: Vec<_> = counts.truths.iter().collect();
    UPSERT_JUDGES
        .run(
            connection,
            &judges,
            |values, ((channel, version, judge, passes), judges)| {
                values
                    .add(channel.as_str())
                    .add(i64::from(*version))
                    .add(judge.as_str())
                    .add(*passes)
                    .add(judges.right)
                    .add(judges.right_passed)
                    .add(judges.wrong)
                    .add(judges.wrong_rejected);
            },
        )
        .await?;
    let calibrations: Vec<&Calibration> = counts.calibrations.values().collect();
    UPSERT_CALIBRATIONS
        .run(connection, &calibrations, |values, calibration| {
            values
                .add(calibration.channel.as_str())
                .add(i64::from(calibration.version))
                .add(calibration.method.as_str())
                .add_number(calibration.right)
                .add_number(calibration.right_rejected)
                .add_number(calibration.wrong)
                .add_number(calibration.wrong_passed)
                .add(calibration.time_us);
        })
        .await?;
    Ok(())
}
