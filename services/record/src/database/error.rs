//! Errors of the database, and which of them an entry may have caused.

use std::path::PathBuf;

use super::{postgres, sqlite};
use crate::RecordError;
use crate::pending::packs::BadContent;
use crate::text_query::MAX_PREFIX_WORDS;

/// The database failed or contains invalid data.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error("{0}")]
    Driver(#[from] sqlx::Error),
    #[error("{table}.{column}: {reason}")]
    Row {
        table: &'static str,
        column: &'static str,
        reason: String,
    },
    /// Whatever is written now would be lost at a restart.
    #[error(
        "the database file `{}` {change} since it was opened; move it back, or restart the node to \
         create a new one from the spool",
        path.display()
    )]
    Replaced { path: PathBuf, change: String },
    #[error("cannot read an entry back from the spool: {0}")]
    Spool(std::io::Error),
    /// The entry can be read but is not what was written.
    #[error("an entry of the spool is damaged: {0}")]
    Damaged(std::io::Error),
    #[error("cannot set an entry aside in the folder of the spool: {0}")]
    SetAside(std::io::Error),
    /// The index of texts failed, which does not affect the database.
    #[error(
        "the index of texts cannot be read ({0}); restart the node, which rebuilds a damaged one"
    )]
    TextIndex(sqlx::Error),
    /// A prefix of a search stands for too many words.
    #[error("`{0}*` matches more than {MAX_PREFIX_WORDS} words; make it longer")]
    LongSearch(String),
    /// A later release changed the tables, which need this migration.
    #[error(
        "a later release has changed the tables, which need the migration {0} that this release \
         does not know; use that release or a later one, or restore a backup from before it"
    )]
    LaterSchema(i64),
    #[error("cannot sync the log of the database: {0}")]
    Log(std::io::Error),
    #[error(transparent)]
    Content(#[from] BadContent),
    #[error("applying the entries panicked: {0}")]
    Panicked(String),
}

/// Whether the database is damaged, as opposed to one that cannot be used now.
pub(crate) fn is_damage(error: &sqlx::Error) -> bool {
    sqlite::is_damage(error) || postgres::is_damage(error)
}

impl DatabaseError {
    /// Whether the database file is damaged.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Self::Driver(error) if is_damage(error))
    }

    /// The same as an error of the index of texts.
    pub(crate) fn of_texts(self) -> Self {
        match self {
            Self::Driver(error) => Self::TextIndex(error),
            other => other,
        }
    }

    /// Whether the entry itself may be the cause, in which case retrying would never succeed.
    pub(crate) fn may_be_caused_by_entry(&self) -> bool {
        match self {
            Self::Driver(error @ sqlx::Error::Database(_)) => {
                sqlite::may_be_caused_by_values(error) || postgres::may_be_caused_by_values(error)
            }
            Self::Driver(
                sqlx::Error::Encode(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. },
            ) => true,
            Self::Row { .. } | Self::Content(_) | Self::Panicked(_) | Self::Damaged(_) => true,
            Self::Driver(_)
            | Self::Replaced { .. }
            | Self::Spool(_)
            | Self::SetAside(_)
            | Self::TextIndex(_)
            | Self::LongSearch(_)
            | Self::LaterSchema(_)
            | Self::Log(_) => false,
        }
    }
}

impl From<DatabaseError> for RecordError {
    fn from(error: DatabaseError) -> Self {
        match error {
            error if error.is_damage() => Self::Damaged(damage_message(&error)),
            DatabaseError::Driver(
                error @ (sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. }),
            ) => Self::Inconsistent(error.to_string()),
            DatabaseError::Driver(error) => Self::Unavailable(format!(
                "the database is unavailable ({error}); check its server or disk, and whether \
                 another process has locked it"
            )),
            DatabaseError::Spool(_)
            | DatabaseError::Damaged(_)
            | DatabaseError::SetAside(_)
            | DatabaseError::Log(_)
            | DatabaseError::TextIndex(_)
            | DatabaseError::LongSearch(_)
            | DatabaseError::LaterSchema(_)
            | DatabaseError::Replaced { .. }
            | DatabaseError::Panicked(_) => Self::Unavailable(error.to_string()),
            other => Self::Inconsistent(other.to_string()),
        }
    }
}

/// The message about a damaged database, for operators.
pub(crate) fn damage_message(error: &DatabaseError) -> String {
    format!(
        "the database is damaged ({error}); stop the node, check the disk and restore the database \
         from a backup (recorded grades that are not in it are kept in the spool)"
    )
}
