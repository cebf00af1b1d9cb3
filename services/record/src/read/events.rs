//! Reads of adjudications and draws.

use std::collections::BTreeMap;

use assay_core::GradeId;

use crate::database::DatabaseError;
use crate::database::rows::{batch_id, id_bytes};
use crate::database::sql::{self, Connection, Row};
use crate::event::{Adjudication, Draw};
use crate::{Record, RecordError};
use sqlx::AssertSqlSafe;

const SELECT_ADJUDICATION: &str = "select id, channel, version, graded_pass, pass, weight, judge, \
     judged_pass, caller, note, time_us, corrects, corrects_us, grade from adjudications";

impl Record {
    /// Returns the adjudications of a grade in order of time.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn adjudications(&self, grade: GradeId) -> Result<Vec<Adjudication>, RecordError> {
        if !self.scope.is_all() && self.grade(grade).await?.is_none() {
            return Ok(Vec::new());
        }
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(adjudications(&mut snapshot, grade).await?)
        })
        .await
    }

    /// Returns those of `grades` that were adjudicated, with whether the answer is correct by the
    /// last adjudication. Not restricted to a caller: ids come from lists, which are.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn adjudicated(
        &self,
        grades: &[GradeId],
    ) -> Result<BTreeMap<GradeId, bool>, RecordError> {
        if grades.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(adjudicated(&mut snapshot, grades).await?)
        })
        .await
    }

    /// Returns the most recent adjudications of all grades, newest first, at most `limit`. Callers
    /// see none.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn last_adjudications(&self, limit: u32) -> Result<Vec<Adjudication>, RecordError> {
        if !self.scope.is_all() {
            return Ok(Vec::new());
        }
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(last_adjudications(&mut snapshot, limit).await?)
        })
        .await
    }

    /// Returns the draws of those of `grades` that were drawn for operators. Callers see none.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn draws(&self, grades: &[GradeId]) -> Result<Vec<Draw>, RecordError> {
        if !self.scope.is_all() {
            return Ok(Vec::new());
        }
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(draws(&mut snapshot, grades).await?)
        })
        .await
    }
}

async fn adjudications(
    connection: &mut Connection,
    grade: GradeId,
) -> Result<Vec<Adjudication>, DatabaseError> {
    let select = format!("{SELECT_ADJUDICATION} where grade = $1 order by time_us, id");
    let rows = sql::query(AssertSqlSafe(select))
        .bind(id_bytes(grade))
        .fetch_all(connection)
        .await?;
    rows.iter().map(read_adjudication).collect()
}

async fn adjudicated(
    connection: &mut Connection,
    grades: &[GradeId],
) -> Result<BTreeMap<GradeId, bool>, DatabaseError> {
    let select = "select pass from adjudications where grade = $1 order by time_us desc, id desc \
                  limit 1";
    let mut adjudicated = BTreeMap::new();
    for grade in grades {
        let pass: Option<bool> = sql::query_scalar(select)
            .bind(id_bytes(*grade))
            .fetch_optional(connection)
            .await?;
        adjudicated.extend(pass.map(|pass| (*grade, pass)));
    }
    Ok(adjudicated)
}

/// Ids sort by time.
async fn last_adjudications(
    connection: &mut Connection,
    limit: u32,
) -> Result<Vec<Adjudication>, DatabaseError> {
    let select = format!("{SELECT_ADJUDICATION} order by id desc limit $1");
    let rows = sql::query(AssertSqlSafe(select))
        .bind(limit)
        .fetch_all(connection)
        .await?;
    rows.iter().map(read_adjudication).collect()
}

fn read_adjudication(row: &Row) -> Result<Adjudication, DatabaseError> {
    let judge: Option<String> = row.try_get("judge")?;
    let judged_pass: Option<bool> = row.try_get("judged_pass")?;
    let (corrects, corrects_us): (Option<bool>, Option<i64>) =
        (row.try_get("corrects")?, row.try_get("corrects_us")?);
    Ok(Adjudication {
        id: u128::from(batch_id(row.try_get("id")?, "adjudications")?),
        grade: u128::from(batch_id(row.try_get("grade")?, "adjudications")?).into(),
        channel: row.try_get("channel")?,
        version: row.try_get("version")?,
        graded_pass: row.try_get("graded_pass")?,
        pass: row.try_get("pass")?,
        weight: row.try_get("weight")?,
        judged: judge.zip(judged_pass),
        caller: row.try_get("caller")?,
        note: row.try_get("note")?,
        time_us: row.try_get("time_us")?,
        corrects: corrects.zip(corrects_us),
    })
}

async fn draws(
    connection: &mut Connection,
    grades: &[GradeId],
) -> Result<Vec<Draw>, DatabaseError> {
    let mut draws = Vec::new();
    for grade in grades {
        let row =
            sql::query("select channel, probability, weight, time_us from draws where grade = $1")
                .bind(id_bytes(*grade))
                .fetch_optional(connection)
                .await?;
        if let Some(row) = row {
            draws.push(Draw {
                grade: *grade,
                channel: row.try_get("channel")?,
                probability: row.try_get("probability")?,
                weight: row.try_get("weight")?,
                time_us: row.try_get("time_us")?,
            });
        }
    }
    Ok(draws)
}
