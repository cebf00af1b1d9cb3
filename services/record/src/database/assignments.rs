//! Inserts and deletes assignments of drawn grades, and those of deleted grades.

use assay_core::{BatchId, GradeId};

use super::insert::Values;
use super::rows::id_bytes;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::event::Assignment;

/// A grade that was adjudicated after it was assigned is done, also if entries are repeated.
const INSERT: &str = "insert into assignments (grade, caller, time_us) \
     select d.grade, $2, $3 from draws d where d.grade = $1 and not exists \
     (select 1 from adjudications where grade = $1 and time_us >= $3) \
     on conflict (grade) do update set caller = excluded.caller, time_us = excluded.time_us \
     where excluded.time_us >= assignments.time_us";

/// Assigns a grade, unless it was not drawn; returns whether it was.
pub(super) async fn insert(
    connection: &mut Connection,
    assignment: &Assignment,
) -> Result<bool, DatabaseError> {
    let mut values = Values::with_capacity(3);
    values
        .add(id_bytes(assignment.grade))
        .add(assignment.caller.as_str())
        .add(assignment.time_us);
    let done = sql::query(INSERT)
        .with(values.finish())
        .execute(connection)
        .await?;
    Ok(done > 0)
}

/// Deletes the assignment of a grade that was adjudicated.
pub(super) async fn complete(
    connection: &mut Connection,
    grade: GradeId,
) -> Result<(), DatabaseError> {
    sql::query("delete from assignments where grade = $1")
        .bind(id_bytes(grade))
        .execute(connection)
        .await?;
    Ok(())
}

/// Deletes the assignments of the grades of a batch up to this position.
pub(super) async fn delete_up_to(
    connection: &mut Connection,
    batch: BatchId,
    position: u32,
) -> Result<(), DatabaseError> {
    sql::query("delete from assignments where grade between $1 and $2")
        .bind(id_bytes(batch.grade(0)))
        .bind(id_bytes(batch.grade(position)))
        .execute(connection)
        .await?;
    Ok(())
}
