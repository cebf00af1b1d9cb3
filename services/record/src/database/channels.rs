//! The counts of channels: adds those of new grades and events, and reads them. Does not estimate
//! error rates.

use std::collections::BTreeMap;

use assay_rewards::channel::counts::Calibration;
use assay_rewards::channel::counts::{ChannelCounts, Checked, Checker, Graded, JudgeCounts, Place};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row};

use super::insert::Insert;
use super::rows::count;
use super::sums::{add_counts, add_numbers, number};
use crate::database::DatabaseError;
use crate::write::pending::Digest;
use crate::{Record, RecordError};

/// Number of the newest buckets of a channel that are read separately. Older ones have little
/// weight and are read as one sum.
const SINGLE_BUCKETS: i64 = 512;

const UPSERT_GRADED: Insert = Insert {
    prefix: "insert into channels (channel, version, bucket, negatives, positives, \
           bound_negatives, bound_positives, overturned_negatives, overturned_positives, repeats, \
           flips)",
    columns: 11,
    suffix: concat!(
        "on conflict (channel, version, bucket) do update set ",
        add_counts!(
            "negatives",
            "positives",
            "bound_negatives",
            "bound_positives",
            "overturned_negatives",
            "overturned_positives",
            "repeats",
            "flips"
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
        add_counts!("checks", "disagreed"),
        ", ",
        add_numbers!("weight", "squares", "disagreed_weight")
    ),
};

const UPSERT_JUDGES: Insert = Insert {
    prefix: "insert into judges (channel, version, judge, passes, right, right_passed, wrong, \
           wrong_rejected)",
    columns: 8,
    suffix: concat!(
        "on conflict (channel, version, judge, passes) do update set ",
        add_counts!("right", "right_passed", "wrong", "wrong_rejected")
    ),
};

const UPSERT_CALIBRATIONS: Insert = Insert {
    prefix: "insert into calibrations (channel, version, method, right, right_rejected, wrong, \
           wrong_passed, time_us)",
    columns: 8,
    suffix: "on conflict (channel, version) do update set method = excluded.method, right = \
               excluded.right, right_rejected = excluded.right_rejected, wrong = excluded.wrong, \
               wrong_passed = excluded.wrong_passed, time_us = excluded.time_us where \
               excluded.time_us >= calibrations.time_us",
};

/// Adds `counts` to the tables.
pub(super) async fn add(
    connection: &mut SqliteConnection,
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
                .add_count(graded.flips);
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

impl Record {
    /// Returns all counts of channels.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn channels(&self) -> Result<ChannelCounts, RecordError> {
        self.call_hook().await;
        self.read(async {
            let counted = |digest: &Digest| digest.grades > 0 || digest.events;
            Ok(read(&mut *self.snapshot_after(counted).await?).await?)
        })
        .await
    }

    /// Returns the counts of channels that are in the database, without waiting for pending ones.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn applied_channels(&self) -> Result<ChannelCounts, RecordError> {
        self.call_hook().await;
        self.read(async {
            let mut snapshot = self.shared.database.snapshot().await?;
            Ok(read(&mut snapshot).await?)
        })
        .await
    }

    async fn call_hook(&self) {
        if let Some(hook) = &self.hook {
            hook.read_channels().await;
        }
    }
}

async fn read(connection: &mut SqliteConnection) -> Result<ChannelCounts, DatabaseError> {
    let mut counts = ChannelCounts::default();
    for (channel, version) in channel_versions("channels", connection).await? {
        read_graded(connection, &channel, version, &mut counts.graded).await?;
    }
    for (channel, version) in channel_versions("channel_checks", connection).await? {
        read_checked(connection, &channel, version, &mut counts).await?;
    }
    counts.truths = read_judges(connection).await?;
    let calibrations = "select channel, version, method, right, right_rejected, wrong, \
                        wrong_passed, time_us from calibrations";
    for row in sqlx::query(calibrations)
        .fetch_all(&mut *connection)
        .await?
    {
        let calibration = Calibration {
            channel: row.try_get("channel")?,
            version: version(&row)?,
            method: row.try_get("method")?,
            right: row.try_get("right")?,
            right_rejected: row.try_get("right_rejected")?,
            wrong: row.try_get("wrong")?,
            wrong_passed: row.try_get("wrong_passed")?,
            time_us: row.try_get("time_us")?,
        };
        counts.calibrations.insert(
            (calibration.channel.clone(), calibration.version),
            calibration,
        );
    }
    Ok(counts)
}

/// The channels in a table, with their versions.
async fn channel_versions(
    table: &str,
    connection: &mut SqliteConnection,
) -> Result<Vec<(String, u32)>, DatabaseError> {
    let select = format!("select distinct channel, version from {table}");
    Ok(sqlx::query_as(AssertSqlSafe(select))
        .fetch_all(connection)
        .await?)
}

/// Reads the counts of graded items of one channel. Reading channel by channel uses the primary key
/// from its end; reading all at once with numbered rows would sort every bucket.
async fn read_graded(
    connection: &mut SqliteConnection,
    channel: &str,
    version: u32,
    graded: &mut BTreeMap<Place, Graded>,
) -> Result<(), DatabaseError> {
    const NEWEST: &str = "select bucket, negatives, positives, bound_negatives, bound_positives, \
             overturned_negatives, overturned_positives, repeats, flips \
         from channels where channel = ? and version = ? order by bucket desc limit ?";
    const OLDER: &str = "select max(bucket) as bucket, sum(negatives) as negatives, \
             sum(positives) as positives, sum(bound_negatives) as bound_negatives, \
             sum(bound_positives) as bound_positives, \
             sum(overturned_negatives) as overturned_negatives, \
             sum(overturned_positives) as overturned_positives, sum(repeats) as repeats, \
             sum(flips) as flips \
         from channels where channel = ? and version = ? and channels.bucket < ? \
         having count(*) > 0";
    let newest = sqlx::query(NEWEST)
        .bind(channel)
        .bind(version)
        .bind(SINGLE_BUCKETS - 1);
    let mut rows = newest.fetch_all(&mut *connection).await?;
    let oldest: Option<i64> = rows.last().map(|row| row.try_get("bucket")).transpose()?;
    let older = sqlx::query(OLDER).bind(channel).bind(version).bind(oldest);
    rows.extend(older.fetch_all(connection).await?);
    for row in &rows {
        let counts = Graded {
            negatives: count(row.try_get("negatives")?),
            positives: count(row.try_get("positives")?),
            bound_negatives: count(row.try_get("bound_negatives")?),
            bound_positives: count(row.try_get("bound_positives")?),
            overturned_negatives: count(row.try_get("overturned_negatives")?),
            overturned_positives: count(row.try_get("overturned_positives")?),
            repeats: count(row.try_get("repeats")?),
            flips: count(row.try_get("flips")?),
        };
        graded.insert(
            Place {
                channel: channel.to_owned(),
                version,
                bucket: row.try_get("bucket")?,
            },
            counts,
        );
    }
    Ok(())
}

/// Reads the results of checks of one channel. A bucket has a row for each checker.
async fn read_checked(
    connection: &mut SqliteConnection,
    channel: &str,
    version: u32,
    counts: &mut ChannelCounts,
) -> Result<(), DatabaseError> {
    const OLDEST: &str = "select min(bucket) from (select distinct bucket from channel_checks \
         where channel = ? and version = ? order by bucket desc limit ?)";
    const NEWEST: &str = "select bucket, judge, sensitivity, specificity, passes, checks, \
             disagreed, weight, squares, disagreed_weight from channel_checks where channel = ? \
             and version = ? and bucket >= ?";
    const OLDER: &str = "select max(bucket) as bucket, judge, sensitivity, specificity, passes, \
             sum(checks) as checks, sum(disagreed) as disagreed, sum(weight) as weight, \
             sum(squares) as squares, sum(disagreed_weight) as disagreed_weight \
         from channel_checks where channel = ? and version = ? and channel_checks.bucket < ? \
         group by judge, sensitivity, specificity, passes";
    let oldest = sqlx::query_scalar(OLDEST)
        .bind(channel)
        .bind(version)
        .bind(SINGLE_BUCKETS - 1);
    let oldest: Option<i64> = oldest.fetch_one(&mut *connection).await?;
    for select in [NEWEST, OLDER] {
        let rows = sqlx::query(select).bind(channel).bind(version).bind(oldest);
        for row in rows.fetch_all(&mut *connection).await? {
            let checker = Checker {
                judge: row.try_get("judge")?,
                sensitivity: row.try_get("sensitivity")?,
                specificity: row.try_get("specificity")?,
                passes: row.try_get("passes")?,
            };
            let checked = Checked {
                checks: count(row.try_get("checks")?),
                disagreed: row.try_get("disagreed")?,
                weight: number(row.try_get("weight")?),
                squares: number(row.try_get("squares")?),
                disagreed_weight: number(row.try_get("disagreed_weight")?),
            };
            let place = Place {
                channel: channel.to_owned(),
                version,
                bucket: row.try_get("bucket")?,
            };
            counts.checked_by(place, checker).add(&checked);
        }
    }
    Ok(())
}

async fn read_judges(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<(String, u32, String, bool), JudgeCounts>, DatabaseError> {
    let select = "select channel, version, judge, passes, right, right_passed, wrong, \
                  wrong_rejected from judges";
    let mut judges = BTreeMap::new();
    for row in sqlx::query(select).fetch_all(connection).await? {
        let found = JudgeCounts {
            right: row.try_get("right")?,
            right_passed: row.try_get("right_passed")?,
            wrong: row.try_get("wrong")?,
            wrong_rejected: row.try_get("wrong_rejected")?,
        };
        judges.insert(
            (
                row.try_get("channel")?,
                version(&row)?,
                row.try_get("judge")?,
                row.try_get("passes")?,
            ),
            found,
        );
    }
    Ok(judges)
}

fn version(row: &SqliteRow) -> Result<u32, DatabaseError> {
    Ok(row.try_get("version")?)
}
