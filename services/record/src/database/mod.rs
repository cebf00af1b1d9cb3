//! The SQLite database: its connections, migrations and durability. The tables are described in
//! `migrations/sqlite`.
//!
//! # Durability
//!
//! In WAL mode with `synchronous = normal`, a commit writes the log without syncing it. After `kill
//! -9` the kernel still has every written page, so nothing is lost. After a power loss the log is
//! valid up to some earlier commit (its checksums exclude the rest), and SQLite restores the state
//! of that commit. The progress of the spool is part of that state, so later entries are applied
//! again, provided that their segments still exist. They do: a segment is deleted only after a
//! checkpoint of the whole log, and a checkpoint syncs the log before it copies it and the database
//! file afterwards. `synchronous = full` would give the same guarantee but needs one more sync per
//! transaction, on the disk for whose syncs the replies wait. Only steps of retention, which can
//! fill the log as fast as the disk writes it, sync the log each time: a sync of everything that
//! they write until the next checkpoint would delay the syncs of the spool by hundreds of
//! milliseconds.
//!
//! This does not apply to a file that was deleted or replaced while the node runs: SQLite continues
//! to write to the open file, which no restart will find. The file at the path is therefore
//! compared with the open file before and after every transaction and after every checkpoint. While
//! they differ, nothing counts as applied and no segment is deleted.
//!
//! # Failed transactions
//!
//! If a disk is full or broken, SQLite rolls a transaction back by itself. The driver does not
//! notice: its connection counts the transaction as open and can never begin another. The
//! connection of a failed transaction is therefore closed, and the next transaction opens a new
//! one. An in-memory database exists only as long as its connection, which is rolled back instead.

mod access;
mod apply;
mod bodies;
pub(crate) mod channels;
pub(crate) mod charts;
mod checks;
mod claims;
pub(crate) mod codec;
mod documents;
mod error;
mod events;
mod facets;
mod holdings;
mod insert;
pub(crate) mod keys;
mod kinds;
mod names;
mod pairs;
mod probe;
pub(crate) mod prompts;
pub(crate) mod query;
pub(crate) mod retention;
pub(crate) mod rollups;
pub(crate) mod rows;
mod storage;
pub(crate) mod sums;
mod totals;
pub(crate) mod verifying;

use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
    SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row, SqlSafeStr};

use self::apply::ApplyRequest;
use crate::panics::CatchPanic;
use crate::pending::Applicable;
use crate::pending::loaded_entry::LoadedEntry;
use crate::retention_step::{RetentionStep, StepOutcome};
use crate::spool::Position;
use crate::spool::segment::FileId;

pub use access::SqliteAccess;
pub(crate) use error::{DatabaseError, damage_message};
pub(crate) use rows::POSITION_BITS;
pub(crate) use storage::{interrupted, next_batches, prune_estimate, prune_target, storage_report};

/// Version, description and text of each migration, in order; see `build.rs`.
const MIGRATIONS: &[(i64, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

/// The migrations of the schema.
fn migrations() -> Vec<Migration> {
    MIGRATIONS
        .iter()
        .map(|(version, description, sql)| {
            let (description, sql) = (Cow::Borrowed(*description), sql.into_sql_str());
            Migration::new(*version, description, MigrationType::Simple, sql, false)
        })
        .collect()
}

/// How long a statement waits for a lock of another process. The writer retries by itself, and a
/// read that waits longer should fail.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// Pages of the log at which a commit copies it to the database: 64 MiB, so that a page that
/// several transactions change is copied once.
const LOG_PAGES: u32 = 16_384;

/// The same for the commit of a step of retention, whose transactions change many pages: 8 MiB,
/// because the disk syncs what was copied all at once, and the syncs of the spool, for which
/// replies wait, must not wait for long.
const STEP_LOG_PAGES: u32 = 2_048;

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
        self.options.clone()
    }

    /// Options of a connection that reads.
    fn readable(&self) -> SqliteConnectOptions {
        self.options()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(BUSY_TIMEOUT)
            .pragma("wal_autocheckpoint", LOG_PAGES.to_string())
            .pragma("journal_size_limit", "134217728")
            .disable_statement_logging()
            .read_only(true)
            .pragma("cache_size", "-8192")
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
        let mut spool = follow_links(self.path.clone()?).into_os_string();
        spool.push(".spool");
        Some(Path::new(&spool).to_owned())
    }
}

/// Follows the symbolic links of the last component of `path`, even if the target does not exist
/// yet: SQLite would create it there. Links in earlier components have the same effect on the
/// database and on the folder next to it, so they need not be followed.
fn follow_links(mut path: PathBuf) -> PathBuf {
    // The system follows as many links as this.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path.set_file_name(target);
    }
    path
}

/// The open database file and its path.
struct DatabaseFile {
    path: PathBuf,
    /// Path of the log.
    log: PathBuf,
    id: FileId,
    /// Prevents the inode number of the file from being reused while no connection is open. Opened
    /// with `O_PATH`, because closing any other descriptor of the file would release the locks that
    /// connections have on it.
    _file: fs::File,
}

impl DatabaseFile {
    fn at(path: &Path) -> std::io::Result<Self> {
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH)
            .open(path)?;
        let mut log = follow_links(path.to_owned()).into_os_string();
        log.push("-wal");
        Ok(Self {
            path: path.to_owned(),
            log: log.into(),
            id: FileId::of(&file.metadata()?),
            _file: file,
        })
    }

    fn check(&self) -> Result<(), DatabaseError> {
        let change = match fs::metadata(&self.path) {
            Ok(named) if FileId::of(&named) == self.id => return Ok(()),
            Ok(_) => "was replaced by another file".to_owned(),
            Err(error) => format!("was removed ({error})"),
        };
        Err(DatabaseError::Replaced {
            path: self.path.clone(),
            change,
        })
    }

    /// Waits until the log is on the disk.
    async fn sync_log(&self) -> Result<(), DatabaseError> {
        let log = self.log.clone();
        // No locks are on this file, which closing another descriptor would release.
        let sync = move || fs::File::open(log)?.sync_data();
        tokio::task::spawn_blocking(sync)
            .await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
            .map_err(DatabaseError::Log)
    }
}

/// A consistent state of the database, which can be read until it is dropped.
pub(crate) type Snapshot = sqlx::Transaction<'static, sqlx::Sqlite>;

/// The database of one node.
pub(crate) struct Database {
    writer: SqlitePool,
    readers: SqlitePool,
    /// Name of the spool whose progress is stored.
    spool: String,
    /// `None` in memory.
    file: Option<DatabaseFile>,
}

/// What a transaction does.
enum Work<'w> {
    Apply(&'w ApplyRequest<'w>),
    Step(&'w RetentionStep, u32),
}

impl Work<'_> {
    async fn run(self, connection: &mut SqliteConnection) -> Result<StepOutcome, DatabaseError> {
        match self {
            Work::Apply(request) => {
                apply::apply(connection, request).await?;
                Ok(StepOutcome::DONE)
            }
            Work::Step(step, amount) => retention::run(connection, step, amount).await,
        }
    }
}

impl Database {
    /// Connects to the database and migrates it.
    pub(crate) async fn open(
        location: &Location,
        spool: String,
        readers: u32,
    ) -> Result<Self, sqlx::Error> {
        let in_memory = location.path.is_none();
        let writing = location.writable();
        let one = SqlitePoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false);
        let writer = one.connect_with(writing.clone()).await?;
        migrate(&writer).await?;
        // A connection that is opened later must not create a new database.
        writer.set_connect_options(writing.create_if_missing(false));
        // A database in memory exists only in this connection, which therefore serves reads as
        // well.
        let readers = if in_memory {
            writer.clone()
        } else {
            SqlitePoolOptions::new()
                .max_connections(readers)
                .test_before_acquire(false)
                .after_release(|connection, _| Box::pin(is_idle(connection)))
                .connect_lazy_with(location.readable())
        };
        let file = location.path.as_deref().map(DatabaseFile::at).transpose()?;
        Ok(Self {
            writer,
            readers,
            spool,
            file,
        })
    }

    /// The keys and the audit log of this database.
    pub(crate) async fn access(&self, location: &Location) -> Result<SqliteAccess, DatabaseError> {
        SqliteAccess::beside(location, &self.writer).await
    }

    /// Applies a request in a transaction that ends with `end`: `commit` or `rollback`.
    async fn transact(
        &self,
        request: ApplyRequest<'_>,
        end: &'static str,
    ) -> Result<(), DatabaseError> {
        self.in_transaction(Work::Apply(&request), end)
            .await
            .map(drop)
    }

    /// Does `work` in a transaction that ends with `end`: `commit` or `rollback`.
    async fn in_transaction(
        &self,
        work: Work<'_>,
        end: &'static str,
    ) -> Result<StepOutcome, DatabaseError> {
        let mut connection = self.writer.acquire().await?;
        let log_pages = match work {
            Work::Apply(_) => LOG_PAGES,
            Work::Step(..) => STEP_LOG_PAGES,
        };
        let done = CatchPanic::new(async {
            sqlx::query(AssertSqlSafe(format!(
                "pragma wal_autocheckpoint = {log_pages}"
            )))
            .execute(&mut *connection)
            .await?;
            // Plain statements, because the transactions of the driver assume that SQLite never
            // ends one by itself.
            sqlx::query("begin immediate")
                .execute(&mut *connection)
                .await?;
            let outcome = work.run(&mut connection).await?;
            sqlx::query(end).execute(&mut *connection).await?;
            Ok(outcome)
        })
        .await
        .unwrap_or_else(|message| Err(DatabaseError::Panicked(message)));
        if done.is_err() {
            if self.file.is_some() {
                // An error of closing the connection is irrelevant.
                let _ = connection.close().await;
            } else {
                // Fails if SQLite has already ended the transaction.
                let _ = sqlx::query("rollback").execute(&mut *connection).await;
            }
        }
        done
    }
}

/// Applies the missing migrations. Unknown applied ones are ignored, because a node of an earlier
/// release must be able to start on a database that a later one has migrated; see
/// `migrations/README.md`.
async fn migrate(writer: &SqlitePool) -> Result<(), sqlx::Error> {
    let mut migrator = Migrator::with_migrations(migrations());
    migrator.set_ignore_missing(true).run(writer).await?;
    Ok(())
}

/// Whether the driver and SQLite agree that no transaction is open; if not, the connection is
/// closed.
async fn is_idle(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    // Pinging first executes the rollback that a dropped transaction has queued.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

impl Database {
    /// Position up to which this spool has been applied.
    pub(crate) async fn progress(&self) -> Result<Position, DatabaseError> {
        let mut connection = self.writer.acquire().await?;
        query::progress(&mut connection, &self.spool).await
    }

    /// Fails with [`DatabaseError::Replaced`] if a restart would not find the database that is
    /// open.
    pub(crate) fn check(&self) -> Result<(), DatabaseError> {
        self.file.as_ref().map_or(Ok(()), DatabaseFile::check)
    }

    /// Applies the `entries` after the current progress and moves the progress to `progress`, in
    /// one transaction. Grades whose id is already present change nothing, including sums. Succeeds
    /// only if [`check`](Self::check) succeeds before and after it.
    pub(crate) async fn apply(
        &self,
        entries: &[Applicable],
        progress: Position,
        now_us: i64,
    ) -> Result<(), DatabaseError> {
        self.check()?;
        self.transact(
            ApplyRequest {
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
    }

    /// Applies an entry after newer ones. Grades that are already present are not changed; a claim
    /// of another batch is kept.
    pub(crate) async fn apply_late(
        &self,
        loaded: Arc<LoadedEntry>,
        now_us: i64,
    ) -> Result<(), DatabaseError> {
        self.check()?;
        let (entries, progress) = ([(Position::LAST, loaded)], Position::default());
        let request = ApplyRequest {
            spool: &self.spool,
            entries: &entries,
            progress,
            now_us,
            late: true,
        };
        self.transact(request, "commit").await?;
        self.check()
    }

    /// Checks that the database accepts an entry that is known to be valid. Has no lasting effect.
    pub(crate) async fn probe(&self, now_us: i64) -> Result<(), DatabaseError> {
        self.check()?;
        let entries = [(Position::LAST, Arc::new(probe::sample(now_us)?))];
        let request = ApplyRequest {
            spool: &self.spool,
            entries: &entries,
            progress: Position::default(),
            now_us,
            late: false,
        };
        self.transact(request, "rollback").await
    }

    /// Tries to make everything applied so far survive a power loss; `false` if that is not
    /// possible at the moment, because of a reader. Succeeds only if [`check`](Self::check)
    /// succeeds after it.
    pub(crate) async fn checkpoint(&self) -> Result<bool, DatabaseError> {
        if self.file.is_none() {
            return Ok(true);
        }
        let row = sqlx::query("pragma wal_checkpoint(passive)")
            .fetch_one(&self.writer)
            .await?;
        let (busy, logged, copied): (i64, i64, i64) = (
            row.try_get("busy")?,
            row.try_get("log")?,
            row.try_get("checkpointed")?,
        );
        self.check()?;
        Ok(busy == 0 && logged == copied)
    }

    /// Starts a read transaction. It sees the state at its first read until it ends, and neither
    /// blocks the writer nor is blocked by it.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, DatabaseError> {
        Ok(self.readers.begin().await?)
    }

    /// Does one step of retention, of about `amount` rows or pages, in one transaction.
    pub(crate) async fn retain(
        &self,
        step: &RetentionStep,
        amount: u32,
    ) -> Result<StepOutcome, DatabaseError> {
        self.check()?;
        let outcome = self
            .in_transaction(Work::Step(step, amount), "commit")
            .await?;
        self.check()?;
        if let Some(file) = &self.file {
            file.sync_log().await?;
        }
        Ok(outcome)
    }

    /// Empties the write-ahead log, unless a reader prevents it.
    pub(crate) async fn truncate_log(&self) -> Result<(), DatabaseError> {
        if self.file.is_some() {
            sqlx::query("pragma wal_checkpoint(truncate)")
                .fetch_one(&self.writer)
                .await?;
        }
        self.check()
    }

    /// Bytes of the write-ahead log.
    pub(crate) fn log_bytes(&self) -> u64 {
        let Some(file) = &self.file else { return 0 };
        fs::metadata(&file.log).map_or(0, |file| file.len())
    }

    /// Closes every connection.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills the database until SQLite reports that it is full; entries are applied again once
    /// there is space.
    async fn fill(url: &str) {
        let location = Location::parse(url).unwrap();
        let sqlite = Database::open(&location, "spool".to_owned(), 1)
            .await
            .unwrap();
        let good = || Arc::new(probe::sample(7).unwrap());
        sqlite.apply_late(good(), 7).await.unwrap();
        let pages: i64 = sqlx::query_scalar("pragma page_count")
            .fetch_one(&sqlite.writer)
            .await
            .unwrap();
        let limit = |pages: i64| format!("pragma max_page_count = {pages}");
        sqlx::query(AssertSqlSafe(limit(pages)))
            .execute(&sqlite.writer)
            .await
            .unwrap();

        let large = vec![7; 1 << 20];
        let mut entry = crate::Entry::of_events(1.into(), "local".into(), Vec::new(), 7);
        entry.bodies = vec![crate::Body {
            hash: assay_core::Hash::of(&large),
            kind: crate::BodyKind::Text,
            content: large,
        }];
        let contents = crate::pending::packs::Contents::of(&entry, 0).unwrap();
        let large = Arc::new(LoadedEntry::new(Arc::new(entry), contents));
        let position = Position {
            segment: 1,
            byte: 100,
        };
        for _ in 0..3 {
            let rejected = match sqlite
                .apply(&[(position, Arc::clone(&large))], position, 7)
                .await
            {
                Err(DatabaseError::Driver(sqlx::Error::Database(error))) => error,
                Err(error) => panic!("{error}"),
                // Here the connection was replaced, and the limit must be set again.
                Ok(()) => break,
            };
            assert_eq!(rejected.code().as_deref(), Some("13"), "{rejected}");
            assert!(!DatabaseError::from(sqlx::Error::Database(rejected)).may_be_caused_by_entry());
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
    async fn applies_entries_again_once_a_full_database_has_space() {
        let folder = tempfile::tempdir().unwrap();
        fill(&format!(
            "sqlite://{}",
            folder.path().join("assay.db").display()
        ))
        .await;
        fill("sqlite::memory:").await;
    }

    async fn in_memory() -> Database {
        let location = Location::parse("sqlite::memory:").unwrap();
        Database::open(&location, "spool".to_owned(), 1)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn probing_changes_nothing() {
        let sqlite = in_memory().await;
        sqlite.probe(7).await.unwrap();
        let rows: i64 = sqlx::query_scalar(
            "select (select count(*) from batches) + (select count(*) from runs)",
        )
        .fetch_one(&sqlite.writer)
        .await
        .unwrap();
        assert_eq!(rows, 0);
    }

    #[tokio::test]
    async fn counts_a_grade_once_that_two_entries_of_a_transaction_contain() {
        let sqlite = in_memory().await;
        let entry = Arc::new(probe::sample(7).unwrap());
        let at = |byte| Position { segment: 1, byte };
        let entries = [(at(100), Arc::clone(&entry)), (at(200), entry)];
        sqlite.apply(&entries, at(200), 7).await.unwrap();
        let grades: (i64, i64, i64) = sqlx::query_as(
            "select (select count(*) from grades), (select sum(grades) from runs), \
             (select sum(grades) from rollups)",
        )
        .fetch_one(&sqlite.writer)
        .await
        .unwrap();
        assert_eq!(grades, (1, 1, 1));
        assert_eq!(sqlite.progress().await.unwrap(), at(200));
    }

    #[tokio::test]
    async fn a_database_in_memory_has_nothing_to_sync() {
        let sqlite = in_memory().await;
        let entry = Arc::new(probe::sample(7).unwrap());
        sqlite.apply_late(entry, 7).await.unwrap();
        assert!(sqlite.checkpoint().await.unwrap());
    }

    #[tokio::test]
    async fn a_failed_migration_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("assay.db");
        let location = Location::parse(&format!("sqlite://{}", path.display())).unwrap();
        let options = location.options.clone().create_if_missing(true);
        let execute = async |sql: &'static str| {
            let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        };
        // The first migration creates another table before this one.
        execute("create table rollups (run integer)").await;
        let opened = Database::open(&location, "spool".to_owned(), 1).await;
        let error = opened.err().unwrap().to_string();
        assert!(error.contains("table rollups already exists"), "{error}");
        execute("drop table rollups").await;
        let sqlite = Database::open(&location, "spool".to_owned(), 1)
            .await
            .unwrap();
        assert_eq!(sqlite.progress().await.unwrap(), Position::default());
        sqlite.close().await;
    }
}
