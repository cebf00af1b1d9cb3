//! Reads of comments on grades.

use std::collections::BTreeMap;

use assay_core::GradeId;

use crate::comment::Comment;
use crate::database::DatabaseError;
use crate::database::rows::{batch_id, count, id_bytes};
use crate::database::sql::{self, Connection};
use crate::{Record, RecordError};

impl Record {
    /// Returns the comments on a grade in order of time.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn comments(&self, grade: GradeId) -> Result<Vec<Comment>, RecordError> {
        if !self.scope.is_all() && self.grade(grade).await?.is_none() {
            return Ok(Vec::new());
        }
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(comments(&mut snapshot, grade).await?)
        })
        .await
    }

    /// Returns those of `grades` that have comments, with their number. Not restricted to a caller:
    /// ids come from lists, which are.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn commented(
        &self,
        grades: &[GradeId],
    ) -> Result<BTreeMap<GradeId, u64>, RecordError> {
        if grades.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(commented(&mut snapshot, grades).await?)
        })
        .await
    }
}

/// Ids sort by time.
async fn comments(
    connection: &mut Connection,
    grade: GradeId,
) -> Result<Vec<Comment>, DatabaseError> {
    const TABLE: &str = "comments";
    let rows =
        sql::query("select id, text, caller, time_us from comments where grade = $1 order by id")
            .bind(id_bytes(grade))
            .fetch_all(connection)
            .await?;
    let mut comments = rows
        .iter()
        .map(|row| {
            Ok(Comment {
                id: batch_id(row.try_get("id")?, TABLE)?,
                grade,
                text: row.try_get("text")?,
                labels: Vec::new(),
                caller: row.try_get("caller")?,
                time_us: row.try_get("time_us")?,
            })
        })
        .collect::<Result<Vec<_>, DatabaseError>>()?;
    for comment in &mut comments {
        comment.labels = sql::query_scalar(
            "select label from comment_labels where grade = $1 and id = $2 order by label",
        )
        .bind(id_bytes(grade))
        .bind(id_bytes(comment.id))
        .fetch_all(connection)
        .await?;
    }
    Ok(comments)
}

async fn commented(
    connection: &mut Connection,
    grades: &[GradeId],
) -> Result<BTreeMap<GradeId, u64>, DatabaseError> {
    let mut commented = BTreeMap::new();
    for grade in grades {
        let comments: i64 = sql::query_scalar("select count(*) from comments where grade = $1")
            .bind(id_bytes(*grade))
            .fetch_one(connection)
            .await?;
        if comments > 0 {
            commented.insert(*grade, count(comments));
        }
    }
    Ok(commented)
}
