//! Reads of the drawn grades that operators have to adjudicate.

use assay_core::GradeId;

use crate::database::DatabaseError;
use crate::database::rows::{batch_id, id_bytes};
use crate::database::sql::{self, Connection};
use crate::event::Assignment;
use crate::{Record, RecordError};

impl Record {
    /// Returns the drawn grades that are not adjudicated yet, the last assigned first, at most
    /// `limit`; those of one operator, or of all. Callers see none.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn assignments(
        &self,
        operator: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Assignment>, RecordError> {
        if !self.scope.is_all() {
            return Ok(Vec::new());
        }
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(assignments(&mut snapshot, operator, limit).await?)
        })
        .await
    }

    /// Returns the assignment of a drawn grade that is not adjudicated yet. Callers see none.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn assignment(&self, grade: GradeId) -> Result<Option<Assignment>, RecordError> {
        if !self.scope.is_all() {
            return Ok(None);
        }
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(assignment(&mut snapshot, grade).await?)
        })
        .await
    }
}

async fn assignment(
    connection: &mut Connection,
    grade: GradeId,
) -> Result<Option<Assignment>, DatabaseError> {
    let row = sql::query("select caller, time_us from assignments where grade = $1")
        .bind(id_bytes(grade))
        .fetch_optional(connection)
        .await?;
    row.map(|row| {
        Ok(Assignment {
            grade,
            caller: row.try_get("caller")?,
            time_us: row.try_get("time_us")?,
        })
    })
    .transpose()
}

async fn assignments(
    connection: &mut Connection,
    operator: Option<&str>,
    limit: u32,
) -> Result<Vec<Assignment>, DatabaseError> {
    let query = match operator {
        Some(operator) => sql::query(
            "select grade, caller, time_us from assignments where caller = $1 \
             order by time_us desc, grade limit $2",
        )
        .bind(operator),
        None => sql::query(
            "select grade, caller, time_us from assignments order by time_us desc, grade limit $1",
        ),
    };
    let rows = query.bind(limit).fetch_all(connection).await?;
    rows.iter()
        .map(|row| {
            let grade = batch_id(row.try_get("grade")?, "assignments")?;
            Ok(Assignment {
                grade: u128::from(grade).into(),
                caller: row.try_get("caller")?,
                time_us: row.try_get("time_us")?,
            })
        })
        .collect()
}
