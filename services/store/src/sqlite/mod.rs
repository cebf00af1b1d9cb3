//! Responsible for the SQLite database: its connections, its migrations and what its settings
//! promise. The tables and why they are as they are stand in `migrations/sqlite`.
//!
//! # Durability
//!
//! In WAL mode with `synchronous = normal`, a commit writes the log without syncing it. After `kill
//! -9` the kernel still has every written page, so nothing is lost. After power loss the log is
//! valid up to some earlier commit (its checksums cut off the rest) and SQLite comes back with the
//! state of that commit. The progress of the spool is in the same state, so what came after it is
//! applied again, provided its segments are still there. They are: a segment is deleted only after
//! a checkpoint that covered the whole log, and a checkpoint syncs the log before it copies and the
//! database file after it. `synchronous = full` would keep the same promise with one more sync for
//! each transaction, on the disk whose syncs the replies wait for.
//!
//! None of this holds for a file that was deleted or replaced under the running node: SQLite goes
//! on writing to what it has open, and no restart will see it. So the file at the path is compared
//! with the opened one around every transaction and after every checkpoint; while they differ
//! nothing counts as applied and no segment is deleted.
//!
//! # Failed transactions
//!
//! If a disk is full or broken, SQLite rolls a transaction back by itself. The driver does not
//! notice: its connection still counts the transaction as open and can never begin another. After
//! any failed transaction its connection is therefore closed, and the next transaction opens a new
//! one. An in-memory database exists only as long as its connection, which is rolled back instead.

mod apply;
mod channels;
mod charts;
mod checks;
mod contents;
mod events;
mod facets;
mod insert;
mod kinds;
mod pairs;
mod probe;
mod prompts;
mod query;
mod rollups;
mod rows;
mod snapshot;
mod sums;

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use assay_core::BoxFuture;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Row};

use crate::database::{Applicable, Database, DatabaseError, Snapshot};
use crate::panics::CatchPanic;
use crate::spool::Position;
use crate::spool::segment::FileId;
use crate::writer::Loaded;

use self::apply::Work;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");

/// Positions a batch has room for: a grade's key is its batch's number shifted by this many bits,
/// plus its position.
pub(crate) const POSITION_BITS: u32 = 24;

/// How long a statement waits for a lock of another process before it counts as failed. The writer
/// tries again by itself; a read that waits longer is better refused.
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
        let options = url
            .starts_with("sqlite:")
            .then(|| SqliteConnectOptions::from_str(url).ok())??;
        let in_memory = url.contains(":memory:") || url.contains("mode=memory");
        let path = (!in_memory).then(|| options.get_filename().to_owned());
        Some(Self { options, path })
    }

    /// The folder beside the database: beside the file itself, whichever link leads to it, since
    /// the lock in the folder is what keeps two nodes from using one database.
    pub(crate) fn spool(&self) -> Option<PathBuf> {
        let mut spool = follow_links(self.path.clone()?).into_os_string();
        spool.push(".spool");
        Some(Path::new(&spool).to_owned())
    }
}

/// Where the links at the end of `path` lead, also if nothing is there yet: SQLite would create it
/// there. Links in front of the name need no following, the system goes the same way for the
/// database and for the folder beside it.
fn follow_links(mut path: PathBuf) -> PathBuf {
    // As many as the system itself follows.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path.set_file_name(target);
    }
    path
}

/// The file that is open, and where it was found.
struct Opened {
    path: PathBuf,
    id: FileId,
    /// Prevents the file's inode number from being reused while no connection is open. Opened with
    /// `O_PATH`, because closing any other descriptor of the file would release the locks that
    /// connections have on it.
    _file: fs::File,
}

impl Opened {
    fn at(path: &Path) -> std::io::Result<Self> {
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH)
            .open(path)?;
        Ok(Self {
            path: path.to_owned(),
            id: FileId::of(&file.metadata()?),
            _file: file,
        })
    }

    fn check(&self) -> Result<(), DatabaseError> {
        let found = match fs::metadata(&self.path) {
            Ok(named) if FileId::of(&named) == self.id => return Ok(()),
            Ok(_) => "was replaced by another".to_owned(),
            Err(error) => format!("went away ({error})"),
        };
        Err(DatabaseError::Replaced {
            path: self.path.clone(),
            found,
        })
    }
}

/// The database of one node.
pub(crate) struct Sqlite {
    writer: SqlitePool,
    readers: SqlitePool,
    /// Identity of the spool whose progress is kept.
    spool: String,
    /// `None` in memory.
    opened: Option<Opened>,
}

impl Sqlite {
    /// Connects and migrates.
    pub(crate) async fn open(
        location: &Location,
        spool: String,
        readers: u32,
    ) -> Result<Self, sqlx::Error> {
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
        // A connection that is opened later must not create a new database.
        writer.set_connect_options(options.clone().create_if_missing(false));
        // A database in memory lives in its one connection, which then serves reads as well.
        let readers = if in_memory {
            writer.clone()
        } else {
            let options = options.read_only(true).pragma("cache_size", "-8192");
            SqlitePoolOptions::new()
                .max_connections(readers)
                .test_before_acquire(false)
                .after_release(|connection, _| Box::pin(is_in_step(connection)))
                .connect_lazy_with(options)
        };
        let opened = location.path.as_deref().map(Opened::at).transpose()?;
        Ok(Self {
            writer,
            readers,
            spool,
            opened,
        })
    }

    /// Applies the work in a transaction that ends with `end`: `commit` or `rollback`.
    async fn transact(&self, work: Work<'_>, end: &'static str) -> Result<(), DatabaseError> {
        let mut connection = self.writer.acquire().await?;
        let done = CatchPanic::new(async {
            // Plain statements, because the driver's transactions assume that SQLite never ends one
            // by itself.
            sqlx::query("begin immediate")
                .execute(&mut *connection)
                .await?;
            apply::apply(&mut connection, &work).await?;
            sqlx::query(end).execute(&mut *connection).await?;
            Ok(())
        })
        .await
        .unwrap_or_else(|message| Err(DatabaseError::Panicked(message)));
        if done.is_err() {
            if self.opened.is_some() {
                // An error of closing the connection does not matter.
                let _ = connection.close().await;
            } else {
                // Fails if SQLite has already ended the transaction.
                let _ = sqlx::query("rollback").execute(&mut *connection).await;
            }
        }
        done
    }

    async fn checkpointed(&self) -> Result<bool, DatabaseError> {
        if self.opened.is_none() {
            return Ok(true);
        }
        let row = sqlx::query("pragma wal_checkpoint(passive)")
            .fetch_one(&self.writer)
            .await?;
        let (busy, logged, copied): (i64, i64, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        self.check()?;
        Ok(busy == 0 && logged == copied)
    }
}

/// A node of an earlier release must still start on a database that a later one has migrated; see
/// `migrations/README.md`.
async fn migrate(writer: &SqlitePool) -> Result<(), sqlx::Error> {
    let mut migrations = Migrator {
        ignore_missing: true,
        ..Migrator::DEFAULT
    };
    migrations.migrations = MIGRATIONS.migrations.clone();
    migrations.run(writer).await?;
    Ok(())
}

/// Whether the driver and SQLite agree that no transaction is open; if not, the connection is
/// closed.
async fn is_in_step(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    // Runs after the rollback that a dropped transaction has queued.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

impl Database for Sqlite {
    fn progress(&self) -> BoxFuture<'_, Result<Position, DatabaseError>> {
        Box::pin(async {
            let mut connection = self.writer.acquire().await?;
            query::progress(&mut connection, &self.spool).await
        })
    }

    fn check(&self) -> Result<(), DatabaseError> {
        self.opened.as_ref().map_or(Ok(()), Opened::check)
    }

    fn apply<'a>(
        &'a self,
        entries: &'a [Applicable],
        progress: Position,
        now_us: i64,
    ) -> BoxFuture<'a, Result<(), DatabaseError>> {
        Box::pin(async move {
            self.check()?;
            self.transact(
                Work {
                    spool: &self.spool,
                    entries,
                    progress,
                    now_us,
                    late: false,
                },
                "commit",
            )
            .await?;
            self.check()
        })
    }

    fn apply_late(
        &self,
        loaded: Arc<Loaded>,
        now_us: i64,
    ) -> BoxFuture<'_, Result<(), DatabaseError>> {
        Box::pin(async move {
            self.check()?;
            let (entries, progress) = ([(Position::LAST, loaded)], Position::default());
            let work = Work {
                spool: &self.spool,
                entries: &entries,
                progress,
                now_us,
                late: true,
            };
            self.transact(work, "commit").await?;
            self.check()
        })
    }

    fn probe(&self, now_us: i64) -> BoxFuture<'_, Result<(), DatabaseError>> {
        Box::pin(async move {
            self.check()?;
            let entries = [(Position::LAST, Arc::new(probe::sample(now_us)?))];
            let work = Work {
                spool: &self.spool,
                entries: &entries,
                progress: Position::default(),
                now_us,
                late: false,
            };
            self.transact(work, "rollback").await
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills the database until SQLite reports that it is full, and applies again once there is
    /// space.
    async fn fill(url: &str) {
        let location = Location::parse(url).unwrap();
        let sqlite = Sqlite::open(&location, "spool".to_owned(), 1)
            .await
            .unwrap();
        let good = || Arc::new(probe::sample(7).unwrap());
        sqlite.apply_late(good(), 7).await.unwrap();
        let pages: i64 = sqlx::query_scalar("pragma page_count")
            .fetch_one(&sqlite.writer)
            .await
            .unwrap();
        let limit = |pages: i64| format!("pragma max_page_count = {pages}");
        sqlx::query(sqlx::AssertSqlSafe(limit(pages)))
            .execute(&sqlite.writer)
            .await
            .unwrap();

        let large = vec![7; 1 << 20];
        let mut entry =
            assay_core::record::Entry::of_events(1.into(), "local".into(), Vec::new(), 7);
        entry.bodies = vec![assay_core::record::Body {
            hash: assay_core::Hash::of(&large),
            kind: assay_core::record::BodyKind::Text,
            content: large,
        }];
        let contents = crate::packs::Contents::of(&entry.bodies, None, 0).unwrap();
        let large = Arc::new(Loaded::new(Arc::new(entry), contents));
        let position = Position {
            segment: 1,
            byte: 100,
        };
        for _ in 0..3 {
            let refused = match sqlite
                .apply(&[(position, Arc::clone(&large))], position, 7)
                .await
            {
                Err(DatabaseError::Driver(sqlx::Error::Database(error))) => error,
                Err(error) => panic!("{error}"),
                // The connection was replaced, so the limit must be set again.
                Ok(()) => break,
            };
            assert_eq!(refused.code().as_deref(), Some("13"), "{refused}");
            assert!(!DatabaseError::from(sqlx::Error::Database(refused)).may_lie_in_entry());
        }
        sqlx::query(sqlx::AssertSqlSafe(limit(1 << 20)))
            .execute(&sqlite.writer)
            .await
            .unwrap();
        sqlite
            .apply(&[(position, large)], position, 7)
            .await
            .unwrap();
        assert_eq!(sqlite.progress().await.unwrap(), position);
        let grades: i64 = sqlx::query_scalar("select count(*) from grades")
            .fetch_one(&sqlite.writer)
            .await
            .unwrap();
        assert_eq!(grades, 1);
        sqlite.close().await;
    }

    #[tokio::test]
    async fn applies_again_once_a_full_database_has_space() {
        let folder = tempfile::tempdir().unwrap();
        fill(&format!(
            "sqlite://{}",
            folder.path().join("assay.db").display()
        ))
        .await;
        fill("sqlite::memory:").await;
    }

    #[tokio::test]
    async fn probing_changes_nothing() {
        let location = Location::parse("sqlite::memory:").unwrap();
        let sqlite = Sqlite::open(&location, "spool".to_owned(), 1)
            .await
            .unwrap();
        sqlite.probe(7).await.unwrap();
        let rows: i64 = sqlx::query_scalar(
            "select (select count(*) from batches) + (select count(*) from runs)",
        )
        .fetch_one(&sqlite.writer)
        .await
        .unwrap();
        assert_eq!(rows, 0);
    }
}
