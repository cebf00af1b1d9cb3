//! Connections, and where the database is.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::Connection as _;
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
    SqlitePoolOptions, SqliteSynchronous,
};

use super::log::LogPages;
use crate::database::sql::{Connection, Handle};

/// How long a statement waits for a lock of another process. The writer retries by itself, and a
/// read that waits longer should fail.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// The database to which a URL refers.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    options: SqliteConnectOptions,
    /// `None` in memory.
    pub(crate) path: Option<PathBuf>,
}

impl Location {
    /// Parses `sqlite://PATH` or `sqlite::memory:`; `None` if `url` is neither.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        // The driver would use any other text as a file name.
        let options = url
            .starts_with("sqlite:")
            .then(|| SqliteConnectOptions::from_str(url).ok())??;
        let in_memory = url.contains(":memory:") || url.contains("mode=memory");
        let path = (!in_memory).then(|| options.get_filename().to_owned());
        Some(Self { options, path })
    }

    /// How to connect to it.
    pub(crate) fn options(&self) -> SqliteConnectOptions {
        without_log(self.options.clone())
    }

    /// Options of a connection that reads.
    fn readable(&self) -> SqliteConnectOptions {
        self.options()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(BUSY_TIMEOUT)
            .pragma("wal_autocheckpoint", LogPages::Apply.number().to_string())
            .pragma("journal_size_limit", "134217728")
            .read_only(true)
            .pragma("cache_size", "-8192")
    }

    /// Options of a connection whose commits survive a power loss.
    fn durable(&self) -> SqliteConnectOptions {
        self.writable().synchronous(SqliteSynchronous::Full)
    }

    /// Options of a connection that writes and creates the database if it is missing.
    fn writable(&self) -> SqliteConnectOptions {
        self.readable()
            .read_only(false)
            .create_if_missing(true)
            .pragma("cache_size", "-32768")
            // Has an effect only on a new database; another one keeps its mode. Without it, the
            // file does not become smaller when rows are deleted.
            .auto_vacuum(SqliteAutoVacuum::Incremental)
    }

    /// The default folder of the spool, next to the database file. Symbolic links are followed,
    /// because the lock in this folder prevents two nodes from using one database.
    pub(crate) fn spool(&self) -> Option<PathBuf> {
        self.beside(".spool")
    }

    /// The database with the index of texts, next to the database file; in memory if the database
    /// is.
    pub(crate) fn texts(&self) -> Self {
        let path = self.beside(".texts");
        let options = match &path {
            Some(path) => SqliteConnectOptions::new().filename(path),
            None => SqliteConnectOptions::new().in_memory(true),
        };
        Self { options, path }
    }

    fn beside(&self, suffix: &str) -> Option<PathBuf> {
        let mut path = follow_links(self.path.clone()?).into_os_string();
        path.push(suffix);
        Some(path.into())
    }
}

/// Options whose connection does not log statements, except in tests, which collect those of each
/// test by the name of its connections.
pub(super) fn without_log(options: SqliteConnectOptions) -> SqliteConnectOptions {
    #[cfg(test)]
    {
        let test = test_name();
        options.thread_name(move |_| test.clone())
    }
    #[cfg(not(test))]
    options.disable_statement_logging()
}

/// The name of the current test.
#[cfg(test)]
pub(crate) fn test_name() -> String {
    let thread = std::thread::current();
    thread.name().unwrap_or_default().to_owned()
}

/// Follows the symbolic links of the last component of `path`, even if the target does not exist
/// yet: SQLite would create it there. Links in earlier components have the same effect on the
/// database and on the folder next to it, so they need not be followed.
pub(super) fn follow_links(mut path: PathBuf) -> PathBuf {
    // The system follows as many links as this.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path.set_file_name(target);
    }
    path
}

/// Connects to the database, which is created if it is missing, with a connection whose commits
/// survive a power loss.
pub(crate) async fn connect_durable(location: &Location) -> Result<SqlitePool, sqlx::Error> {
    let one = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false);
    one.connect_with(location.durable()).await
}

/// Connects to an existing database, to read it.
pub(crate) async fn connect_reading(location: &Location) -> Result<Connection, sqlx::Error> {
    let connection = location.options().read_only(true).connect().await?;
    Ok(Connection::Sqlite(Handle::Single(Box::new(connection))))
}

/// Connects to an existing database in the same way, without a pool.
pub(crate) async fn connect_existing(location: &Location) -> Result<Connection, sqlx::Error> {
    let connection = location
        .durable()
        .create_if_missing(false)
        .connect()
        .await?;
    Ok(Connection::Sqlite(Handle::Single(Box::new(connection))))
}

/// Connects to a database, which is created if it is missing, with the only connection that writes.
pub(crate) async fn connect_one(location: &Location) -> Result<SqlitePool, sqlx::Error> {
    let writing = location.writable();
    let one = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false);
    let writer = one.connect_with(writing.clone()).await?;
    // A connection that is opened later must not create a new database.
    writer.set_connect_options(writing.create_if_missing(false));
    Ok(writer)
}

/// At most this many connections that read.
pub(crate) fn connect_readers(
    location: &Location,
    writer: &SqlitePool,
    connections: u32,
) -> SqlitePool {
    if location.path.is_none() {
        // A database in memory exists only in this connection, which therefore serves reads as
        // well.
        return writer.clone();
    }
    SqlitePoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
        .after_release(|connection, _| Box::pin(is_idle(connection)))
        .connect_lazy_with(location.readable())
}

/// Whether the driver and SQLite agree that no transaction is open; if not, the connection is
/// closed.
async fn is_idle(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    // Pinging first executes the rollback that a dropped transaction has queued.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}
