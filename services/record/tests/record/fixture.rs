//! A temporary folder with a store, entries to record, and a clock that tests control.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use assay_core::{BatchId, Clock, GradeId, Hash, RawJson};
use assay_record::{
    Appeal, Body, BodyKind, Claim, Entry, Event, GradeFilter, GradeSource, ItemGrade, NewGrade,
    OpenError, Record, RecordOptions, RequestKey, SealedReply, StoredGrade,
};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use tempfile::TempDir;

use crate::postgres::{is_tested, new_database};

pub(crate) const START_US: i64 = 1_795_000_000_000_000;

pub(crate) struct TestClock {
    unix_us: AtomicI64,
    spool_panics: AtomicBool,
    writer_panics: AtomicBool,
}

impl TestClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            unix_us: AtomicI64::new(START_US),
            spool_panics: AtomicBool::new(false),
            writer_panics: AtomicBool::new(false),
        })
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.unix_us
            .fetch_add(by.as_micros() as i64, Ordering::SeqCst);
    }

    /// Makes the spool thread panic at its next commit.
    pub(crate) fn panic_in_spool(&self) {
        self.spool_panics.store(true, Ordering::SeqCst);
    }

    /// Makes the writer panic at its next transaction.
    pub(crate) fn panic_in_writer(&self) {
        self.writer_panics.store(true, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn unix_us(&self) -> i64 {
        self.unix_us.load(Ordering::SeqCst)
    }

    fn monotonic(&self) -> Duration {
        let in_spool = std::thread::current().name() == Some("assay-spool");
        let panics = if in_spool {
            &self.spool_panics
        } else {
            &self.writer_panics
        };
        assert!(!panics.load(Ordering::SeqCst), "the clock stopped");
        Duration::from_micros((self.unix_us() - START_US) as u64)
    }
}

pub(crate) struct Fixture {
    folder: TempDir,
    pub(crate) clock: Arc<TestClock>,
    /// Options for [`open`](Self::open).
    pub(crate) options: RecordOptions,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        if is_tested() {
            return Self::on_postgres();
        }
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("assay.db").display());
        Self::with(folder, RecordOptions::new(url))
    }

    /// A record on PostgreSQL, whichever database is tested.
    pub(crate) fn on_postgres() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = RecordOptions {
            spool: Some(folder.path().join("assay.db.spool")),
            ..RecordOptions::new(new_database())
        };
        Self::with(folder, options)
    }

    fn with(folder: TempDir, mut options: RecordOptions) -> Self {
        options.close_timeout = Duration::from_secs(20);
        Self {
            folder,
            clock: TestClock::new(),
            options,
        }
    }

    /// The temporary folder.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("assay.db")
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.folder.path().join("assay.db.spool")
    }

    /// The segments, oldest first.
    pub(crate) fn segments(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.spool()).unwrap();
        let mut segments: Vec<PathBuf> = files
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "seg"))
            .collect();
        segments.sort();
        segments
    }

    pub(crate) async fn try_open(&self) -> Result<Record, OpenError> {
        Record::open(&self.options, self.clock.clone()).await
    }

    pub(crate) async fn open(&self) -> Record {
        self.try_open().await.unwrap()
    }

    /// Another node on the same database, with its own spool.
    pub(crate) async fn open_replica(&self, spool: &str) -> Record {
        let mut options = self.options.clone();
        options.spool = Some(self.root().join(spool));
        Record::open(&options, self.clock.clone()).await.unwrap()
    }

    /// Waits until all entries are in the database.
    pub(crate) async fn applied(&self, store: &Record) {
        let applied = async {
            while store.state().pending > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let done = tokio::time::timeout(Duration::from_secs(20), applied).await;
        assert!(done.is_ok(), "{:?}", store.state());
    }

    /// Waits until the writer has tried to apply an entry and failed.
    pub(crate) async fn apply_fails(&self, store: &Record) {
        while store.state().apply_error.is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Opens the same database and spool with a new clock.
    pub(crate) async fn open_with_new_clock(&self) -> Record {
        Record::open(&self.options, TestClock::new()).await.unwrap()
    }

    /// Prevents the store from writing to the database until the result is dropped. Reads are not
    /// affected.
    pub(crate) async fn lock_database(&self) -> TestConnection {
        let mut connection = self.connect().await.unwrap();
        let begin = on(
            "begin immediate",
            "begin; select pg_advisory_xact_lock(4711046251)",
        );
        connection.execute(begin).await.unwrap();
        connection
    }

    /// Connects to the database.
    pub(crate) async fn connect(&self) -> Result<TestConnection, sqlx::Error> {
        TestConnection::connect(&self.options.database).await
    }

    /// Runs statements on the database file.
    pub(crate) async fn execute(&self, sql: &'static str) -> Result<(), sqlx::Error> {
        self.connect().await?.execute(sql).await
    }

    /// Reads one number from the database file.
    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        self.connect().await.unwrap().number(sql).await
    }
}

/// One of two statements: for SQLite or for PostgreSQL.
pub(crate) fn on(sqlite: &'static str, postgres: &'static str) -> &'static str {
    if is_tested() { postgres } else { sqlite }
}

/// A connection to the database, which it leaves when it is dropped.
pub(crate) enum TestConnection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl TestConnection {
    /// Connects to the database at a URL.
    pub(crate) async fn connect(url: &str) -> Result<Self, sqlx::Error> {
        Ok(if url.starts_with("postgres") {
            Self::Postgres(PgConnection::connect(url).await?)
        } else {
            Self::Sqlite(SqliteConnection::connect(url).await?)
        })
    }

    /// Reads one number.
    pub(crate) async fn number(&mut self, sql: &'static str) -> i64 {
        let number = match self {
            Self::Sqlite(sqlite) => sqlx::query_scalar(sql).fetch_one(sqlite).await,
            Self::Postgres(postgres) => {
                // A sum has another type.
                let sql = AssertSqlSafe(format!("select cast(({sql}) as bigint)"));
                sqlx::query_scalar(sql).fetch_one(postgres).await
            }
        };
        number.unwrap()
    }

    /// Runs statements.
    pub(crate) async fn execute(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(sqlite) => sqlx::raw_sql(sql).execute(sqlite).await.map(drop),
            Self::Postgres(postgres) => sqlx::raw_sql(sql).execute(postgres).await.map(drop),
        }
    }
}

/// The id of the `n`th batch.
pub(crate) fn batch(n: u64) -> BatchId {
    (u128::from(n + 1) << 24 | 1_795_000_000_000 << 80).into()
}

/// An entry of the `n`th batch with `grades` grades from position `first`, and a completion for
/// each.
pub(crate) fn part(n: u64, first: u32, grades: u32) -> Entry {
    let mut entry = Entry {
        batch: batch(n),
        caller: "local".into(),
        run: Some("run-a".into()),
        step: Some(n as i64),
        items: first + grades,
        received_us: START_US + n as i64,
        grades: Vec::new(),
        bodies: Vec::new(),
        events: Vec::new(),
        claim: None,
    };
    for position in first..first + grades {
        let content = format!("completion {n}-{position} ")
            .repeat(20)
            .into_bytes();
        let body = Body {
            hash: Hash::of(&content),
            kind: BodyKind::Text,
            content,
        };
        let pass = position % 2 == 0;
        let mut stored = StoredGrade::passed(entry.batch, position, body.hash);
        stored.source.caller = entry.caller.clone();
        stored.source.run = entry.run.clone();
        stored.source.step = entry.step;
        stored.grade.id = Some(format!("item-{position}"));
        stored.grade.group = Some(format!("group-{}", position / 2));
        stored.grade.prompt_key = Some(format!("prompt-{n}"));
        stored.grade.channel = "math/default".into();
        stored.grade.grader.name = "math".into();
        stored.source.prompt_hash = pass.then(|| Hash::of(b"prompt"));
        stored.source.policy_hash = (!pass).then(|| Hash::of(b"policy"));
        stored.grade.verdict = Some(if pass { "correct" } else { "wrong_answer" }.into());
        stored.grade.pass = Some(pass);
        stored.grade.score = Some(if pass { 1.0 } else { 0.25 });
        stored.grade.appeal = (!pass).then(appeal);
        stored.grade.score_after_appeal = (!pass).then_some(1.0);
        stored.grade.reward = Some(-1.5);
        stored.grade.advantage = Some(0.5);
        stored.grade.components = serde_json::from_str("[]").unwrap();
        stored.grade.reward_breakdown = serde_json::from_str("[]").unwrap();
        stored.grade.steps = serde_json::from_str(r#"[{"score":0.5,"masked":false}]"#).unwrap();
        stored.grade.measures = serde_json::from_str(r#"{"tokens":3}"#).unwrap();
        stored.grade.evidence = serde_json::from_str(r#"{"extracted":"½"}"#).unwrap();
        stored.source.meta = RawJson::stored("{}");
        stored.source.checks = RawJson::stored("{}");
        stored.grade.deterministic = pass;
        stored.grade.cached = !pass;
        stored.grade.time_us = START_US + n as i64 * 1_000 + i64::from(position);
        entry.grades.push(stored.into());
        entry.bodies.push(body);
    }
    entry
}

/// An appeal of a negative that was selected with a probability of a quarter.
fn appeal() -> Appeal {
    Appeal {
        judge: "judge@1".to_owned(),
        sensitivity: 0.9,
        specificity: 0.98,
        probability: 0.25,
        verdict: Some("correct".to_owned()),
        pass: Some(true),
        agreed: false,
        score: Some(1.0),
        binding: true,
        overturned: true,
        reason: None,
    }
}

/// An entry that contains only events.
pub(crate) fn events(n: u64, events: Vec<Event>) -> Entry {
    Entry {
        run: None,
        step: None,
        events,
        ..part(n, 0, 0)
    }
}

/// An entry of the whole `n`th batch, with `grades` grades.
pub(crate) fn entry(n: u64, grades: u32) -> Entry {
    part(n, 0, grades)
}

pub(crate) fn key(name: &str) -> RequestKey {
    RequestKey {
        caller: "local".into(),
        key: name.to_owned(),
    }
}

/// An entry that only claims the key `name` for the `n`th batch.
pub(crate) fn claim(name: &str, n: u64, reply: Option<&str>) -> Entry {
    let mut entry = part(n, 0, 0);
    entry.claim = Some(Claim {
        key: key(name),
        request: Hash::of(name.as_bytes()),
        batch: batch(n),
        time_us: START_US,
        reply: reply.map(|text| SealedReply {
            media: "application/json".to_owned(),
            body: text.as_bytes().to_vec(),
        }),
    });
    entry
}

pub(crate) async fn record(store: &Record, entry: Entry) {
    store.append(Arc::new(entry)).await.unwrap();
}

/// Changes a grade that is to be recorded.
pub(crate) fn change(grade: &mut NewGrade, change: impl FnOnce(&mut GradeSource, &mut ItemGrade)) {
    let mut stored = grade.stored().unwrap();
    change(&mut stored.source, &mut stored.grade);
    *grade = stored.into();
}

/// Changes all grades of an entry.
pub(crate) fn change_all(entry: &mut Entry, mut by: impl FnMut(&mut GradeSource, &mut ItemGrade)) {
    for grade in &mut entry.grades {
        change(grade, &mut by);
    }
}

/// Id of the `n`th grade of an entry.
pub(crate) fn id(entry: &Entry, n: usize) -> GradeId {
    entry.grades[n].row.grade.grade
}

/// All grades that match the filter, read page by page.
pub(crate) async fn all(store: &Record, filter: &GradeFilter, page: u32) -> Vec<StoredGrade> {
    let mut grades = Vec::new();
    let mut before: Option<GradeId> = None;
    loop {
        let read = store.grades(filter, before, page).await.unwrap();
        assert!(read.grades.len() <= page as usize);
        grades.extend(read.grades);
        before = read.next;
        if before.is_none() {
            return grades;
        }
    }
}

/// Whether every grade and body of `entry` can be read.
pub(crate) async fn contains_entry(store: &Record, entry: &Entry) -> bool {
    for grade in &entry.grades {
        let stored = grade.stored().unwrap();
        if store.grade(stored.grade.grade).await.unwrap() != Some(stored) {
            return false;
        }
    }
    for body in &entry.bodies {
        if store.body(body.hash).await.unwrap().as_ref() != Some(body) {
            return false;
        }
    }
    true
}
