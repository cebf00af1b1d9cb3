//! Prepares statements on PostgreSQL with the tables of `migrations/postgres`.

use std::collections::BTreeSet;

use sqlx::postgres::PgConnection;
use sqlx::{
    AssertSqlSafe, Column, Connection, Executor, SqlSafeStr, SqliteConnection, Statement, TypeInfo,
};

use crate::database::migrations::{POSTGRES, migrator};
use crate::database::postgres::translate;

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../../../../../tests/postgres/server.rs"]
mod server;

/// Types of the columns of tables. A sum of integers, for example, has another one unless it is
/// cast.
const TYPES: [&str; 5] = ["BOOL", "BYTEA", "FLOAT8", "INT8", "TEXT"];

/// The only column that the tables lack: earlier releases wrote it.
const UNUSED: (&str, &str) = ("keys", "bytes_stored");

/// Compares the tables with those of `sqlite`, and returns why statements are rejected.
pub(super) async fn rejected(
    statements: &BTreeSet<String>,
    sqlite: &mut SqliteConnection,
) -> Vec<String> {
    let server = server::Server::start();
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    migrator(POSTGRES).run(&mut connection).await.unwrap();
    assert_equal_tables(&mut connection, sqlite).await;
    let mut rejected = Vec::new();
    for sql in statements {
        let translated = AssertSqlSafe(translate(sql)).into_sql_str();
        match connection.prepare(translated).await {
            Ok(prepared) => {
                let columns = prepared.columns().iter();
                let others = columns.filter(|column| !TYPES.contains(&column.type_info().name()));
                rejected.extend(others.map(|column| {
                    let (name, of) = (column.name(), column.type_info());
                    format!("`{name}` has the type {of}: {sql}")
                }));
            }
            Err(error) => rejected.push(format!("{error}: {sql}")),
        }
    }
    connection.close().await.unwrap();
    rejected
}

async fn assert_equal_tables(postgres: &mut PgConnection, sqlite: &mut SqliteConnection) {
    let columns = "select cast(table_name as text), cast(column_name as text), \
                   is_nullable = 'NO' from information_schema.columns \
                   where table_schema = 'public' \
                   and table_name not in ('holds', 'quota_uses', 'texts', 'indexed') \
                   and table_name not like '\\_sqlx%' escape '\\'";
    let columns: BTreeSet<(String, String, bool)> = sqlx::query_as(columns)
        .fetch_all(postgres)
        .await
        .unwrap()
        .into_iter()
        .collect();
    let expected = "select t.name, c.name, c.\"notnull\" or c.pk > 0 from sqlite_schema t, \
                    pragma_table_info(t.name) c where t.type = 'table' \
                    and t.name not like 'sqlite%' and t.name not like '\\_sqlx%' escape '\\'";
    let expected: Vec<(String, String, bool)> =
        sqlx::query_as(expected).fetch_all(sqlite).await.unwrap();
    let expected: BTreeSet<_> = expected
        .into_iter()
        .filter(|(table, column, _)| (table.as_str(), column.as_str()) != UNUSED)
        .collect();
    assert!(expected.len() > 200, "{}", expected.len());
    let different: Vec<_> = columns.symmetric_difference(&expected).collect();
    assert!(different.is_empty(), "{different:?}");
}
