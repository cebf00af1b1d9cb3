//! Responsible for the SQLite database: its connections, its migrations and what its settings promise. The tables and why they are as
//! they are stand in `migrations/sqlite`.
//!
//! # Durability
//!
//! In WAL mode with `synchronous = normal`, a commit writes the log without syncing it. After `kill -9` the kernel still has every
//! written page, so nothing is lost. After power loss the log is valid up to some earlier commit (its checksums cut off the rest) and
//! SQLite comes back with the state of that commit. The progress of the spool is in the same state, so what came after it is applied
//! again, provided its segments are still there. They are: a segment is deleted only after a checkpoint that covered the whole log,
//! and a checkpoint syncs the log before it copies and the database file after it. `synchronous = full` would keep the same promise with
//! one more sync for each transaction, on the disk whose syncs the replies wait for.

mod apply;
mod contents;
mod insert;
mod kinds;
mod query;
mod rows;
mod snapshot;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use assay_core::BoxFuture;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Row};

use crate::database::{Applicable, Database, DatabaseError, Snapshot};
use crate::spool::Position;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");

/// Positions a batch has room for: a grade's key is its batch's number shifted by this many bits, plus its position.
pub(crate) const POSITION_BITS: u32 = 24;

/// How long a statement waits for a lock of another process before it counts as failed. The writer tries again by itself; a read that waits
/// longer is better refused.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// Where a URL points.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    options: SqliteConnectOptions,
    /// `None` in memory.
    pub(crate) path: Option<PathBuf>,
}

impl Location {
    /// Reads `sqlite://PATH` or `sqlite::memory:`; `None` if `url` is neither.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        // The driver would take any other text for the name of a file.
        let options = url.starts_with("sqlite:").then(|| SqliteConnectOptions::from_str(url).ok())??;
        let in_memory = url.contains(":memory:") || url.contains("mode=memory");
        let path = (!in_memory).then(|| options.get_filename().to_owned());
        Some(Self { options, path })
    }

    /// The folder beside the database.
    pub(crate) fn spool(&self) -> Option<PathBuf> {
        let mut spool = self.path.clone()?.into_os_string();
        spool.push(".spool");
        Some(Path::new(&spool).to_owned())
    }
}

/// The database of one node.
pub(crate) struct Sqlite {
    writer: SqlitePool,
    readers: SqlitePool,
    /// Identity of the spool whose progress is kept.
    spool: String,
    in_memory: bool,
}

impl Sqlite {
    /// Connects and migrates.
    pub(crate) async fn open(location: &Location, spool: String, readers: u32) -> Result<Self, sqlx::Error> {
        let in_memory = location.path.is_none();
        let options = location
            .options
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(BUSY_TIMEOUT)
            // 64 MiB: a page that several transactions change is copied into the database once.
            .pragma("wal_autocheckpoint", "16384")
            .pragma("journal_size_limit", "134217728")
            .pragma("cache_size", "-32768")
            .disable_statement_logging();
        let one = SqlitePoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false);
        let writer = one.connect_with(options.clone()).await?;
        migrate(&writer).await?;
        // A database in memory lives in its one connection, which then serves reads as well.
        let readers = if in_memory {
            writer.clone()
        } else {
            let options = options.read_only(true).pragma("cache_size", "-8192");
            SqlitePoolOptions::new().max_connections(readers).test_before_acquire(false).connect_lazy_with(options)
        };
        Ok(Self { writer, readers, spool, in_memory })
    }

    async fn checkpointed(&self) -> Result<bool, DatabaseError> {
        if self.in_memory {
            return Ok(true);
        }
        let row = sqlx::query("pragma wal_checkpoint(passive)").fetch_one(&self.writer).await?;
        let (busy, logged, copied): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        Ok(busy == 0 && logged == copied)
    }
}

/// A node of an earlier release must still start on a database that a later one has migrated; see `migrations/README.md`.
async fn migrate(writer: &SqlitePool) -> Result<(), sqlx::Error> {
    let mut migrations = Migrator { ignore_missing: true, ..Migrator::DEFAULT };
    migrations.migrations = MIGRATIONS.migrations.clone();
    migrations.run(writer).await?;
    Ok(())
}

impl Database for Sqlite {
    fn progress(&self) -> BoxFuture<'_, Result<Position, DatabaseError>> {
        Box::pin(async {
            let mut connection = self.writer.acquire().await?;
            query::progress(&mut connection, &self.spool).await
        })
    }

    fn apply<'a>(
        &'a self,
        entries: &'a [Applicable],
        progress: Position,
        now_us: i64,
    ) -> BoxFuture<'a, Result<(), DatabaseError>> {
        Box::pin(async move {
            let mut transaction = self.writer.begin_with("begin immediate").await?;
            apply::apply(&mut transaction, &self.spool, entries, progress, now_us).await?;
            transaction.commit().await?;
            Ok(())
        })
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<bool, DatabaseError>> {
        Box::pin(self.checkpointed())
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Box<dyn Snapshot>, DatabaseError>> {
        Box::pin(async {
            let snapshot = snapshot::open(&self.readers, &self.spool).await?;
            Ok(Box::new(snapshot) as Box<dyn Snapshot>)
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.readers.close().await;
            self.writer.close().await;
        })
    }
}
