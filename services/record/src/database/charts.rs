//! Counts for charts of runs: adds those of new grades by step, and reads them by buckets of steps.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::insert::Insert;
use super::keys::NO_STEP;
use super::rows::count;
use super::sums::{add_counts, add_numbers, number};
use crate::chart::{Counted, Number, Part, Steps, Sums, Topic, bucket};
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection, Row};

/// The counts of new grades, by run and step.
pub(crate) type NewCounts<'e> = BTreeMap<(&'e Arc<str>, Option<i64>), Counted>;

/// Widths for which counts are stored. A chart reads the largest stored width that divides its own:
/// if its columns have a power of 2 of steps, it reads at most eight stored buckets per column.
const WIDTHS: [i64; 4] = [1, 16, 256, 4096];

const UPSERT_NUMBERS: Insert = Insert {
    prefix: "insert into step_numbers (run, width, step, number, bin, count, sum, squares)",
    columns: 8,
    suffix: concat!(
        "on conflict (run, width, step, number, bin) do update set ",
        add_counts!("step_numbers": "count"),
        ", ",
        add_numbers!("step_numbers": "sum", "squares")
    ),
};

const UPSERT_LABELS: Insert = Insert {
    prefix: "insert into step_words (run, width, step, topic, word, grades, rewards, reward_sum, \
             reward_squares)",
    columns: 9,
    suffix: concat!(
        "on conflict (run, width, step, topic, word) do update set ",
        add_counts!("step_words": "grades", "rewards"),
        ", ",
        add_numbers!("step_words": "reward_sum", "reward_squares")
    ),
};

/// Adds counts; `runs` maps runs to their numbers.
pub(crate) async fn add(
    connection: &mut Connection,
    added: &NewCounts<'_>,
    runs: &HashMap<&Arc<str>, i64>,
) -> Result<(), DatabaseError> {
    let mut buckets: BTreeMap<(i64, i64, i64), Counted> = BTreeMap::new();
    for ((run, step), counted) in added {
        let Some(run) = runs.get(run) else { continue };
        for width in WIDTHS {
            let first = step.map_or(NO_STEP, |step| bucket(step, width));
            buckets
                .entry((*run, width, first))
                .or_default()
                .add(counted);
        }
    }
    let numbers: Vec<_> = buckets
        .iter()
        .flat_map(|(key, counted)| counted.numbers.iter().map(move |row| (*key, row)))
        .collect();
    UPSERT_NUMBERS
        .run(
            connection,
            &numbers,
            |values, ((run, width, step), ((number, bin), sums))| {
                values
                    .add(*run)
                    .add(*width)
                    .add(*step)
                    .add(number.name())
                    .add(*bin);
                values
                    .add_count(sums.count)
                    .add_number(sums.sum)
                    .add_number(sums.squares);
            },
        )
        .await?;
    let labels: Vec<_> = buckets
        .iter()
        .flat_map(|(key, counted)| counted.words.iter().map(move |row| (*key, row)))
        .collect();
    UPSERT_LABELS
        .run(
            connection,
            &labels,
            |values, ((run, width, step), ((topic, word), part))| {
                values
                    .add(*run)
                    .add(*width)
                    .add(*step)
                    .add(topic.name())
                    .add(word.as_str());
                values
                    .add_count(part.grades)
                    .add_count(part.rewards.count)
                    .add_number(part.rewards.sum)
                    .add_number(part.rewards.squares);
            },
        )
        .await?;
    Ok(())
}

/// Selects the first step of the bucket, as computed by the function `bucket`; at least the
/// smallest integer, which is the marker for no step.
macro_rules! select_bucket {
    () => {
        "select case when step < ((step % $1) + $1) % $1 - 9223372036854775807 - 1 \
         then -9223372036854775807 - 1 else step - ((step % $1) + $1) % $1 end as first"
    };
}

/// Stored buckets of `WIDTHS[level]` steps, from the first step up to before the last.
type Segment = (i64, i128, i128);

/// The steps from `first` up to before `end` as stored buckets: at most two series of each width,
/// the widest in the middle.
fn segments(first: i128, end: i128) -> Vec<Segment> {
    let (mut first, mut end) = (first, end);
    let mut segments = Vec::new();
    for (at, width) in WIDTHS.into_iter().enumerate() {
        let Some(next) = WIDTHS.get(at + 1).map(|next| i128::from(*next)) else {
            segments.push((width, first, end));
            break;
        };
        let start = (first + next - 1).div_euclid(next) * next;
        let start = start.min(end);
        segments.push((width, first, start));
        first = start;
        let stop = (end.div_euclid(next) * next).max(first);
        segments.push((width, stop, end));
        end = stop;
    }
    segments.retain(|(_, first, end)| first < end);
    segments
}

/// Reads the sums of a run over a range of steps. Grades without a step are part of every range
/// that starts at the smallest integer.
pub(crate) async fn sum(
    connection: &mut Connection,
    run: i64,
    steps: &RangeInclusive<i64>,
) -> Result<Counted, DatabaseError> {
    const WORDS: &str = "select topic, word, cast(sum(grades) as bigint) as grades, \
         cast(sum(rewards) as bigint) as rewards, sum(reward_sum) as reward_sum, \
         sum(reward_squares) as reward_squares from step_words \
         where run = $1 and width = $2 and step between $3 and $4 group by topic, word";
    const NUMBERS: &str = "select number, bin, cast(sum(count) as bigint) as count, \
         sum(sum) as sum, sum(squares) as squares from step_numbers \
         where run = $1 and width = $2 and step between $3 and $4 group by number, bin";
    let mut counted = Counted::default();
    for (width, first, end) in segments((*steps.start()).into(), i128::from(*steps.end()) + 1) {
        let bound = |step: i128| i64::try_from(step).unwrap_or(i64::MAX);
        let (first, last) = (bound(first), bound(end - 1));
        for (sql, add) in [
            (
                WORDS,
                add_words as fn(&mut Counted, &Row) -> Result<(), DatabaseError>,
            ),
            (NUMBERS, add_numbers_of),
        ] {
            let query = sql::query(sql).bind(run).bind(width).bind(first).bind(last);
            for row in query.fetch_all(connection).await? {
                add(&mut counted, &row)?;
            }
        }
    }
    Ok(counted)
}

/// Adds a row of `step_numbers`. Quantities that only a later release counts are ignored.
pub(crate) fn add_numbers_of(counted: &mut Counted, row: &Row) -> Result<(), DatabaseError> {
    let name: Cow<'_, str> = row.try_get("number")?;
    if let Some(known) = Number::ALL.iter().find(|known| known.name() == name) {
        let sums = read_sums(row)?;
        let bin = counted.numbers.entry((*known, row.try_get("bin")?));
        bin.or_default().add(&sums);
    }
    Ok(())
}

fn read_sums(row: &Row) -> Result<Sums, DatabaseError> {
    Ok(Sums {
        count: count(row.try_get("count")?),
        sum: number(row.try_get("sum")?),
        squares: number(row.try_get("squares")?),
    })
}

/// Adds a row of `step_words`. Topics that only a later release counts are ignored.
pub(crate) fn add_words(counted: &mut Counted, row: &Row) -> Result<(), DatabaseError> {
    let name: Cow<'_, str> = row.try_get("topic")?;
    if let Some(topic) = Topic::ALL.iter().find(|topic| topic.name() == name) {
        let part = Part {
            grades: count(row.try_get("grades")?),
            rewards: Sums {
                count: count(row.try_get("rewards")?),
                sum: number(row.try_get("reward_sum")?),
                squares: number(row.try_get("reward_squares")?),
            },
        };
        let word: Cow<'_, str> = row.try_get("word")?;
        counted.word(*topic, &word, &part);
    }
    Ok(())
}

/// Reads the counts of a run, by buckets of `width` steps.
pub(crate) async fn read(
    connection: &mut Connection,
    run: i64,
    width: i64,
) -> Result<Steps, DatabaseError> {
    const NUMBERS: &str = concat!(
        select_bucket!(),
        ", number, bin, cast(sum(count) as bigint) as count, sum(sum) as sum, \
         sum(squares) as squares \
         from step_numbers where run = $2 and width = $3 group by first, number, bin"
    );
    const LABELS: &str = concat!(
        select_bucket!(),
        ", topic, word, cast(sum(grades) as bigint) as grades, \
         cast(sum(rewards) as bigint) as rewards, sum(reward_sum) as reward_sum, \
         sum(reward_squares) as reward_squares from step_words \
         where run = $2 and width = $3 group by first, topic, word"
    );
    let stored_width = stored_width(width);
    let mut steps = Steps::new();
    let step = |first: i64| (first != NO_STEP).then_some(first);
    for row in sql::query(NUMBERS)
        .bind(width)
        .bind(run)
        .bind(stored_width)
        .fetch_all(connection)
        .await?
    {
        let counted = steps.entry(step(row.try_get("first")?)).or_default();
        add_numbers_of(counted, &row)?;
    }
    for row in sql::query(LABELS)
        .bind(width)
        .bind(run)
        .bind(stored_width)
        .fetch_all(connection)
        .await?
    {
        let counted = steps.entry(step(row.try_get("first")?)).or_default();
        add_words(counted, &row)?;
    }
    Ok(steps)
}

/// Reads the rewards of a run, by buckets of `width` steps.
pub(crate) async fn read_rewards(
    connection: &mut Connection,
    run: i64,
    width: i64,
) -> Result<BTreeMap<Option<i64>, Sums>, DatabaseError> {
    const REWARDS: &str = concat!(
        select_bucket!(),
        ", cast(sum(count) as bigint) as count, sum(sum) as sum, sum(squares) as squares \
         from step_numbers where run = $2 and width = $3 and number = 'reward' group by first"
    );
    let rows = sql::query(REWARDS)
        .bind(width)
        .bind(run)
        .bind(stored_width(width))
        .fetch_all(connection)
        .await?;
    let rewards = rows.iter().map(|row| {
        let first: i64 = row.try_get("first")?;
        Ok(((first != NO_STEP).then_some(first), read_sums(row)?))
    });
    rewards.collect()
}

/// Reads the counts of a run that detectors use, by buckets of `width` steps. Numbers are summed
/// over their bins.
pub(crate) async fn read_signals(
    connection: &mut Connection,
    run: i64,
    width: i64,
) -> Result<Steps, DatabaseError> {
    const NUMBERS: &str = concat!(
        select_bucket!(),
        ", number, cast(0 as bigint) as bin, cast(sum(count) as bigint) as count, \
         sum(sum) as sum, sum(squares) as squares \
         from step_numbers where run = $2 and width = $3 \
         and number in ('reward', 'passed_bytes', 'other_bytes', 'reasoning_bytes') \
         group by first, number"
    );
    const LABELS: &str = concat!(
        select_bucket!(),
        ", topic, word, cast(sum(grades) as bigint) as grades, \
         cast(sum(rewards) as bigint) as rewards, sum(reward_sum) as reward_sum, \
         sum(reward_squares) as reward_squares from step_words \
         where run = $2 and width = $3 and topic in ('outcome', 'truncated', 'signal') \
         group by first, topic, word"
    );
    let stored_width = stored_width(width);
    let mut steps = Steps::new();
    for (sql, add) in [
        (
            NUMBERS,
            add_numbers_of as fn(&mut Counted, &Row) -> Result<(), DatabaseError>,
        ),
        (LABELS, add_words),
    ] {
        let query = sql::query(sql).bind(width).bind(run).bind(stored_width);
        for row in query.fetch_all(connection).await? {
            let first: i64 = row.try_get("first")?;
            let step = (first != NO_STEP).then_some(first);
            add(steps.entry(step).or_default(), &row)?;
        }
    }
    Ok(steps)
}

/// The largest width for which counts are stored that divides `width`.
fn stored_width(width: i64) -> i64 {
    let divides = |stored: &i64| width % stored == 0;
    WIDTHS.into_iter().rfind(divides).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_a_range_once() {
        for (first, end) in [(0, 1), (3, 40), (-5, 9_000), (17, 300), (4_096, 8_192)] {
            let segments = segments(first, end);
            let mut covered: Vec<i128> = Vec::new();
            for (width, first, end) in &segments {
                let width = i128::from(*width);
                assert!(first % width == 0 && end % width == 0, "{segments:?}");
                covered.extend(*first..*end);
            }
            covered.sort_unstable();
            assert_eq!(covered, (first..end).collect::<Vec<_>>());
            assert!(segments.len() <= 2 * WIDTHS.len(), "{segments:?}");
        }
    }

    #[test]
    fn a_whole_run_is_one_segment() {
        let end = i128::from(i64::MAX) + 1;
        assert_eq!(
            segments(i64::MIN.into(), end),
            [(4_096, i64::MIN.into(), end)]
        );
    }
}
