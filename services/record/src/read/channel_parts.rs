//! Reads of the counts of one channel by time, by run and by policy.

use std::collections::BTreeMap;

use assay_rewards::channel::ChannelCounts;
use assay_rewards::channel::counts::{JudgeCounts, JudgeKey, Place};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use super::channels::{CHECKED_SUMS, GRADED_SUMS, checked_of, judged_of, read_judges};
use crate::channel_part::{ChannelPart, ChannelTimes, PartKey};
use crate::database::DatabaseError;
use crate::database::keys::NO_RUN;
use crate::pending::Digest;
use crate::{Record, RecordError};

/// Lengths of spans of time in buckets: ten minutes, an hour, six hours, a day, a week, and four
/// weeks.
const WIDTHS: [i64; 6] = [1, 6, 36, 144, 1_008, 4_032];

/// A version of a channel.
#[derive(Clone, Copy)]
struct Version<'c> {
    channel: &'c str,
    version: u32,
}

impl Record {
    /// Returns the counts of a channel by time, in the shortest spans of which at most `spans`
    /// cover all its counts; of channels that are older than that many spans of four weeks, only
    /// the newest. Callers see none.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn channel_times(
        &self,
        channel: &str,
        version: u32,
        spans: i64,
    ) -> Result<ChannelTimes, RecordError> {
        if !self.scope.is_all() {
            return Ok(ChannelTimes::default());
        }
        let of = Version { channel, version };
        self.read(async {
            let mut snapshot = self.snapshot_after(counted).await?;
            Ok(of.times(&mut snapshot, spans).await?)
        })
        .await
    }

    /// Returns the counts of a channel by run or by policy, at most `limit` parts, those with the
    /// most items first. Callers see none.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn channel_parts(
        &self,
        channel: &str,
        version: u32,
        key: PartKey,
        limit: u32,
    ) -> Result<Vec<ChannelPart>, RecordError> {
        if !self.scope.is_all() {
            return Ok(Vec::new());
        }
        let of = Version { channel, version };
        self.read(async {
            let mut snapshot = self.snapshot_after(counted).await?;
            Ok(match key {
                PartKey::Run => of.runs(&mut snapshot, limit).await?,
                PartKey::Policy => of.policies(&mut snapshot, limit).await?,
            })
        })
        .await
    }
}

/// Whether an entry with this digest may change counts.
fn counted(digest: &Digest) -> bool {
    digest.grades > 0 || digest.events
}

impl Version<'_> {
    fn place(self) -> Place {
        Place {
            channel: self.channel.to_owned(),
            version: self.version,
            bucket: 0,
        }
    }

    /// Counts without items, with the adjudicated verdicts of judges.
    async fn truths(
        self,
        connection: &mut SqliteConnection,
    ) -> Result<BTreeMap<JudgeKey, JudgeCounts>, DatabaseError> {
        let mut truths = read_judges(connection).await?;
        truths.retain(|(channel, version, ..), _| {
            channel == self.channel && *version == self.version
        });
        Ok(truths)
    }

    async fn times(
        self,
        connection: &mut SqliteConnection,
        spans: i64,
    ) -> Result<ChannelTimes, DatabaseError> {
        const BOUNDS: &str = "select \
             (select min(bucket) from channels where channel = $1 and version = $2) as first, \
             (select max(bucket) from channels where channel = $1 and version = $2) as last";
        let (first, last): (Option<i64>, Option<i64>) = sqlx::query_as(BOUNDS)
            .bind(self.channel)
            .bind(self.version)
            .fetch_one(&mut *connection)
            .await?;
        let Some((first, last)) = first.zip(last) else {
            return Ok(ChannelTimes::default());
        };
        let start = |width: i64, bucket: i64| bucket - bucket.rem_euclid(width);
        let longest = WIDTHS[WIDTHS.len() - 1];
        let width = WIDTHS
            .into_iter()
            .find(|width| (last - start(*width, first)) / width < spans)
            .unwrap_or(longest);
        let first = start(width, first).max(start(width, last) - (spans - 1) * width);
        let truths = self.truths(connection).await?;
        let empty = || ChannelCounts {
            truths: truths.clone(),
            ..ChannelCounts::default()
        };
        let mut times = ChannelTimes {
            width,
            spans: BTreeMap::new(),
        };
        let graded = format!(
            "select bucket - bucket % $3 as span, {GRADED_SUMS} from channels \
             where channel = $1 and version = $2 and bucket >= $4 group by bucket - bucket % $3"
        );
        let checked = format!(
            "select bucket - bucket % $3 as span, {CHECKED_SUMS} from channel_checks \
             where channel = $1 and version = $2 and bucket >= $4 \
             group by bucket - bucket % $3, judge, sensitivity, specificity, passes"
        );
        let read = async |connection: &mut SqliteConnection, select: String| {
            sqlx::query(AssertSqlSafe(select))
                .bind(self.channel)
                .bind(self.version)
                .bind(width)
                .bind(first)
                .fetch_all(connection)
                .await
        };
        for row in read(&mut *connection, graded).await? {
            let counts = times.spans.entry(row.try_get("span")?);
            let counts = counts.or_insert_with(empty);
            counts.graded.insert(self.place(), judged_of(&row)?);
        }
        for row in read(&mut *connection, checked).await? {
            let counts = times.spans.entry(row.try_get("span")?);
            let (checker, checked) = checked_of(&row)?;
            let counts = counts.or_insert_with(empty);
            counts.checked_by(self.place(), checker).add(&checked);
        }
        Ok(times)
    }

    async fn runs(
        self,
        connection: &mut SqliteConnection,
        limit: u32,
    ) -> Result<Vec<ChannelPart>, DatabaseError> {
        let graded = format!(
            "select run as part, (select name from runs where no = sums.run) as name, sums.* \
             from (select run, {GRADED_SUMS} from channel_sources \
             where channel = $1 and version = $2 group by run) as sums \
             order by negatives + positives desc, run limit $3"
        );
        let checked = format!(
            "select run as part, {CHECKED_SUMS} from channel_source_checks \
             where channel = $1 and version = $2 \
             group by run, judge, sensitivity, specificity, passes"
        );
        let mut parts = self
            .parts::<i64>(connection, limit, [graded, checked])
            .await?;
        // A run that is being deleted has no name any more.
        parts.retain(|(run, part)| *run == NO_RUN || part.name.is_some());
        Ok(parts.into_iter().map(|(_, part)| part).collect())
    }

    async fn policies(
        self,
        connection: &mut SqliteConnection,
        limit: u32,
    ) -> Result<Vec<ChannelPart>, DatabaseError> {
        let graded = format!(
            "select policy as part, policy as name, sums.* \
             from (select policy, {GRADED_SUMS} from channel_sources \
             where channel = $1 and version = $2 group by policy) as sums \
             order by negatives + positives desc, policy limit $3"
        );
        let checked = format!(
            "select policy as part, {CHECKED_SUMS} from channel_source_checks \
             where channel = $1 and version = $2 \
             group by policy, judge, sensitivity, specificity, passes"
        );
        let parts = self
            .parts::<String>(connection, limit, [graded, checked])
            .await?;
        Ok(parts.into_iter().map(|(_, part)| part).collect())
    }

    /// The parts of a statement, with the checks of another one.
    async fn parts<K>(
        self,
        connection: &mut SqliteConnection,
        limit: u32,
        [graded, checked]: [String; 2],
    ) -> Result<Vec<(K, ChannelPart)>, DatabaseError>
    where
        K: PartialEq + for<'r> sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    {
        let truths = self.truths(connection).await?;
        let rows = sqlx::query(AssertSqlSafe(graded))
            .bind(self.channel)
            .bind(self.version)
            .bind(limit)
            .fetch_all(&mut *connection)
            .await?;
        let mut parts = Vec::with_capacity(rows.len());
        for row in &rows {
            let counts = ChannelCounts {
                graded: [(self.place(), judged_of(row)?)].into(),
                truths: truths.clone(),
                ..ChannelCounts::default()
            };
            let name = row.try_get("name")?;
            parts.push((row.try_get("part")?, ChannelPart { name, counts }));
        }
        let rows = sqlx::query(AssertSqlSafe(checked))
            .bind(self.channel)
            .bind(self.version)
            .fetch_all(connection)
            .await?;
        for row in &rows {
            let key: K = row.try_get("part")?;
            if let Some((_, part)) = parts.iter_mut().find(|(part, _)| *part == key) {
                let (checker, checked) = checked_of(row)?;
                part.counts.checked_by(self.place(), checker).add(&checked);
            }
        }
        Ok(parts)
    }
}
