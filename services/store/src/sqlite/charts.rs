//! Responsible for what charts of runs are drawn from: adding what was counted by step, and reading it back by stretches of steps.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use assay_core::chart::{Counted, Number, Steps, Sums, Topic};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::apply::NO_STEP;
use super::insert::Insert;
use super::rows::count;
use crate::database::DatabaseError;

/// What new grades add, by run and step.
pub(super) type Added<'e> = BTreeMap<(&'e Arc<str>, Option<i64>), Counted>;

const UPSERT_NUMBERS: Insert = Insert {
    into: "insert into step_numbers (run, step, number, bin, count, sum, squares)",
    columns: 7,
    then: "on conflict (run, step, number, bin) do update set count = count + excluded.count, \
               sum = sum + excluded.sum, squares = squares + excluded.squares",
};

const UPSERT_WORDS: Insert = Insert {
    into: "insert into step_words (run, step, topic, word, grades)",
    columns: 5,
    then: "on conflict (run, step, topic, word) do update set grades = grades + excluded.grades",
};

/// First step of the stretch, as [`stretch`](assay_core::chart::stretch) says it; what has no step stays so.
macro_rules! stretch {
    () => {
        "case when step = -9223372036854775808 then step else step - ((step % ?1) + ?1) % ?1 end"
    };
}

/// Adds what was counted; `runs` are the numbers of the runs.
pub(super) async fn add(
    connection: &mut SqliteConnection,
    added: &Added<'_>,
    runs: &HashMap<&Arc<str>, i64>,
) -> Result<(), DatabaseError> {
    let steps: Vec<(i64, i64, &Counted)> = added
        .iter()
        .filter_map(|((run, step), counted)| Some((*runs.get(run)?, step.unwrap_or(NO_STEP), counted)))
        .collect();
    let numbers: Vec<_> = steps
        .iter()
        .flat_map(|(run, step, counted)| counted.numbers.iter().map(move |(key, sums)| (*run, *step, key, sums)))
        .collect();
    UPSERT_NUMBERS
        .run(connection, &numbers, |values, (run, step, (number, bin), sums)| {
            values
                .add(*run)
                .add(*step)
                .add(number.name())
                .add(*bin)
                .add_count(sums.count)
                .add(sums.sum)
                .add(sums.squares);
        })
        .await?;
    let words: Vec<_> = steps
        .iter()
        .flat_map(|(run, step, counted)| counted.words.iter().map(move |(key, grades)| (*run, *step, key, grades)))
        .filter(|(_, _, (topic, _), _)| Topic::KEPT.contains(topic))
        .collect();
    UPSERT_WORDS
        .run(connection, &words, |values, (run, step, (topic, word), grades)| {
            values.add(*run).add(*step).add(topic.name()).add(word.as_str()).add_count(**grades);
        })
        .await?;
    Ok(())
}

/// What was counted of a run, by stretches of `width` steps.
pub(super) async fn read(connection: &mut SqliteConnection, run: i64, width: i64) -> Result<Steps, DatabaseError> {
    const NUMBERS: &str = concat!(
        "select ",
        stretch!(),
        " first, number, bin, sum(count), sum(sum), sum(squares) from step_numbers where run = ?2 \
         group by first, number, bin"
    );
    const WORDS: &str = concat!(
        "select ",
        stretch!(),
        " first, topic, word, sum(grades) from step_words where run = ?2 group by first, topic, word"
    );
    const ROLLUPS: &str = concat!(
        "select ",
        stretch!(),
        " first, outcome, verdict, grader, sum(grades), sum(passes) from rollups where run = ?2 \
         group by first, outcome, verdict, grader"
    );
    let mut steps = Steps::new();
    let step = |first: i64| (first != NO_STEP).then_some(first);
    for row in sqlx::query(NUMBERS).bind(width).bind(run).fetch_all(&mut *connection).await? {
        // A later release may count more; this one does not draw it.
        let name: &str = row.try_get(1)?;
        let Some(number) = Number::ALL.iter().find(|number| number.name() == name) else { continue };
        let sums = Sums { count: count(row.try_get(3)?), sum: row.try_get(4)?, squares: row.try_get(5)? };
        let counted = steps.entry(step(row.try_get(0)?)).or_default();
        counted.numbers.insert((*number, row.try_get(2)?), sums);
    }
    for row in sqlx::query(WORDS).bind(width).bind(run).fetch_all(&mut *connection).await? {
        let name: &str = row.try_get(1)?;
        let Some(topic) = Topic::KEPT.iter().find(|topic| topic.name() == name) else { continue };
        let counted = steps.entry(step(row.try_get(0)?)).or_default();
        counted.word(*topic, row.try_get(2)?, count(row.try_get(3)?));
    }
    for row in sqlx::query(ROLLUPS).bind(width).bind(run).fetch_all(&mut *connection).await? {
        let counted = steps.entry(step(row.try_get(0)?)).or_default();
        let (grades, passes) = (count(row.try_get(4)?), count(row.try_get(5)?));
        let topics = [(Topic::Outcome, 1), (Topic::Verdict, 2), (Topic::Grader, 3)];
        for (topic, column) in topics {
            let word: &str = row.try_get(column)?;
            // A rollup without a verdict has an empty one.
            if !word.is_empty() {
                counted.word(topic, word, grades);
            }
        }
        if passes > 0 {
            counted.word(Topic::Pass, "pass", passes);
        }
    }
    Ok(steps)
}
