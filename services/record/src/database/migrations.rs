//! The files in `migrations`, from which each database makes its tables.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::DatabaseError;
use super::sql::{self, Connection};

/// Version, description and text of each migration, in order; see `build.rs`.
type Files = &'static [(i64, &'static str, &'static str)];

/// The files for SQLite.
pub(super) const SQLITE: Files = include!(concat!(env!("OUT_DIR"), "/sqlite.rs"));

/// The files for PostgreSQL.
pub(super) const POSTGRES: Files = include!(concat!(env!("OUT_DIR"), "/postgres.rs"));

/// Applies the missing ones of these files. Unknown applied ones are ignored, because a node of an
/// earlier release must be able to start on a database that a later one has migrated; see
/// `migrations/README.md`.
pub(super) fn migrator(files: Files) -> Migrator {
    let mut migrator = Migrator::with_migrations(migrations(files));
    migrator.set_ignore_missing(true);
    migrator
}

/// Fails if a later release changed the tables so that this one cannot use them.
pub(super) async fn require_known(connection: &mut Connection) -> Result<(), DatabaseError> {
    let newest = match connection {
        Connection::Sqlite(_) => SQLITE.last(),
        Connection::Postgres(_) => POSTGRES.last(),
    };
    let needed: i64 = sql::query_scalar("select oldest_migration from readers")
        .fetch_one(connection)
        .await?;
    match newest {
        Some((newest, _, _)) if needed <= *newest => Ok(()),
        _ => Err(DatabaseError::LaterSchema(needed)),
    }
}

/// The migrations of these files.
pub(crate) fn migrations(files: Files) -> Vec<Migration> {
    files
        .iter()
        .map(|(version, description, sql)| {
            let (description, sql) = (Cow::Borrowed(*description), sql.into_sql_str());
            Migration::new(*version, description, MigrationType::Simple, sql, false)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The migration since which each states which releases can use the tables.
    const FIRST: i64 = 20_261_129_170_000;

    /// What a release that does not know of it may not survive.
    const INCOMPATIBLE: [&str; 4] = ["drop table", "drop column", "rename", "set not null"];

    #[test]
    fn migrations_that_earlier_releases_do_not_survive_say_so() {
        let later = |(version, _, _): &&(i64, &str, &str)| *version > FIRST;
        for (version, description, text) in SQLITE.iter().chain(POSTGRES).filter(later) {
            let text = text.to_lowercase();
            let update = format!("update readers set oldest_migration = {version}");
            let is_incompatible = INCOMPATIBLE.iter().any(|change| text.contains(change));
            assert!(
                !is_incompatible || text.contains(&update),
                "{version} {description}: add `{update};`, and say in the changelog that nodes of \
                 earlier releases must be stopped first"
            );
        }
    }
}
