//! The size of the database.

use crate::database::DatabaseError;
use crate::database::rows::count;
use crate::database::size::Size;
use crate::database::sql::{self, Connection};

/// The size of the tables. The server returns the space of deleted rows to itself.
pub(crate) async fn size(connection: &mut Connection) -> Result<Size, DatabaseError> {
    let bytes = sql::query_scalar(
        "select cast(coalesce(sum(pg_total_relation_size(c.oid)), 0) as bigint) from pg_class c \
         where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace",
    )
    .fetch_one(connection)
    .await?;
    Ok(Size {
        file_bytes: count(bytes),
        free_bytes: 0,
        shrinks: false,
    })
}
