//! Applies the migrations in `migrations/sqlite`.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::SqlitePool;

/// Version, description and text of each migration, in order; see `build.rs`.
const MIGRATIONS: &[(i64, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

/// The migrations of the schema.
pub(crate) fn migrations() -> Vec<Migration> {
    MIGRATIONS
        .iter()
        .map(|(version, description, sql)| {
            let (description, sql) = (Cow::Borrowed(*description), sql.into_sql_str());
            Migration::new(*version, description, MigrationType::Simple, sql, false)
        })
        .collect()
}

/// Applies the missing migrations. Unknown applied ones are ignored, because a node of an earlier
/// release must be able to start on a database that a later one has migrated; see
/// `migrations/README.md`.
pub(crate) async fn migrate(writer: &SqlitePool) -> Result<(), sqlx::Error> {
    let mut migrator = Migrator::with_migrations(migrations());
    migrator.set_ignore_missing(true).run(writer).await?;
    Ok(())
}
