//! Why a record cannot be copied.

use std::fmt::Display;

use assay_base::url::redacted;

use crate::OpenSpoolError;

/// A record cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A URL is not that of a database that can be copied.
    #[error(
        "`{0}` is not a database that can be copied; use a path, `sqlite://PATH` or \
             `postgres://USER@HOST/NAME`"
    )]
    NoDatabase(String),
    /// The source does not exist, or has no tables of a record.
    #[error("`{0}` contains no record; name the database of one")]
    NoRecord(String),
    /// Nodes or commands use the source.
    #[error("`{database}` is in use by {connections} other connections; stop its nodes first")]
    InUse {
        /// The source.
        database: String,
        /// Number of connections.
        connections: i64,
    },
    /// The source has other rows at the end of the copy than at its start.
    #[error(
        "the table `{table}` of `{database}` changed during the copy, so nothing was copied; stop \
         the nodes of this database and copy it again"
    )]
    Changed {
        /// The source.
        database: String,
        /// The table.
        table: String,
    },
    /// The spool of the source is used, or cannot be read.
    #[error(transparent)]
    Spool(#[from] OpenSpoolError),
    /// The spool of the source has entries.
    #[error(
        "the spool `{0}` has entries that are not in the database; start a node on the source and \
         stop it, which applies them"
    )]
    Pending(String),
    /// The source has the tables of an earlier release.
    #[error(
        "`{0}` has the tables of an earlier release; start this release's service on it once, which \
         migrates it, and stop it again"
    )]
    EarlierSchema(String),
    /// The source has the tables of a later release.
    #[error("`{0}` has the tables of another release; copy it with the release that migrated it")]
    LaterSchema(String),
    /// The target is not new.
    #[error("`{database}` is not empty: it has {found}; name a new database")]
    NotEmpty {
        /// The target.
        database: String,
        /// What it has.
        found: String,
    },
    /// The source cannot be read.
    #[error("cannot read `{database}`: {reason}; nothing was copied")]
    Source {
        /// The source.
        database: String,
        /// The error of the driver.
        reason: String,
    },
    /// The target cannot be written.
    #[error("cannot write to `{database}`: {reason}")]
    Target {
        /// The target.
        database: String,
        /// The error of the driver.
        reason: String,
    },
    /// The target has other rows than the source.
    #[error(
        "the copy in `{database}` differs in the table `{table}`, of which {copied} rows were copied \
         and {found} were read again; nothing was copied; check its disk or server"
    )]
    Different {
        /// The target.
        database: String,
        /// The table.
        table: String,
        /// Rows of the source.
        copied: u64,
        /// Rows of the target.
        found: u64,
    },
}

impl CopyError {
    /// Makes errors of reading the source at a URL.
    pub(super) fn of_source(url: &str) -> impl Fn(&dyn Display) -> Self + use<> {
        let database = redacted(url);
        move |error| Self::Source {
            database: database.clone(),
            reason: error.to_string(),
        }
    }

    /// Makes errors of writing to the target at a URL.
    pub(super) fn of_target(url: &str) -> impl Fn(&dyn Display) -> Self + use<> {
        let database = redacted(url);
        move |error| Self::Target {
            database: database.clone(),
            reason: error.to_string(),
        }
    }
}
