//! The size of the database.

use crate::database::DatabaseError;
use crate::database::rows::count;
use crate::database::size::Size;
use crate::database::sql::{self, Connection};

/// The size of the tables and their indexes, without the index of texts. The server uses the space
/// of deleted rows again, which counts as free: everything but the values and bodies of grades.
pub(crate) async fn size(connection: &mut Connection) -> Result<Size, DatabaseError> {
    let tables = sql::query_scalar(
        "select cast(coalesce(sum(pg_total_relation_size(c.oid)), 0) as bigint) from pg_class c \
         where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace \
         and c.relname not in ('texts', 'indexed')",
    )
    .fetch_one(connection)
    .await?;
    let held = sql::query_scalar(
        "select cast(coalesce(sum(grade_bytes + pack_bytes), 0) as bigint) from holdings",
    )
    .fetch_one(connection)
    .await?;
    let (file_bytes, held_bytes) = (count(tables), count(held));
    Ok(Size {
        file_bytes,
        free_bytes: file_bytes.saturating_sub(held_bytes),
        shrinks: false,
    })
}
