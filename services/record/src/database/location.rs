//! Where the database is.

use std::path::{Path, PathBuf};

use super::DatabaseError;
use super::sql::{Connection, Pool};
use super::{migrations, postgres, sqlite};

/// Default folder of the spool of a node whose database is on a server.
const SPOOL: &str = "assay.spool";

/// The database to which a URL refers.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    Sqlite(sqlite::Location),
    Postgres(postgres::Location),
}

impl Location {
    /// Parses `sqlite://PATH`, `sqlite::memory:` or `postgres://…`; `None` if `url` is none of
    /// these.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        sqlite::Location::parse(url)
            .map(Self::Sqlite)
            .or_else(|| postgres::Location::parse(url).map(Self::Postgres))
    }

    /// The file of the database; `None` in memory or on a server.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(location) => location.path.as_deref(),
            Self::Postgres(_) => None,
        }
    }

    /// Whether the database exists only in a connection.
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self, Self::Sqlite(location) if location.path.is_none())
    }

    /// The default folder of the spool; `None` in memory.
    pub(crate) fn spool(&self) -> Option<PathBuf> {
        match self {
            Self::Sqlite(location) => location.spool(),
            Self::Postgres(_) => Some(SPOOL.into()),
        }
    }

    /// Connects to the database with the only connection that applies entries, and migrates it.
    pub(crate) async fn connect_writer(&self) -> Result<Pool, DatabaseError> {
        let migrated = |error| DatabaseError::Driver(sqlx::Error::from(error));
        let writer = match self {
            Self::Sqlite(location) => {
                let writer = sqlite::connect_one(location).await?;
                let migrator = migrations::migrator(migrations::SQLITE);
                migrator.run(&writer).await.map_err(migrated)?;
                Pool::Sqlite(writer)
            }
            Self::Postgres(location) => {
                let writer = postgres::connect_writer(location).await?;
                let migrator = migrations::migrator(migrations::POSTGRES);
                migrator.run(&writer).await.map_err(migrated)?;
                Pool::Postgres(writer)
            }
        };
        migrations::require_known(&mut writer.acquire().await?).await?;
        Ok(writer)
    }

    /// At most this many connections that read.
    pub(super) fn connect_readers(&self, writer: &Pool, connections: u32) -> Pool {
        match (self, writer) {
            (Self::Sqlite(location), Pool::Sqlite(writer)) => {
                Pool::Sqlite(sqlite::connect_readers(location, writer, connections))
            }
            (Self::Postgres(location), _) => {
                Pool::Postgres(postgres::connect_readers(location, connections))
            }
            // A writer is of the same database.
            (Self::Sqlite(_), Pool::Postgres(_)) => writer.clone(),
        }
    }

    /// Connections that hold requests, if other nodes may use the database.
    pub(super) fn connect_holders(&self, writer: &Pool) -> Pool {
        match self {
            Self::Sqlite(_) => writer.clone(),
            Self::Postgres(location) => Pool::Postgres(postgres::connect_holders(location)),
        }
    }

    /// Connects with the connection that writes jobs: the writer in memory, otherwise another one,
    /// so that neither waits for the other's transactions on a server.
    pub(super) async fn connect_jobs(&self, writer: &Pool) -> Result<Pool, sqlx::Error> {
        if self.is_in_memory() {
            return Ok(writer.clone());
        }
        self.connect_access().await
    }

    /// Connects with the connection that reads and writes keys. One, because keys are few and are
    /// read about once a second. A revocation must survive a power loss, so every commit is synced.
    pub(super) async fn connect_access(&self) -> Result<Pool, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(location) => Pool::Sqlite(sqlite::connect_durable(location).await?),
            Self::Postgres(location) => Pool::Postgres(postgres::connect_access(location).await?),
        })
    }

    /// Connects to an existing database, to check it.
    pub(crate) async fn connect_reading(&self) -> Result<Connection, sqlx::Error> {
        match self {
            Self::Sqlite(location) => sqlite::connect_reading(location).await,
            Self::Postgres(location) => postgres::connect(location).await,
        }
    }

    /// Connects to an existing database, to append to its audit log.
    pub(super) async fn connect_once(&self) -> Result<Connection, sqlx::Error> {
        match self {
            Self::Sqlite(location) => sqlite::connect_existing(location).await,
            Self::Postgres(location) => postgres::connect(location).await,
        }
    }
}
