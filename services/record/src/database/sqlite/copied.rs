//! What copying to or from another database needs.

use sqlx::AssertSqlSafe;

use crate::database::sql::{self, Connection};

/// The columns of all tables.
pub(crate) const COLUMNS: &str = "select t.name as table_name, c.name as column_name, 0 as is_flag \
     from sqlite_schema t, pragma_table_info(t.name) c where t.type = 'table'";

/// Drops all triggers; returns the statements that create them.
pub(crate) async fn drop_triggers(connection: &mut Connection) -> Result<Vec<String>, sqlx::Error> {
    let triggers = sql::query("select name, sql from sqlite_schema where type = 'trigger'")
        .fetch_all(connection)
        .await?;
    let mut create = Vec::new();
    for trigger in triggers {
        let name: String = trigger.try_get("name")?;
        create.push(trigger.try_get("sql")?);
        sql::query(AssertSqlSafe(format!("drop trigger \"{name}\"")))
            .execute(connection)
            .await?;
    }
    Ok(create)
}
