//! The files in `migrations`, from which each database makes its tables.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

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
