//! The tables of a record as they are copied to another database and compared: their columns, all
//! their rows, and inserts without the triggers, which would change other tables.

use std::collections::BTreeMap;

use futures::stream::BoxStream;
use sqlx::AssertSqlSafe;

use super::insert::Insert;
use super::rows::count;
use super::sql::{self, Cell, Connection, Row, Value};
use super::{DatabaseError, migrations, postgres, sqlite};

/// Tables that are not copied: the index of texts, which is built again, and what running nodes
/// share.
const LEFT_OUT: [&str; 4] = ["holds", "indexed", "quota_uses", "texts"];

/// A column that earlier releases wrote, which SQLite has and PostgreSQL has not.
const UNUSED: (&str, &str) = ("keys", "bytes_stored");

/// The tables with a row in a new database.
const NEVER_EMPTY: [&str; 2] = ["batch_numbers", "readers"];

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopiedTable {
    pub(crate) name: String,
    /// The columns by their names, and whether each has booleans.
    columns: BTreeMap<String, bool>,
}

/// Whether the tables of a database are those of this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schema {
    /// They are.
    Current,
    /// They lack migrations.
    Earlier,
    /// They have others.
    Later,
    /// They are not those of a record.
    None,
}

/// Compares the migrations of a database with those of this release.
pub(crate) async fn schema(connection: &mut Connection) -> Result<Schema, sqlx::Error> {
    if !super::schema::has_table(connection, "_sqlx_migrations").await? {
        return Ok(Schema::None);
    }
    let files = match connection {
        Connection::Sqlite(_) => migrations::SQLITE,
        Connection::Postgres(_) => migrations::POSTGRES,
    };
    let known: Vec<i64> = files.iter().map(|(version, _, _)| *version).collect();
    let applied: Vec<i64> =
        sql::query_scalar("select version from _sqlx_migrations order by version")
            .fetch_all(connection)
            .await?;
    Ok(if applied.iter().any(|version| !known.contains(version)) {
        Schema::Later
    } else if applied.len() < known.len() {
        Schema::Earlier
    } else {
        Schema::Current
    })
}

/// The tables of a database that are copied, by their names.
pub(crate) async fn tables(connection: &mut Connection) -> Result<Vec<CopiedTable>, DatabaseError> {
    let select = match connection {
        Connection::Sqlite(_) => sqlite::COLUMNS,
        Connection::Postgres(_) => postgres::COLUMNS,
    };
    let mut tables: BTreeMap<String, BTreeMap<String, bool>> = BTreeMap::new();
    for row in sql::query(select).fetch_all(connection).await? {
        let (table, column): (String, String) =
            (row.try_get("table_name")?, row.try_get("column_name")?);
        let is_left_out = table.starts_with("_sqlx")
            || table.starts_with("sqlite_")
            || LEFT_OUT.contains(&table.as_str())
            || (table.as_str(), column.as_str()) == UNUSED;
        if !is_left_out {
            let columns = tables.entry(table).or_default();
            columns.insert(column, row.try_get("is_flag")?);
        }
    }
    let tables = tables.into_iter();
    Ok(tables
        .map(|(name, columns)| CopiedTable { name, columns })
        .collect())
}

/// The number of rows of a table.
pub(crate) async fn rows(
    connection: &mut Connection,
    table: &CopiedTable,
) -> Result<u64, DatabaseError> {
    let select = format!("select count(*) as rows from \"{}\"", table.name);
    let rows = sql::query_scalar(AssertSqlSafe(select));
    Ok(count(rows.fetch_one(connection).await?))
}

/// The name of a table with rows, if a database that should be new has one.
pub(crate) async fn filled(
    connection: &mut Connection,
    tables: &[CopiedTable],
) -> Result<Option<String>, DatabaseError> {
    for table in tables {
        if !NEVER_EMPTY.contains(&table.name.as_str()) && rows(connection, table).await? > 0 {
            return Ok(Some(table.name.clone()));
        }
    }
    Ok(None)
}

/// All rows of a table, one by one.
pub(crate) fn read<'c>(
    connection: &'c mut Connection,
    table: &CopiedTable,
) -> BoxStream<'c, Result<Row, sqlx::Error>> {
    let select = format!("select * from \"{}\"", table.name);
    sql::query(AssertSqlSafe(select))
        .persistent(false)
        .fetch(connection)
}

impl CopiedTable {
    /// The values of a row, in the order of the names of the columns.
    pub(crate) fn cells<'r>(&self, row: &'r Row) -> Result<Vec<Cell<'r>>, sqlx::Error> {
        let columns = self.columns.keys();
        columns.map(|column| row.cell(column)).collect()
    }

    /// The same values for this table.
    pub(crate) fn values(&self, cells: Vec<Cell<'_>>) -> Vec<Value> {
        let cells = cells.into_iter().zip(self.columns.values());
        cells
            .map(|(cell, is_flag)| match (cell, is_flag) {
                // SQLite has no booleans.
                (Cell::Integer(number), true) => Value::Flag(number != 0),
                (cell, _) => cell.into(),
            })
            .collect()
    }

    /// Whether another table has the same columns.
    pub(crate) fn has_columns_of(&self, other: &Self) -> bool {
        self.name == other.name && self.columns.keys().eq(other.columns.keys())
    }

    /// Inserts rows of values.
    pub(crate) async fn insert(
        &self,
        connection: &mut Connection,
        rows: &[Vec<Value>],
    ) -> Result<(), DatabaseError> {
        let columns: Vec<String> = self
            .columns
            .keys()
            .map(|name| format!("\"{name}\""))
            .collect();
        let prefix = format!("insert into \"{}\" ({})", self.name, columns.join(", "));
        let insert = Insert {
            prefix: &prefix,
            columns: columns.len(),
            suffix: "",
        };
        insert
            .run(connection, rows, |values, row| {
                for value in row {
                    values.add(value.clone());
                }
            })
            .await?;
        Ok(())
    }
}

/// Triggers that were turned off.
pub(crate) struct Triggers(Vec<String>);

/// Turns off the triggers of the tables, in the transaction of the caller, and deletes the rows
/// that migrations inserted.
pub(crate) async fn begin(
    connection: &mut Connection,
    tables: &[CopiedTable],
) -> Result<Triggers, DatabaseError> {
    let triggers = match connection {
        Connection::Sqlite(_) => sqlite::drop_triggers(connection).await?,
        Connection::Postgres(_) => {
            let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
            postgres::set_triggers(connection, &names, false).await?;
            Vec::new()
        }
    };
    for table in NEVER_EMPTY {
        let delete = format!("delete from \"{table}\"");
        sql::query(AssertSqlSafe(delete))
            .execute(connection)
            .await?;
    }
    Ok(Triggers(triggers))
}

/// Turns the triggers on again, and makes the numbers of new rows follow those that were copied.
pub(crate) async fn end(
    connection: &mut Connection,
    tables: &[CopiedTable],
    triggers: Triggers,
) -> Result<(), DatabaseError> {
    match connection {
        Connection::Sqlite(_) => {
            for create in triggers.0 {
                sql::query(AssertSqlSafe(create))
                    .execute(connection)
                    .await?;
            }
        }
        Connection::Postgres(_) => {
            let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
            postgres::set_triggers(connection, &names, true).await?;
            postgres::continue_numbers(connection).await?;
        }
    }
    Ok(())
}
