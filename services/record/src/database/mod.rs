//! The database: its connections, and the statements that write, delete and decode. The reads of
//! [`Record`](crate::Record) are in `read`.
//!
//! Statements are written in the part of SQL that SQLite and PostgreSQL share, with parameters like
//! `$1`, and executed by [`sql`] on either; the test in `statements` executes them on SQLite and
//! prepares them on PostgreSQL. What differs is in [`sqlite`] and [`postgres`], the modules of the
//! databases: connections, transactions, codes of errors, hints for indexes, and all that concerns
//! files and pages. [`Location`] chooses between them.

mod access;
mod answers;
mod apply;
mod assignments;
pub(crate) mod bodies;
pub(crate) mod channels;
pub(crate) mod charts;
mod checks;
mod claims;
pub(crate) mod codec;
mod comments;
pub(crate) mod copying;
pub(crate) mod costs;
mod documents;
mod error;
mod events;
mod facets;
mod holdings;
pub(crate) mod indexed;
mod insert;
pub(crate) mod jobs;
pub(crate) mod keys;
mod kinds;
mod location;
mod lock;
mod migrations;
mod names;
mod pairs;
pub(crate) mod postgres;
mod probe;
pub(crate) mod prompts;
pub(crate) mod query;
pub(crate) mod retention;
pub(crate) mod rollups;
pub(crate) mod rows;
pub(crate) mod run_notes;
pub(crate) mod schema;
pub(crate) mod shadows;
mod size;
mod sources;
mod space;
pub(crate) mod sql;
pub(crate) mod sqlite;
#[cfg(test)]
mod statements;
mod storage;
pub(crate) mod sums;
pub(crate) mod text_words;
pub(crate) mod texts;
mod totals;
pub(crate) mod trends;
pub(crate) mod verifying;

use std::sync::Arc;

use assay_core::BatchId;

use self::apply::ApplyRequest;
use self::postgres::holds;
use self::sql::{Connection, Pool};
use self::sqlite::{DatabaseFile, LogPages};
use self::texts::Texts;
use crate::held_request::HeldRequest;
use crate::panics::CatchPanic;
use crate::pending::Applicable;
use crate::pending::loaded_entry::LoadedEntry;
use crate::retention_step::{RetentionStep, StepOutcome};
use crate::spool::Position;

pub use access::RecordAccess;
pub(crate) use error::{DatabaseError, damage_message, is_damage};
pub(crate) use location::Location;
pub(crate) use lock::Lock;
pub(crate) use rows::POSITION_BITS;
pub(crate) use storage::{interrupted, next_batches, prune_estimate, prune_target, storage_report};

/// A consistent state of the database, which can be read until it is dropped.
pub(crate) type Snapshot = Connection;

/// Who deletes what a record does not keep.
pub(crate) enum Leader {
    /// This node, as the only one that uses the database, or until the lock is released.
    This(Option<Lock>),
    /// Another node.
    Another,
}

/// The database of one node.
pub(crate) struct Database {
    location: Location,
    writer: Pool,
    readers: Pool,
    /// Connections that hold requests; those of the writer in a database that is not shared.
    holders: Pool,
    /// The connection that writes jobs, whose commits survive a power loss; that of the writer in
    /// memory.
    jobs: Pool,
    /// Name of the spool whose progress is stored.
    spool: String,
    /// `None` in memory or on a server.
    file: Option<DatabaseFile>,
    /// Whether the database exists only in the connection of the writer.
    in_memory: bool,
    /// `None` if texts are not searched.
    texts: Option<Texts>,
}

/// What a transaction does.
enum Work<'w> {
    Apply(&'w ApplyRequest<'w>),
    Step(&'w RetentionStep, u32),
}

impl Work<'_> {
    async fn run(self, connection: &mut Connection) -> Result<StepOutcome, DatabaseError> {
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
    /// Connects to the database and migrates it. Also opens the index of texts, if they are to be
    /// searched.
    pub(crate) async fn open(
        location: &Location,
        spool: String,
        readers: u32,
        text_search: bool,
    ) -> Result<Self, DatabaseError> {
        let writer = location.connect_writer().await?;
        let connections = readers;
        let readers = location.connect_readers(&writer, connections);
        let holders = location.connect_holders(&writer);
        let jobs = location.connect_jobs(&writer).await?;
        let file = location.path().map(DatabaseFile::at).transpose();
        let file = file.map_err(sqlx::Error::from)?;
        let texts = if text_search {
            Some(Texts::open(location, readers.clone(), connections).await?)
        } else {
            None
        };
        Ok(Self {
            location: location.clone(),
            writer,
            readers,
            holders,
            jobs,
            spool,
            file,
            in_memory: location.is_in_memory(),
            texts,
        })
    }

    /// Whether other nodes may use the database.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.writer, Pool::Postgres(_))
    }

    /// As [`Lock::operators`].
    pub(crate) async fn lock_operators(&self) -> Result<Option<Lock>, DatabaseError> {
        Lock::operators(&self.location).await
    }

    /// Makes this node the one that deletes, unless another one is.
    pub(crate) async fn lead_retention(&self) -> Result<Leader, DatabaseError> {
        if !self.is_shared() {
            return Ok(Leader::This(None));
        }
        let lock = Lock::retention(&self.location).await?;
        Ok(lock.map_or(Leader::Another, |lock| Leader::This(Some(lock))))
    }

    /// Name of the spool.
    pub(crate) fn spool(&self) -> &str {
        &self.spool
    }

    /// As [`holds::hold`].
    pub(crate) async fn hold(
        &self,
        held: &HeldRequest,
        lease_us: i64,
    ) -> Result<Option<BatchId>, DatabaseError> {
        holds::hold(&mut self.holders.acquire().await?, held, lease_us).await
    }

    /// As [`holds::extend`].
    pub(crate) async fn extend(
        &self,
        held: &HeldRequest,
        lease_us: i64,
    ) -> Result<(), DatabaseError> {
        holds::extend(&mut self.holders.acquire().await?, held, lease_us).await
    }

    /// As [`holds::release`].
    pub(crate) async fn release(&self, held: &HeldRequest) -> Result<(), DatabaseError> {
        holds::release(&mut self.holders.acquire().await?, held).await
    }

    /// The connection that writes jobs.
    pub(crate) async fn job_connection(&self) -> Result<Connection, DatabaseError> {
        self.check()?;
        Ok(self.jobs.acquire().await?)
    }

    /// The index of texts; `None` if they are not searched.
    pub(crate) fn texts(&self) -> Option<&Texts> {
        self.texts.as_ref()
    }

    async fn add_texts(&self, entries: &[Applicable]) {
        if let Some(texts) = &self.texts {
            texts.add(entries).await;
        }
    }

    /// The keys and the audit log of this database.
    pub(crate) async fn access(&self, location: &Location) -> Result<RecordAccess, DatabaseError> {
        RecordAccess::beside(location, &self.writer).await
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
            Work::Apply(_) => LogPages::Apply,
            Work::Step(..) => LogPages::Step,
        };
        let done = CatchPanic::new(async {
            if self.file.is_some() {
                log_pages.set(&mut connection).await?;
            }
            connection.begin_writing().await?;
            if self.is_shared() {
                // Another node may have migrated the database.
                migrations::require_known(&mut connection).await?;
            }
            let outcome = work.run(&mut connection).await?;
            sql::query(end).execute(&mut connection).await?;
            Ok(outcome)
        })
        .await
        .unwrap_or_else(|message| Err(DatabaseError::Panicked(message)));
        if done.is_err() {
            if self.in_memory {
                // Fails if SQLite has already ended the transaction.
                let _ = sql::query("rollback").execute(&mut connection).await;
            } else {
                // An error of closing the connection is irrelevant.
                let _ = connection.close().await;
            }
        }
        done
    }
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
        self.check()?;
        self.add_texts(entries).await;
        Ok(())
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
        self.check()?;
        self.add_texts(&entries).await;
        Ok(())
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
        let is_complete = sqlite::checkpoint(&self.writer).await?;
        self.check()?;
        Ok(is_complete)
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
            sqlite::truncate_log(&self.writer).await?;
        }
        self.check()
    }

    /// Bytes of the write-ahead log.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, DatabaseFile::log_bytes)
    }

    /// Closes every connection.
    pub(crate) async fn close(&self) {
        if let Some(texts) = &self.texts {
            texts.index.close().await;
        }
        self.readers.close().await;
        self.holders.close().await;
        self.jobs.close().await;
        self.writer.close().await;
    }
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _};

    use super::*;

    /// Fills the database until SQLite reports that it is full; entries are applied again once
    /// there is space.
    async fn fill(url: &str) {
        let location = Location::parse(url).unwrap();
        let sqlite = Database::open(&location, "spool".to_owned(), 1, false)
            .await
            .unwrap();
        let good = || Arc::new(probe::sample(7).unwrap());
        sqlite.apply_late(good(), 7).await.unwrap();
        let pages: i64 = sql::query_scalar("pragma page_count")
            .fetch_one(&mut sqlite.writer.acquire().await.unwrap())
            .await
            .unwrap();
        let limit = |pages: i64| format!("pragma max_page_count = {pages}");
        sql::query(AssertSqlSafe(limit(pages)))
            .execute(&mut sqlite.writer.acquire().await.unwrap())
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
        sql::query(AssertSqlSafe(limit(1 << 20)))
            .execute(&mut sqlite.writer.acquire().await.unwrap())
            .await
            .unwrap();
        sqlite
            .apply(&[(position, large)], position, 7)
            .await
            .unwrap();
        assert_eq!(sqlite.progress().await.unwrap(), position);
        let grades: i64 = sql::query_scalar("select count(*) from grades")
            .fetch_one(&mut sqlite.writer.acquire().await.unwrap())
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
        Database::open(&location, "spool".to_owned(), 1, false)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn probing_changes_nothing() {
        let sqlite = in_memory().await;
        sqlite.probe(7).await.unwrap();
        let rows: i64 = sql::query_scalar(
            "select (select count(*) from batches) + (select count(*) from runs)",
        )
        .fetch_one(&mut sqlite.writer.acquire().await.unwrap())
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
        let grades: Vec<i64> = sql::query_scalar(
            "select count(*) from grades union all select sum(grades) from runs \
             union all select sum(grades) from rollups",
        )
        .fetch_all(&mut sqlite.writer.acquire().await.unwrap())
        .await
        .unwrap();
        assert_eq!(grades, [1, 1, 1]);
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
        let options = SqliteConnectOptions::new().filename(&path);
        let options = options.create_if_missing(true);
        let execute = async |sql: &'static str| {
            let mut connection = options.connect().await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        };
        // The first migration creates another table before this one.
        execute("create table rollups (run integer)").await;
        let opened = Database::open(&location, "spool".to_owned(), 1, false).await;
        let error = opened.err().unwrap().to_string();
        assert!(error.contains("table rollups already exists"), "{error}");
        execute("drop table rollups").await;
        let sqlite = Database::open(&location, "spool".to_owned(), 1, false)
            .await
            .unwrap();
        assert_eq!(sqlite.progress().await.unwrap(), Position::default());
        sqlite.close().await;
    }
}
