//! What copying to or from another database needs.

use sqlx::AssertSqlSafe;

use crate::database::sql::{self, Connection};

/// The columns of all tables.
pub(crate) const COLUMNS: &str = "select cast(c.table_name as text) as table_name, \
     cast(c.column_name as text) as column_name, c.data_type = 'boolean' as is_flag \
     from information_schema.columns c where c.table_schema = current_schema()";

/// Turns the triggers of tables on or off, until the end of the transaction if it fails.
pub(crate) async fn set_triggers(
    connection: &mut Connection,
    tables: &[&str],
    on: bool,
) -> Result<(), sqlx::Error> {
    let action = if on { "enable" } else { "disable" };
    for table in tables {
        let sql = format!("alter table \"{table}\" {action} trigger user");
        sql::query(AssertSqlSafe(sql)).execute(connection).await?;
    }
    Ok(())
}

/// Makes the numbers of new rows follow the largest ones.
pub(crate) async fn continue_numbers(connection: &mut Connection) -> Result<(), sqlx::Error> {
    let columns = sql::query(
        "select cast(table_name as text) as table_name, cast(column_name as text) as column_name \
         from information_schema.columns \
         where table_schema = current_schema() and is_identity = 'YES'",
    )
    .fetch_all(connection)
    .await?;
    for row in columns {
        let (table, column): (String, String) =
            (row.try_get("table_name")?, row.try_get("column_name")?);
        let sql = format!(
            "select setval(pg_get_serial_sequence('{table}', '{column}'), max(\"{column}\")) \
             from \"{table}\" having max(\"{column}\") is not null"
        );
        sql::query(AssertSqlSafe(sql)).execute(connection).await?;
    }
    Ok(())
}

/// The number of other connections of nodes and commands to the database.
pub(crate) const OTHERS: &str = "select count(*) from pg_stat_activity \
     where datname = current_database() and application_name = 'assay' \
     and pid <> pg_backend_pid()";
