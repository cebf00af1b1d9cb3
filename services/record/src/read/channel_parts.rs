//! Reads of the counts of one channel by time, by run and by policy.

use std::collections::BTreeMap;

use assay_rewards::channel::ChannelCounts;
use assay_rewards::channel::counts::{JudgeCounts, JudgeKey, Place};

use super::channels::{CHECKED_SUMS, GRADED_SUMS, checked_of, judged_of, read_judges};
use crate::channel_part::{ChannelPart, ChannelTimes, PartKey};
use crate::database::DatabaseError;
use crate::database::keys::NO_RUN;
use crate::database::sql::{self, Connection};
use crate::pending::Digest;
use crate::{Record, RecordError};
use sqlx::AssertSqlSafe;

/// Lengths of spans of time in buckets: ten minutes, an hour, six hours, a day, a week, and four
/// weeks.
const WIDTHS: [i64; 6] = [1, 6, 36, 144, 1_008, 4_032];

/// Most buckets that are read: those of sixty days in which the channel always has grades.
const MAX_BUCKETS: i64 = 8_640;

/// A version of a channel.
#[derive(Clone, Copy)]
struct Version<'c> {
    channel: &'c str,
    version: u32,
}

impl Record {
    /// Returns the counts of a channel by time, in the shortest spans of which at most `spans`
    /// cover its newest 8,640 buckets of ten minutes, or in spans of four weeks the newest of
    /// them. Callers see none.
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
            Ok(of.parts(&mut snapshot, key, limit).await?)
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
        connection: &mut Connection,
    ) -> Result<BTreeMap<JudgeKey, JudgeCounts>, DatabaseError> {
        let mut truths = read_judges(connection).await?;
        truths.retain(|(channel, version, ..), _| {
            channel == self.channel && *version == self.version
        });
        Ok(truths)
    }

    async fn times(
        self,
        connection: &mut Connection,
        spans: i64,
    ) -> Result<ChannelTimes, DatabaseError> {
        const BOUNDS: &str = "select min(bucket) as first, max(bucket) as last from \
             (select bucket from channels where channel = $1 and version = $2 \
             order by bucket desc limit $3) as newest";
        let bounds = sql::query(BOUNDS)
            .bind(self.channel)
            .bind(self.version)
            .bind(MAX_BUCKETS)
            .fetch_one(connection)
            .await?;
        let first: Option<i64> = bounds.try_get("first")?;
        let last: Option<i64> = bounds.try_get("last")?;
        let Some((first, last)) = first.zip(last) else {
            return Ok(ChannelTimes::default());
        };
        let start = |width: i64, bucket: i64| bucket - bucket.rem_euclid(width);
        let longest = WIDTHS[WIDTHS.len() - 1];
        let width = WIDTHS
            .into_iter()
            .find(|width| (last - start(*width, first)) / width < spans)
            .unwrap_or(longest);
        let first = first.max(start(width, last) - (spans - 1) * width);
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
        let read = async |connection: &mut Connection, select: String| {
            sql::query(AssertSqlSafe(select))
                .bind(self.channel)
                .bind(self.version)
                .bind(width)
                .bind(first)
                .fetch_all(connection)
                .await
        };
        for row in read(connection, graded).await? {
            let counts = times.spans.entry(row.try_get("span")?);
            let counts = counts.or_insert_with(empty);
            counts.graded.insert(self.place(), judged_of(&row)?);
        }
        for row in read(connection, checked).await? {
            let counts = times.spans.entry(row.try_get("span")?);
            let (checker, checked) = checked_of(&row)?;
            let counts = counts.or_insert_with(empty);
            counts.checked_by(self.place(), checker).add(&checked);
        }
        Ok(times)
    }

    /// The parts of one kind, with their checks.
    async fn parts(
        self,
        connection: &mut Connection,
        key: PartKey,
        limit: u32,
    ) -> Result<Vec<ChannelPart>, DatabaseError> {
        const RUNS: &str = "select s.*, (select name from runs where no = s.run) as name \
             from channel_sources s where channel = $1 and version = $2 and run >= 0 \
             order by negatives + positives desc, run limit $3";
        const POLICIES: &str = "select s.*, policy as name from channel_sources s \
             where channel = $1 and version = $2 and run = -1 \
             order by negatives + positives desc, policy limit $3";
        const CHECKS: &str = "select judge, sensitivity, specificity, passes, checks, disagreed, \
             weight, squares, disagreed_weight from channel_source_checks \
             where channel = $1 and version = $2 and run = $3 and policy = $4";
        let truths = self.truths(connection).await?;
        let select = match key {
            PartKey::Run => RUNS,
            PartKey::Policy => POLICIES,
        };
        let rows = sql::query(select)
            .bind(self.channel)
            .bind(self.version)
            .bind(limit)
            .fetch_all(connection)
            .await?;
        let mut parts = Vec::with_capacity(rows.len());
        for row in &rows {
            let (run, policy): (i64, String) = (row.try_get("run")?, row.try_get("policy")?);
            let name: Option<String> = row.try_get("name")?;
            // A run that is being deleted has no name any more.
            if name.is_none() && run != NO_RUN {
                continue;
            }
            let mut counts = ChannelCounts {
                graded: [(self.place(), judged_of(row)?)].into(),
                truths: truths.clone(),
                ..ChannelCounts::default()
            };
            let checks = sql::query(CHECKS)
                .bind(self.channel)
                .bind(self.version)
                .bind(run)
                .bind(policy)
                .fetch_all(connection)
                .await?;
            for row in &checks {
                let (checker, checked) = checked_of(row)?;
                counts.checked_by(self.place(), checker).add(&checked);
            }
            parts.push(ChannelPart { name, counts });
        }
        Ok(parts)
    }
}
