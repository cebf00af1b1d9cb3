//! Counts for charts of runs: adds those of new grades by step, and reads them by buckets of steps.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::insert::Insert;
use super::keys::NO_STEP;
use super::rows::count;
use super::sums::{add_counts, add_numbers, number};
use crate::chart::{Counted, Number, Steps, Sums, Topic, bucket};
use crate::database::DatabaseError;

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
    prefix: "insert into step_words (run, width, step, topic, word, grades)",
    columns: 6,
    suffix: concat!(
        "on conflict (run, width, step, topic, word) do update set ",
        add_counts!("step_words": "grades")
    ),
};

/// Adds counts; `runs` maps runs to their numbers.
pub(crate) async fn add(
    connection: &mut SqliteConnection,
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
            |values, ((run, width, step), ((topic, word), grades))| {
                values
                    .add(*run)
                    .add(*width)
                    .add(*step)
                    .add(topic.name())
                    .add(word.as_str())
                    .add_count(**grades);
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

/// Reads the counts of a run, by buckets of `width` steps.
pub(crate) async fn read(
    connection: &mut SqliteConnection,
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
        ", topic, word, cast(sum(grades) as bigint) as grades from step_words \
         where run = $2 and width = $3 group by first, topic, word"
    );
    let stored_width = WIDTHS
        .into_iter()
        .rfind(|stored_width| width % stored_width == 0)
        .unwrap_or(1);
    let mut steps = Steps::new();
    let step = |first: i64| (first != NO_STEP).then_some(first);
    for row in sqlx::query(NUMBERS)
        .bind(width)
        .bind(run)
        .bind(stored_width)
        .fetch_all(&mut *connection)
        .await?
    {
        // Quantities that only a later release counts are ignored.
        let name: &str = row.try_get("number")?;
        let Some(counted_number) = Number::ALL.iter().find(|known| known.name() == name) else {
            continue;
        };
        let sums = Sums {
            count: count(row.try_get("count")?),
            sum: number(row.try_get("sum")?),
            squares: number(row.try_get("squares")?),
        };
        let counted = steps.entry(step(row.try_get("first")?)).or_default();
        counted
            .numbers
            .insert((*counted_number, row.try_get("bin")?), sums);
    }
    for row in sqlx::query(LABELS)
        .bind(width)
        .bind(run)
        .bind(stored_width)
        .fetch_all(&mut *connection)
        .await?
    {
        let name: &str = row.try_get("topic")?;
        let Some(topic) = Topic::ALL.iter().find(|topic| topic.name() == name) else {
            continue;
        };
        let counted = steps.entry(step(row.try_get("first")?)).or_default();
        counted.word(*topic, row.try_get("word")?, count(row.try_get("grades")?));
    }
    Ok(steps)
}
