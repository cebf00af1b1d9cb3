//! Sums over what was graded lately, for alerts: of the last steps of runs, and of channels.

use std::collections::BTreeMap;

use assay_rewards::channel::counts::BUCKET_US;

use super::runs;
use crate::chart::Counted;
use crate::database::rows::count;
use crate::database::sql::{self, Connection};
use crate::database::{DatabaseError, charts, query};
use crate::pending::Digest;
use crate::{Record, RecordError, RunSummary};

/// A run and the sums of its last steps.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentRun {
    /// Its totals.
    pub summary: RunSummary,
    /// By step: the histograms of rewards and of times in the queue, and the counts of outcomes and
    /// of truncated completions.
    pub steps: BTreeMap<i64, Counted>,
}

/// The verdicts of a channel in a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentChannel {
    /// Name of the channel.
    pub channel: String,
    /// The newest version of its grader.
    pub version: u32,
    /// Items that did not pass.
    pub negatives: u64,
    /// Items that passed.
    pub positives: u64,
}

impl Record {
    /// Returns the runs with a grade since `since_us` (Unix time in microseconds), the most
    /// recently used first and at most `runs`, each with the sums of its last `steps` steps.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn recent_runs(
        &self,
        since_us: i64,
        runs: u32,
        steps: u32,
    ) -> Result<Vec<RecentRun>, RecordError> {
        self.read(async {
            let graded = |digest: &Digest| digest.run.is_some() && digest.grades > 0;
            let mut snapshot = self.snapshot_after(graded).await?;
            let mut recent = Vec::new();
            for summary in runs::last_used(&mut snapshot, runs).await? {
                if summary.last_us < since_us {
                    break;
                }
                let steps = match summary.last_step {
                    Some(last) => {
                        let before = last.saturating_sub(steps.into());
                        steps_after(&mut snapshot, &summary.run, before).await?
                    }
                    None => BTreeMap::new(),
                };
                recent.push(RecentRun { summary, steps });
            }
            Ok(recent)
        })
        .await
    }

    /// Returns the channels with a grade since `used_us`, the most recently used first and at most
    /// `channels`, each with its verdicts since `since_us`, in whole buckets of ten minutes. Both
    /// are Unix times in microseconds.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn recent_channels(
        &self,
        used_us: i64,
        since_us: i64,
        channels: u32,
    ) -> Result<Vec<RecentChannel>, RecordError> {
        const SELECT: &str = "select used.channel, used.version, \
             cast(coalesce(sum(negatives), 0) as bigint) as negatives, \
             cast(coalesce(sum(positives), 0) as bigint) as positives from ( \
                 select channel, last_us, (select max(version) from channels as known \
                 where known.channel = channel_uses.channel) as version \
                 from channel_uses where last_us >= $1 order by last_us desc, channel limit $2 \
             ) as used left join channels on channels.channel = used.channel \
             and channels.version = used.version and bucket >= $3 \
             where used.version is not null \
             group by used.channel, used.version, used.last_us \
             order by used.last_us desc, used.channel";
        self.read(async {
            let graded = |digest: &Digest| digest.grades > 0;
            let mut snapshot = self.snapshot_after(graded).await?;
            Ok(sql::query(SELECT)
                .bind(used_us)
                .bind(i64::from(channels))
                .bind(since_us.div_euclid(BUCKET_US))
                .fetch_all(&mut snapshot)
                .await
                .map_err(DatabaseError::from)?
                .iter()
                .map(|row| {
                    Ok(RecentChannel {
                        channel: row.try_get("channel")?,
                        version: row.try_get("version")?,
                        negatives: count(row.try_get("negatives")?),
                        positives: count(row.try_get("positives")?),
                    })
                })
                .collect::<Result<_, DatabaseError>>()?)
        })
        .await
    }
}

/// Sums of the steps of a run after `before`.
async fn steps_after(
    connection: &mut Connection,
    run: &str,
    before: i64,
) -> Result<BTreeMap<i64, Counted>, DatabaseError> {
    const NUMBERS: &str = "select step, number, bin, count, sum, squares from step_numbers \
         where run = $1 and width = 1 and step > $2 and number in ('reward', 'queue_us')";
    const WORDS: &str = "select step, topic, word, grades, rewards, reward_sum, reward_squares \
         from step_words \
         where run = $1 and width = 1 and step > $2 and topic in ('outcome', 'truncated')";
    let mut steps: BTreeMap<i64, Counted> = BTreeMap::new();
    let Some(run) = query::run_number(connection, run).await? else {
        return Ok(steps);
    };
    let rows = sql::query(NUMBERS).bind(run).bind(before);
    for row in rows.fetch_all(connection).await? {
        let counted = steps.entry(row.try_get("step")?).or_default();
        charts::add_numbers_of(counted, &row)?;
    }
    let rows = sql::query(WORDS).bind(run).bind(before);
    for row in rows.fetch_all(connection).await? {
        let counted = steps.entry(row.try_get("step")?).or_default();
        charts::add_words(counted, &row)?;
    }
    Ok(steps)
}
