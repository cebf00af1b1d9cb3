//! Adds the counts of new grades and adjudications to those of their channels by run and by policy.

use std::collections::BTreeMap;

use assay_core::GradeId;
use assay_rewards::channel::ChannelCounts;
use assay_rewards::channel::counts::{Checked, Checker, Graded};

use super::insert::Insert;
use super::keys::ALL_RUNS;
use super::query::grade_key;
use super::sums::{add_counts, add_numbers};
use crate::channel;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::event::{Adjudication, Event};

const UPSERT_GRADED: Insert = Insert {
    prefix: "insert into channel_sources (channel, version, run, policy, negatives, positives, \
             bound_negatives, bound_positives, overturned_negatives, overturned_positives, \
             unjudged_negatives, unjudged_positives)",
    columns: 12,
    suffix: concat!(
        "on conflict (channel, version, run, policy) do update set ",
        add_counts!(
            "channel_sources": "negatives",
            "positives",
            "bound_negatives",
            "bound_positives",
            "overturned_negatives",
            "overturned_positives",
            "unjudged_negatives",
            "unjudged_positives"
        )
    ),
};

const UPSERT_CHECKED: Insert = Insert {
    prefix: "insert into channel_source_checks (channel, version, run, policy, judge, \
             sensitivity, specificity, passes, checks, disagreed, weight, squares, \
             disagreed_weight)",
    columns: 13,
    suffix: concat!(
        "on conflict (channel, version, run, policy, judge, sensitivity, specificity, passes) do \
         update set ",
        add_counts!("channel_source_checks": "checks", "disagreed"),
        ", ",
        add_numbers!("channel_source_checks": "weight", "squares", "disagreed_weight")
    ),
};

/// Channel and version.
type Channel = (String, u32);

/// The counts of one channel from one run or policy.
#[derive(Default)]
struct Part {
    graded: Graded,
    checked: Vec<(Checker, Checked)>,
}

impl Part {
    fn add_checked(&mut self, checker: Checker, checked: &Checked) {
        let mut known = self.checked.iter_mut();
        match known.find(|(known, _)| *known == checker) {
            Some((_, sum)) => sum.add(checked),
            None => self.checked.push((checker, *checked)),
        }
    }
}

/// New counts by number of the run without a policy, or by name of the policy for all runs, and by
/// channel.
#[derive(Default)]
pub(super) struct NewSources(BTreeMap<(i64, String), BTreeMap<Channel, Part>>);

impl NewSources {
    /// Adds counts of a run and policy.
    pub(super) fn add(&mut self, run: i64, policy: &str, counts: ChannelCounts) {
        self.add_to((run, String::new()), counts.clone());
        self.add_to((ALL_RUNS, policy.to_owned()), counts);
    }

    fn add_to(&mut self, source: (i64, String), counts: ChannelCounts) {
        let channels = self.0.entry(source).or_default();
        for (place, graded) in counts.graded {
            let part = channels.entry((place.channel, place.version)).or_default();
            part.graded.add(&graded);
        }
        for (place, list) in counts.checked {
            let part = channels.entry((place.channel, place.version)).or_default();
            for (checker, checked) in list {
                part.add_checked(checker, &checked);
            }
        }
    }

    /// Adds an adjudication to the run and policy of its grade, unless it has been deleted.
    pub(super) async fn add_adjudication(
        &mut self,
        connection: &mut Connection,
        adjudication: &Adjudication,
    ) -> Result<(), DatabaseError> {
        if adjudication.weight.is_none() {
            return Ok(());
        }
        if let Some((run, policy)) = source(connection, adjudication.grade).await? {
            let mut counts = ChannelCounts::default();
            channel::add_event(&mut counts, &Event::Adjudicated(adjudication.clone()));
            self.add(run, &policy, counts);
        }
        Ok(())
    }

    /// Adds them to the tables.
    pub(super) async fn upsert(self, connection: &mut Connection) -> Result<(), DatabaseError> {
        let parts: Vec<_> = self
            .0
            .iter()
            .flat_map(|(source, channels)| {
                channels
                    .iter()
                    .map(move |(channel, part)| (source, channel, part))
            })
            .collect();
        UPSERT_GRADED
            .run(
                connection,
                &parts,
                |values, ((run, policy), (channel, version), part)| {
                    let graded = &part.graded;
                    values
                        .add(channel.as_str())
                        .add(i64::from(*version))
                        .add(*run)
                        .add(policy.as_str())
                        .add_count(graded.negatives)
                        .add_count(graded.positives)
                        .add_count(graded.bound_negatives)
                        .add_count(graded.bound_positives)
                        .add_count(graded.overturned_negatives)
                        .add_count(graded.overturned_positives)
                        .add_count(graded.unjudged_negatives)
                        .add_count(graded.unjudged_positives);
                },
            )
            .await?;
        let checks: Vec<_> = parts
            .iter()
            .flat_map(|(source, channel, part)| {
                let found = part.checked.iter();
                found.map(move |(checker, checked)| (*source, *channel, checker, checked))
            })
            .collect();
        UPSERT_CHECKED
            .run(
                connection,
                &checks,
                |values, ((run, policy), (channel, version), checker, checked)| {
                    values
                        .add(channel.as_str())
                        .add(i64::from(*version))
                        .add(*run)
                        .add(policy.as_str())
                        .add(checker.judge.as_str())
                        .add_number(checker.sensitivity)
                        .add_number(checker.specificity)
                        .add(checker.passes)
                        .add_count(checked.checks)
                        .add(checked.disagreed)
                        .add_number(checked.weight)
                        .add_number(checked.squares)
                        .add_number(checked.disagreed_weight);
                },
            )
            .await?;
        Ok(())
    }
}

/// The run and the policy of a grade; `None` if it is not stored.
async fn source(
    connection: &mut Connection,
    grade: GradeId,
) -> Result<Option<(i64, String)>, DatabaseError> {
    const SELECT: &str = "select b.run, k.policy from grades g cross join batches b \
         cross join kinds k where g.key = $1 and b.no = g.key >> 24 and k.no = g.kind";
    let Some(key) = grade_key(connection, grade).await? else {
        return Ok(None);
    };
    let row = sql::query(SELECT).bind(key);
    let row = row.fetch_optional(connection).await?;
    row.map(|row| Ok((row.try_get("run")?, row.try_get("policy")?)))
        .transpose()
}
