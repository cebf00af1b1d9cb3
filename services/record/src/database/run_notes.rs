//! What operators note about runs. It is written directly, not through the spool, as keys are:
//! operators write rarely and expect to see the change.

use super::access::RecordAccess;
use crate::database::DatabaseError;
use crate::database::sql;
use crate::run_notes::RunChanges;

/// Separates stored tags. Tags do not contain it.
const SEPARATOR: &str = " ";

/// Changes the given fields of a run in one statement.
pub(crate) async fn update(
    access: &RecordAccess,
    run: &str,
    changes: &RunChanges,
) -> Result<(), DatabaseError> {
    let tags = changes.tags.as_deref().map(stored_tags);
    sql::query(
        "update runs set tags = coalesce($2, tags), note = coalesce($3, note), \
         archived = coalesce($4, archived) where name = $1 and grades > 0",
    )
    .bind(run)
    .bind(tags)
    .bind(changes.note.as_deref())
    .bind(changes.archived.map(i64::from))
    .execute(&mut access.connection().await?)
    .await?;
    Ok(())
}

/// Tags as they are stored, each once.
fn stored_tags(tags: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for tag in tags {
        if !distinct.contains(&tag.as_str()) {
            distinct.push(tag);
        }
    }
    distinct.join(SEPARATOR)
}

/// Reads stored tags.
pub(crate) fn read_tags(stored: &str) -> Vec<String> {
    let tags = stored.split(SEPARATOR).filter(|tag| !tag.is_empty());
    tags.map(str::to_owned).collect()
}
