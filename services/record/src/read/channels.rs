//! Reads of the counts of channels.

use std::collections::BTreeMap;

use assay_rewards::channel::ChannelCounts;
use assay_rewards::channel::counts::{Calibration, Checked, Checker, Graded, JudgeCounts, Place};

use crate::database::DatabaseError;
use crate::database::channels::SINGLE_BUCKETS;
use crate::database::rows::count;
use crate::database::sql::{self, Connection, Row};
use crate::database::sums::number;
use crate::pending::Digest;
use crate::{Record, RecordError};
use sqlx::AssertSqlSafe;

/// Sums over the counts of [`judged_of`].
pub(super) const GRADED_SUMS: &str = "cast(sum(negatives) as bigint) as negatives, \
     cast(sum(positives) as bigint) as positives, \
     cast(sum(bound_negatives) as bigint) as bound_negatives, \
     cast(sum(bound_positives) as bigint) as bound_positives, \
     cast(sum(overturned_negatives) as bigint) as overturned_negatives, \
     cast(sum(overturned_positives) as bigint) as overturned_positives, \
     cast(sum(unjudged_negatives) as bigint) as unjudged_negatives, \
     cast(sum(unjudged_positives) as bigint) as unjudged_positives";

/// A checker, and sums over the counts of [`checked_of`].
pub(super) const CHECKED_SUMS: &str = "judge, sensitivity, specificity, passes, \
     cast(sum(checks) as bigint) as checks, cast(sum(disagreed) as bigint) as disagreed, \
     sum(weight) as weight, sum(squares) as squares, sum(disagreed_weight) as disagreed_weight";

impl Record {
    /// Returns all counts of channels.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn channels(&self) -> Result<ChannelCounts, RecordError> {
        self.call_hook().await;
        self.read(async {
            let counted = |digest: &Digest| digest.grades > 0 || digest.events;
            Ok(read(&mut self.snapshot_after(counted).await?).await?)
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

async fn read(connection: &mut Connection) -> Result<ChannelCounts, DatabaseError> {
    let mut counts = ChannelCounts::default();
    for (channel, version) in channel_versions("channels", connection).await? {
        read_graded(connection, &channel, version, &mut counts.graded).await?;
    }
    for (channel, version) in channel_versions("channel_checks", connection).await? {
        read_checked(connection, &channel, version, &mut counts).await?;
    }
    counts.truths = read_judges(connection).await?;
    let calibrations = "select channel, version, method, \"right\", right_rejected, wrong, \
                        wrong_passed, time_us from calibrations";
    for row in sql::query(calibrations).fetch_all(connection).await? {
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
    connection: &mut Connection,
) -> Result<Vec<(String, u32)>, DatabaseError> {
    let select = format!("select distinct channel, version from {table}");
    let rows = sql::query(AssertSqlSafe(select))
        .fetch_all(connection)
        .await?;
    rows.iter()
        .map(|row| Ok((row.try_get("channel")?, row.try_get("version")?)))
        .collect()
}

/// Reads the counts of graded items of one channel. Reading channel by channel uses the primary key
/// from its end; reading all at once with numbered rows would sort every bucket.
async fn read_graded(
    connection: &mut Connection,
    channel: &str,
    version: u32,
    graded: &mut BTreeMap<Place, Graded>,
) -> Result<(), DatabaseError> {
    const NEWEST: &str = "select bucket, negatives, positives, bound_negatives, bound_positives, \
             overturned_negatives, overturned_positives, repeats, flips, unjudged_negatives, \
             unjudged_positives \
         from channels where channel = $1 and version = $2 order by bucket desc limit $3";
    let newest = sql::query(NEWEST)
        .bind(channel)
        .bind(version)
        .bind(SINGLE_BUCKETS - 1);
    let mut rows = newest.fetch_all(connection).await?;
    let oldest: Option<i64> = rows.last().map(|row| row.try_get("bucket")).transpose()?;
    let older = format!(
        "select max(bucket) as bucket, {GRADED_SUMS}, cast(sum(repeats) as bigint) as repeats, \
         cast(sum(flips) as bigint) as flips from channels where channel = $1 and version = $2 \
         and channels.bucket < $3 having count(*) > 0"
    );
    let older = sql::query(AssertSqlSafe(older))
        .bind(channel)
        .bind(version)
        .bind(oldest);
    rows.extend(older.fetch_all(connection).await?);
    for row in &rows {
        let counts = graded_of(row)?;
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

/// The counts of graded items in a row.
fn graded_of(row: &Row) -> Result<Graded, DatabaseError> {
    Ok(Graded {
        repeats: count(row.try_get("repeats")?),
        flips: count(row.try_get("flips")?),
        ..judged_of(row)?
    })
}

/// As [`graded_of`], of a row without repeats.
pub(super) fn judged_of(row: &Row) -> Result<Graded, DatabaseError> {
    Ok(Graded {
        negatives: count(row.try_get("negatives")?),
        positives: count(row.try_get("positives")?),
        bound_negatives: count(row.try_get("bound_negatives")?),
        bound_positives: count(row.try_get("bound_positives")?),
        overturned_negatives: count(row.try_get("overturned_negatives")?),
        overturned_positives: count(row.try_get("overturned_positives")?),
        unjudged_negatives: count(row.try_get("unjudged_negatives")?),
        unjudged_positives: count(row.try_get("unjudged_positives")?),
        ..Graded::default()
    })
}

/// The counts of checks in a row, with their checker.
pub(super) fn checked_of(row: &Row) -> Result<(Checker, Checked), DatabaseError> {
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
    Ok((checker, checked))
}

/// Reads the results of checks of one channel. A bucket has a row for each checker.
async fn read_checked(
    connection: &mut Connection,
    channel: &str,
    version: u32,
    counts: &mut ChannelCounts,
) -> Result<(), DatabaseError> {
    const OLDEST: &str = "select min(bucket) from (select distinct bucket from channel_checks \
         where channel = $1 and version = $2 order by bucket desc limit $3) as newest";
    const NEWEST: &str = "select bucket, judge, sensitivity, specificity, passes, checks, \
             disagreed, weight, squares, disagreed_weight from channel_checks where channel = $1 \
             and version = $2 and bucket >= $3";
    let older = format!(
        "select max(bucket) as bucket, {CHECKED_SUMS} from channel_checks where channel = $1 \
         and version = $2 and channel_checks.bucket < $3 \
         group by judge, sensitivity, specificity, passes"
    );
    let oldest = sql::query_scalar(OLDEST)
        .bind(channel)
        .bind(version)
        .bind(SINGLE_BUCKETS - 1);
    let oldest: Option<i64> = oldest.fetch_one(connection).await?;
    for select in [NEWEST.to_owned(), older] {
        let rows = sql::query(AssertSqlSafe(select))
            .bind(channel)
            .bind(version)
            .bind(oldest);
        for row in rows.fetch_all(connection).await? {
            let (checker, checked) = checked_of(&row)?;
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

pub(super) async fn read_judges(
    connection: &mut Connection,
) -> Result<BTreeMap<(String, u32, String, bool), JudgeCounts>, DatabaseError> {
    let select = "select channel, version, judge, passes, \"right\", right_passed, wrong, \
                  wrong_rejected from judges";
    let mut judges = BTreeMap::new();
    for row in sql::query(select).fetch_all(connection).await? {
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

fn version(row: &Row) -> Result<u32, DatabaseError> {
    Ok(row.try_get("version")?)
}
