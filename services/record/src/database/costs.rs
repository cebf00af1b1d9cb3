//! Adds what new grades cost to the sums, and keeps the slowest grades of each run and grader.

use std::collections::BTreeMap;

use super::insert::Insert;
use super::rows::count;
use super::sums::add_counts;
use crate::cost::Cost;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};

/// How many of the slowest grades of a run and grader are kept.
pub(crate) const SLOWEST: usize = 50;

const UPSERT: Insert = Insert {
    prefix: "insert into costs (run, caller, grader, grades, cpu_us, grade_us, queue_us, work, \
             bytes)",
    columns: 9,
    suffix: concat!(
        "on conflict (run, caller, grader) do update set ",
        add_counts!("costs": "grades", "cpu_us", "grade_us", "queue_us", "work", "bytes")
    ),
};

const INSERT_SLOW: Insert = Insert {
    prefix: "insert into slow_grades (run, grader, grade_us, key)",
    columns: 4,
    suffix: "on conflict do nothing",
};

/// What new grades cost.
#[derive(Default)]
pub(super) struct NewCosts<'e> {
    /// By number of the run, caller and grader.
    sums: BTreeMap<(i64, &'e str, &'e str), Cost>,
    /// The slowest by run and grader: times and keys, slowest first.
    slowest: BTreeMap<(i64, &'e str), Vec<(u64, i64)>>,
}

impl<'e> NewCosts<'e> {
    /// Adds a grade with this key.
    pub(super) fn add(
        &mut self,
        run: i64,
        caller: &'e str,
        grader: &'e str,
        key: i64,
        cost: &Cost,
    ) {
        self.sums
            .entry((run, caller, grader))
            .or_default()
            .add(cost);
        let slowest = self.slowest.entry((run, grader)).or_default();
        slowest.push((cost.grade_us, key));
        if slowest.len() >= 4 * SLOWEST {
            cut(slowest);
        }
    }

    /// Adds them to the tables.
    pub(super) async fn upsert(self, connection: &mut Connection) -> Result<(), DatabaseError> {
        let sums: Vec<_> = self.sums.into_iter().collect();
        UPSERT
            .run(
                connection,
                &sums,
                |values, ((run, caller, grader), cost)| {
                    values.add(*run).add(*caller).add(*grader);
                    values
                        .add_count(cost.grades)
                        .add_count(cost.cpu_us)
                        .add_count(cost.grade_us)
                        .add_count(cost.queue_us)
                        .add_count(cost.work)
                        .add_count(cost.bytes);
                },
            )
            .await?;
        for ((run, grader), mut slowest) in self.slowest {
            cut(&mut slowest);
            add_slow(connection, run, grader, slowest).await?;
        }
        Ok(())
    }
}

/// Keeps the slowest.
fn cut(slowest: &mut Vec<(u64, i64)>) {
    slowest.sort_unstable_by_key(|(time, key)| (std::cmp::Reverse(*time), *key));
    slowest.truncate(SLOWEST);
}

/// Adds grades that are among the slowest, and drops those that no longer are.
async fn add_slow(
    connection: &mut Connection,
    run: i64,
    grader: &str,
    mut slowest: Vec<(u64, i64)>,
) -> Result<(), DatabaseError> {
    const KEPT: &str = "select count(*) as kept, coalesce(min(grade_us), 0) as least \
         from slow_grades where run = $1 and grader = $2";
    // Grades that retention deleted make room.
    const DROP_DELETED: &str = "delete from slow_grades where run = $1 and grader = $2 \
         and not exists (select 1 from grades where key = slow_grades.key)";
    const DROP_FASTER: &str = "delete from slow_grades where run = $1 and grader = $2 \
         and (grade_us, key) in (select grade_us, key from slow_grades \
         where run = $1 and grader = $2 order by grade_us desc, key limit 1000 offset $3)";
    let row = sql::query(KEPT)
        .bind(run)
        .bind(grader)
        .fetch_one(connection)
        .await?;
    let (kept, least) = (count(row.try_get("kept")?), count(row.try_get("least")?));
    if kept >= SLOWEST as u64 {
        slowest.retain(|(time, _)| *time > least);
    }
    if slowest.is_empty() {
        return Ok(());
    }
    sql::query(DROP_DELETED)
        .bind(run)
        .bind(grader)
        .execute(connection)
        .await?;
    INSERT_SLOW
        .run(connection, &slowest, |values, (time, key)| {
            values.add(run).add(grader).add_count(*time).add(*key);
        })
        .await?;
    sql::query(DROP_FASTER)
        .bind(run)
        .bind(grader)
        .bind(SLOWEST as i64)
        .execute(connection)
        .await?;
    Ok(())
}
