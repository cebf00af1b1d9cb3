//! Sums by step: adds those of new grades to `rollups`, and reads those of a run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::insert::Insert;
use super::keys::{KindTotals, NO_STEP};
use super::rows::count;
use super::sums::{add_counts, add_numbers, number};
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::rollup::{RollupKey, Rollups, Totals};

const UPSERT: Insert = Insert {
    prefix: "insert into rollups (run, step, grader, version, outcome, verdict, grades, passes, \
           scores, score_sum, score_squares, grade_us, queue_us)",
    columns: 13,
    suffix: concat!(
        "on conflict (run, step, grader, version, outcome, verdict) do update set ",
        add_counts!("rollups": "grades", "passes", "scores", "grade_us", "queue_us"),
        ", ",
        add_numbers!("rollups": "score_sum", "score_squares")
    ),
};

/// Adds the totals to their rollups.
pub(super) async fn upsert(
    connection: &mut Connection,
    sums: &[KindTotals<'_>],
) -> Result<(), DatabaseError> {
    let mut rollups: BTreeMap<_, Totals> = BTreeMap::new();
    for (batch, kind, sums) in sums {
        let step = batch.entry.step.unwrap_or(NO_STEP);
        let verdict = kind.verdict.unwrap_or("");
        let key = (
            batch.run,
            step,
            kind.grader,
            kind.version,
            kind.outcome,
            verdict,
        );
        rollups.entry(key).or_default().add(sums);
    }
    let rollups: Vec<_> = rollups.into_iter().collect();
    UPSERT
        .run(connection, &rollups, |values, (key, sums)| {
            let (run, step, grader, version, outcome, verdict) = *key;
            values
                .add(run)
                .add(step)
                .add(grader)
                .add(i64::from(version))
                .add(outcome)
                .add(verdict)
                .add_count(sums.grades)
                .add_count(sums.passes)
                .add_count(sums.scores)
                .add_number(sums.score_sum)
                .add_number(sums.score_squares)
                .add_count(sums.grade_us)
                .add_count(sums.queue_us);
        })
        .await?;
    Ok(())
}

/// The rollups of a run.
pub(crate) async fn read(connection: &mut Connection, run: i64) -> Result<Rollups, DatabaseError> {
    const SELECT: &str = "select step, grader, version, outcome, verdict, grades, passes, scores, \
         score_sum, score_squares, grade_us, queue_us from rollups where run = $1";
    let mut rollups = Rollups::new();
    for row in sql::query(SELECT).bind(run).fetch_all(connection).await? {
        let (step, verdict): (i64, Cow<'_, str>) = (row.try_get("step")?, row.try_get("verdict")?);
        let key = RollupKey {
            step: (step != NO_STEP).then_some(step),
            grader: row.try_get("grader")?,
            version: row.try_get("version")?,
            outcome: row.try_get("outcome")?,
            verdict: (!verdict.is_empty()).then(|| verdict.into_owned()),
        };
        let totals = Totals {
            grades: count(row.try_get("grades")?),
            passes: count(row.try_get("passes")?),
            scores: count(row.try_get("scores")?),
            score_sum: number(row.try_get("score_sum")?),
            score_squares: number(row.try_get("score_squares")?),
            grade_us: count(row.try_get("grade_us")?),
            queue_us: count(row.try_get("queue_us")?),
        };
        rollups.insert(key, totals);
    }
    Ok(rollups)
}
