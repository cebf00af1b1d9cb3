//! Combines spool, writer and database: opens and closes them in the right order, and checks
//! entries before they are recorded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_base::url::redacted;
use assay_core::{Clock, Ids};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task;

use crate::Entry;
use crate::access::AuditEntry;
use crate::database::{Database, DatabaseError, Location, POSITION_BITS, RecordAccess};
use crate::health::Health;
use crate::hook::Hook;
use crate::metrics;
use crate::options::{Acknowledge, RecordOptions};
use crate::panics::CatchPanic;
use crate::pending::loaded_entry::LoadedEntry;
use crate::pending::packs::Contents;
use crate::pending::{Digest, Pending};
use crate::retention::{Retention, RetentionHandle, RetentionParts};
use crate::scope::Scope;
use crate::spool::commit::{self, Append, Journal};
use crate::spool::frame::Seal;
use crate::spool::segment::Folder;
use crate::spool::set_aside::SetAsideFolder;
use crate::spool::{OpenSpoolError, Position, frame, recovery};
use crate::storage::{PruneFilter, PruneProgress};
use crate::text_completion::TextCompletion;
use crate::writer::Writer;
use crate::{RecordError, RecordState, StoredGrade};

/// From this many bytes on, an entry is compressed on a thread for blocking work. Compressing it on
/// a thread of the runtime would block that thread longer than handing the work over takes.
const MIN_BLOCKING_BYTES: usize = 32 << 10;

/// Why a record cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL, given without its password, is not one of a supported database.
    #[error(
        "unsupported database URL `{0}`; use `sqlite://PATH`, `postgres://USER@HOST/NAME`, or \
         `sqlite::memory:` to store nothing"
    )]
    UnknownDatabase(String),
    /// The spool cannot be opened.
    #[error(transparent)]
    Spool(#[from] OpenSpoolError),
    /// The database cannot be opened or migrated.
    #[error("cannot open the database `{url}`: {reason}; check that it can be reached and written")]
    Database {
        /// The URL without its password.
        url: String,
        /// The error of the driver.
        reason: String,
    },
    /// A later release migrated the database.
    #[error("cannot open the database `{url}`: {reason}")]
    LaterSchema {
        /// The URL without its password.
        url: String,
        /// What it needs, and what to do.
        reason: String,
    },
    /// The spool thread cannot be started.
    #[error("cannot start the spool thread: {0}")]
    Thread(std::io::Error),
}

impl OpenError {
    /// An error of the database at a URL.
    fn of(url: &str, error: &DatabaseError) -> Self {
        let (url, reason) = (redacted(url), error.to_string());
        match error {
            DatabaseError::LaterSchema(_) => Self::LaterSchema { url, reason },
            _ => Self::Database { url, reason },
        }
    }
}

/// The file of the database to which a URL refers, whether it exists or not; `None` if the database
/// is in memory or `url` is not supported.
#[must_use]
pub fn database_file(url: &str) -> Option<PathBuf> {
    Location::parse(url)?.path().map(Path::to_owned)
}

/// Opens only the keys of callers and the audit log of a database, which a node may be using at the
/// same time. Creates the database if it does not exist.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened or migrated.
pub async fn open_access(url: &str) -> Result<RecordAccess, OpenError> {
    let location = Location::parse(url).ok_or_else(|| OpenError::UnknownDatabase(redacted(url)))?;
    RecordAccess::open(&location)
        .await
        .map_err(|error| OpenError::of(url, &error))
}

/// Appends an entry to the audit log of an existing database, which a node may be using at the same
/// time. Does not migrate the database, because a node of another release may be using it.
///
/// # Errors
/// [`OpenError`] if the database cannot be written.
pub async fn append_audit(url: &str, entry: &AuditEntry) -> Result<(), OpenError> {
    let location = Location::parse(url).ok_or_else(|| OpenError::UnknownDatabase(redacted(url)))?;
    RecordAccess::append_to(&location, entry)
        .await
        .map_err(|error| OpenError::of(url, &error))
}

/// The record of one node, a database behind a spool, as its pipeline or one caller sees it. Cheap
/// to clone.
///
/// It must be used in the tokio runtime in which it was opened. If it is dropped without
/// [`close`](Self::close), nothing is lost: entries that are not in the database yet stay in the
/// spool for the next start.
#[derive(Clone)]
pub struct Record {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scope: Scope,
    pub(crate) hook: Option<Arc<dyn Hook>>,
}

/// What all clones of a [`Record`] share.
pub(crate) struct Shared {
    pub(crate) database: Arc<Database>,
    access: RecordAccess,
    pub(crate) pending: Arc<Pending>,
    pub(crate) folder: Option<Arc<Folder>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) compression: i32,
    /// One permit per core: more threads would not compress faster, and each has a zstd context.
    encoders: Semaphore,
    /// The seal of new frames.
    seal: Seal,
    pub(crate) health: Arc<Health>,
    close_timeout: Duration,
    acknowledge: Acknowledge,
    pub(crate) read_timeout: Duration,
    pub(crate) retention: RetentionHandle,
    /// `None` once the record is closed.
    tasks: Mutex<Option<BackgroundTasks>>,
    draining: watch::Sender<bool>,
    /// Becomes true when no more deletions may begin.
    closing: watch::Sender<bool>,
}

/// What is stopped when the record is closed.
struct BackgroundTasks {
    appends: Sender<Append>,
    committer: JoinHandle<()>,
    writer: task::JoinHandle<()>,
    retention: task::JoinHandle<()>,
    /// `None` if texts are not searched.
    texts: Option<task::JoinHandle<()>>,
}

impl Record {
    /// Opens or creates the spool and the database, migrates the database, and recovers the entries
    /// that an earlier process left in the spool.
    ///
    /// # Errors
    /// [`OpenError`] if another node uses the spool, or if the spool or the database cannot be
    /// used.
    pub async fn open(options: &RecordOptions, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        metrics::describe();
        let location = Location::parse(&options.database)
            .ok_or_else(|| OpenError::UnknownDatabase(redacted(&options.database)))?;
        // The spool is locked first, which also prevents two nodes from migrating one database at
        // the same time.
        let folder = match options.spool.clone().or_else(|| location.spool()) {
            Some(path) => Some(Arc::new(open_folder(path, clock.as_ref()).await?)),
            None => None,
        };
        let spool = folder.as_ref().map_or_else(
            || "memory".to_owned(),
            |folder| folder.identity.name.clone(),
        );
        let seal = folder.as_ref().map_or(Seal::PLAIN, |folder| folder.seal());
        let open_error = |error: DatabaseError| OpenError::of(&options.database, &error);
        let (readers, text_search) = (options.readers, options.text_search);
        let database = Database::open(&location, spool.clone(), readers, text_search)
            .await
            .map_err(open_error)?;
        let access = database.access(&location).await.map_err(open_error)?;
        let database = Arc::new(database);
        let progress = database.progress().await.map_err(open_error)?;

        let pending = Arc::new(Pending::new(options.pending_bytes));
        let access = access.with_pending(&spool, Arc::clone(&pending));
        let health = Arc::new(Health::default());
        health.appended(Ok(()));
        health.applied(Ok(()));
        let mut first_segment = progress.segment + 1;
        let mut retried = BTreeSet::new();
        let journal = match &folder {
            Some(folder) => {
                first_segment = first_segment.max(folder.last_number() + 1);
                let (folder_of_scan, waiting, now_us) =
                    (folder.clone(), pending.clone(), clock.unix_us());
                let scan = move || {
                    let replayed = recovery::recover(&folder_of_scan, progress, &waiting, now_us)?;
                    let aside = SetAsideFolder::of(&folder_of_scan);
                    let io = |source| OpenSpoolError::Io {
                        path: folder_of_scan.path.clone(),
                        source,
                    };
                    let set_aside_state = (
                        aside.count().map_err(io)?,
                        aside.starts_from(progress).map_err(io)?,
                    );
                    Ok::<_, OpenSpoolError>((replayed, set_aside_state))
                };
                let (replayed, (set_aside, set_aside_starts)) = blocking(scan).await?;
                health.count_set_aside(set_aside);
                retried = set_aside_starts;
                if set_aside > 0 {
                    tracing::warn!(
                        entries = set_aside,
                        "entries or damaged parts of the spool are set aside; run `assay record \
                         set-aside` to list them"
                    );
                }
                tracing::info!(
                    spool = %folder.identity.name,
                    entries = replayed,
                    "opened the spool; its entries are being applied to the database"
                );
                Journal::Folder {
                    folder: folder.clone(),
                    segment_bytes: options.segment_bytes,
                }
            }
            None => Journal::Memory,
        };
        let (appends, committer) = commit::start(
            journal,
            first_segment,
            pending.clone(),
            health.clone(),
            clock.clone(),
        )
        .map_err(OpenError::Thread)?;
        let (draining, drained) = watch::channel(false);
        let writer = Writer {
            database: database.clone(),
            pending: pending.clone(),
            health: health.clone(),
            folder: folder.clone(),
            clock: clock.clone(),
            draining: drained,
            progress,
            retried,
        };
        let (closing, closed) = watch::channel(false);
        let completion = TextCompletion {
            database: database.clone(),
            pending: pending.clone(),
            clock: clock.clone(),
            closing: closed.clone(),
        };
        let texts = options.text_search.then(|| task::spawn(completion.run()));
        let (retention, handle) = Retention::new(RetentionParts {
            database: database.clone(),
            pending: pending.clone(),
            clock: clock.clone(),
            limits: options.limits.clone(),
            interval: options.limits_interval,
            draining: closed,
        });
        let retention = async move {
            if let Err(reason) = CatchPanic::new(retention.run()).await {
                tracing::error!(reason, "deletion from the record panicked and ended");
            }
        };
        let watched_health = health.clone();
        let writer = async move {
            if let Err(reason) = CatchPanic::new(writer.run()).await {
                watched_health.writer_ended(reason);
            }
        };
        let shared = Shared {
            database,
            access,
            pending,
            folder,
            clock,
            compression: options.compression,
            encoders: Semaphore::new(std::thread::available_parallelism().map_or(2, usize::from)),
            seal,
            health,
            close_timeout: options.close_timeout,
            acknowledge: options.acknowledge,
            read_timeout: options.read_timeout,
            retention: handle,
            tasks: Mutex::new(Some(BackgroundTasks {
                appends,
                committer,
                writer: task::spawn(writer),
                retention: task::spawn(retention),
                texts,
            })),
            draining,
            closing,
        };
        Ok(Self {
            shared: Arc::new(shared),
            scope: Scope::All,
            hook: None,
        })
    }

    /// The keys of callers and the audit log, which are in the same database.
    #[must_use]
    pub fn access(&self) -> RecordAccess {
        self.shared.access.clone()
    }

    /// The record as `caller` sees it: what it recorded itself, with the names that it gave its
    /// runs.
    #[must_use]
    pub fn seen_by(&self, caller: &str) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            scope: Scope::Caller(caller.into()),
            hook: self.hook.clone(),
        }
    }

    /// Whether it shows what all callers recorded.
    #[must_use]
    pub fn shows_all(&self) -> bool {
        self.scope.caller().is_none()
    }

    /// The same record with this hook.
    #[doc(hidden)]
    #[must_use]
    pub fn with_hook(self, hook: Arc<dyn Hook>) -> Self {
        Self {
            hook: Some(hook),
            ..self
        }
    }

    /// Appends `entry`. When this returns `Ok`, the entry survives `kill -9` and power loss, and
    /// every read sees it. With [`Acknowledge::Database`], the database has committed it.
    ///
    /// A grade with an id that is already recorded is not written again, so repeating a batch is
    /// safe.
    ///
    /// # Errors
    /// [`RecordError::Unavailable`]: the entry may or may not be recorded.
    /// [`RecordError::NotCommitted`]: it is in the spool and will be applied.
    pub async fn append(&self, entry: Arc<Entry>) -> Result<(), RecordError> {
        let entry = match &self.hook {
            Some(hook) => hook.append(entry).await?,
            None => entry,
        };
        self.shared.append(entry).await
    }

    /// Checks that grades can be recorded and read, and returns the state of the record. A node
    /// whose replies do not wait for a database on a server is ready without it.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn ready(&self) -> Result<RecordState, RecordError> {
        self.shared.health.check()?;
        if let (Some(_), Some(folder)) = (
            self.shared.health.append_error(),
            self.shared.folder.clone(),
        ) {
            // A node that is not ready may receive no batches, so that no append would show that
            // the spool works again. It is therefore probed here.
            let tried = blocking(move || folder.probe())
                .await
                .map_err(|error| error.to_string());
            self.shared.health.appended(tried.clone());
            tried.map_err(|error| {
                RecordError::Unavailable(format!(
                    "cannot write to the spool ({error}); free space on its disk or restore its \
                     folder"
                ))
            })?;
        }
        self.shared.database.check()?;
        let read_error = match self.read(self.probe_reads()).await {
            Err(error) if self.shared.records_without_database() => Some(error.to_string()),
            read => {
                read?;
                None
            }
        };
        Ok(RecordState {
            read_error,
            ..self.state()
        })
    }

    /// Starts to delete what the filter matches, and returns the progress at the start. The
    /// deletion continues in the background; [`storage`](Self::storage) has its progress. Batches
    /// that arrive later are not deleted.
    ///
    /// # Errors
    /// [`RecordError::Busy`] if another prune runs, [`RecordError::Unavailable`] if the record is
    /// closed, or if not all entries that were recorded before are applied in time.
    pub async fn prune(&self, filter: PruneFilter) -> Result<PruneProgress, RecordError> {
        self.scope.require_all()?;
        if self.shared.tasks().is_none() {
            return Err(closed());
        }
        drop(self.snapshot_after(|_| true).await?);
        let now_us = self.shared.clock.unix_us();
        self.shared.retention.start(filter, now_us)
    }

    /// Stops accepting entries and writes all accepted ones to the database.
    ///
    /// # Errors
    /// [`RecordError::Unavailable`] if some cannot be written.
    pub async fn close(&self) -> Result<(), RecordError> {
        self.shared.close().await
    }
}

impl Shared {
    fn tasks(&self) -> std::sync::MutexGuard<'_, Option<BackgroundTasks>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn records_without_database(&self) -> bool {
        self.acknowledge == Acknowledge::Spool && self.database.is_shared()
    }

    async fn append(&self, entry: Arc<Entry>) -> Result<(), RecordError> {
        check(&entry)?;
        let bodies = entry.bodies.iter().map(|body| body.content.len());
        let documents = entry.grades.iter().map(|grade| grade.document.len());
        let size = bodies.chain(documents).sum::<usize>() + entry.grades.len() * 128;
        let (compression, seal) = (self.compression, self.seal);
        let (frame, digest, loaded) = if size < MIN_BLOCKING_BYTES {
            encode(&seal, entry, compression)?
        } else {
            // The semaphore is never closed; without a permit the entry would be compressed all the
            // same.
            let _permit = self.encoders.acquire().await.ok();
            task::spawn_blocking(move || encode(&seal, entry, compression))
                .await
                .map_err(|error| RecordError::Unavailable(error.to_string()))??
        };
        let (acknowledge, acknowledged) = oneshot::channel();
        let append = Append {
            frame,
            digest,
            loaded,
            acknowledge,
        };
        let accepted = self
            .tasks()
            .as_ref()
            .is_some_and(|tasks| tasks.appends.send(append).is_ok());
        if !accepted {
            return Err(self.refusal());
        }
        let end = acknowledged.await.unwrap_or_else(|_| Err(self.refusal()))?;
        match self.acknowledge {
            Acknowledge::Spool => Ok(()),
            Acknowledge::Database => self.committed(end).await,
        }
    }

    /// Waits until the entry that ends at `end` is in the database.
    async fn committed(&self, end: Position) -> Result<(), RecordError> {
        let committed = tokio::time::timeout(self.read_timeout, self.pending.wait_for(end)).await;
        committed.map_err(|_| {
            let reason = self.health.apply_error();
            RecordError::NotCommitted(reason.unwrap_or_else(|| "it is slow".to_owned()))
        })
    }

    fn refusal(&self) -> RecordError {
        if self.tasks().is_none() {
            closed()
        } else {
            self.health.refusal()
        }
    }

    async fn close(&self) -> Result<(), RecordError> {
        let tasks = self.tasks().take();
        let Some(BackgroundTasks {
            appends,
            committer,
            mut writer,
            mut retention,
            texts,
        }) = tasks
        else {
            return Ok(());
        };
        self.closing.send_replace(true);
        // A step takes far less than this; the transaction of one that does not end is rolled back.
        if tokio::time::timeout(self.close_timeout, &mut retention)
            .await
            .is_err()
        {
            retention.abort();
        }
        if let Some(texts) = texts {
            // It ends by itself, and a step that was rolled back is done again.
            let _ = texts.await;
        }
        drop(appends);
        blocking(move || join(committer)).await;
        self.draining.send_replace(true);
        let drained = tokio::time::timeout(self.close_timeout, &mut writer)
            .await
            .is_ok();
        writer.abort();
        let mut closed = self.database.check().map_err(RecordError::from);
        // If the writer ended for another reason, entries are still pending, and their segments
        // must be kept.
        if closed.is_ok() && drained && self.pending.len() == 0 {
            match self.database.checkpoint().await {
                Ok(true) => self.empty_spool(),
                Ok(false) => {}
                Err(error) => closed = Err(error.into()),
            }
        } else if closed.is_ok() {
            closed = Err(RecordError::Unavailable(
                "the database did not accept all grades in time; they stay in the spool and are \
                 applied at the next start"
                    .to_owned(),
            ));
        }
        self.access.close().await;
        self.database.close().await;
        if let Some(folder) = &self.folder {
            folder.unlock();
        }
        closed
    }

    /// Deletes all segments. Every entry must be in the database, and the database on disk.
    fn empty_spool(&self) {
        let Some(folder) = &self.folder else { return };
        for segment in folder.segments() {
            if let Err(error) = folder.delete(segment.number) {
                tracing::warn!(%error, segment = segment.number, "cannot delete an applied segment \
                    of the spool");
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let tasks = self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(BackgroundTasks {
            appends,
            committer,
            writer,
            retention,
            texts,
        }) = tasks.take()
        else {
            return;
        };
        drop(appends);
        retention.abort();
        if let Some(texts) = texts {
            texts.abort();
        }
        writer.abort();
        // Waits for one write and fdatasync at most; appends that were accepted before are
        // acknowledged.
        join(committer);
        if let Some(folder) = &self.folder {
            folder.unlock();
        }
    }
}

fn join(committer: JoinHandle<()>) {
    if committer.join().is_err() {
        tracing::error!(
            "the spool thread panicked; acknowledged entries are safe, the others are not recorded"
        );
    }
}

/// Runs file operations on a thread for blocking work. A panic in them is resumed here.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

async fn open_folder(path: PathBuf, clock: &dyn Clock) -> Result<Folder, OpenSpoolError> {
    let identity = Ids::random().batch(clock).to_string();
    blocking(move || Folder::open(&path, &identity)).await
}

type Encoded = (Vec<u8>, Digest, Arc<LoadedEntry>);

fn encode(seal: &Seal, mut entry: Arc<Entry>, compression: i32) -> Result<Encoded, RecordError> {
    let unusable = |error: &dyn std::fmt::Display| RecordError::Unavailable(error.to_string());
    let contents = Contents::of(&entry, compression).map_err(|error| unusable(&error))?;
    let frame = frame::encode(seal, &entry, &contents).map_err(|error| unusable(&error))?;
    let digest = Digest::of(&entry, &contents);
    // The contents have them too.
    if let Some(entry) = Arc::get_mut(&mut entry) {
        entry.drop_contents();
    }
    Ok((frame, digest, Arc::new(LoadedEntry::new(entry, contents))))
}

/// Checks what the tables rely on: a grade has the batch, run, step and caller of its entry, and
/// its id follows from its batch and position.
fn check(entry: &Entry) -> Result<(), RecordError> {
    for StoredGrade { source, grade } in entry.grades.iter().map(|grade| &grade.row) {
        let fits = source.batch == entry.batch
            && grade.grade == entry.batch.grade(grade.position)
            && grade.position >> POSITION_BITS == 0
            && source.run == entry.run
            && source.step == entry.step
            && source.caller == entry.caller;
        if !fits {
            return Err(RecordError::Inconsistent(format!(
                "grade `{}` does not belong to batch `{}`: its id, run, step or caller differs",
                grade.grade, entry.batch
            )));
        }
    }
    let positions = entry.grades.iter().map(|grade| grade.row.grade.position);
    let mut positions: Vec<u32> = positions.collect();
    positions.sort_unstable();
    if let Some([twice, _]) = positions.array_windows().find(|[a, b]| a == b) {
        return Err(RecordError::Inconsistent(format!(
            "an entry of batch `{}` contains position {twice} twice; record each position once",
            entry.batch
        )));
    }
    Ok(())
}

fn closed() -> RecordError {
    RecordError::Unavailable("the record is closed because the node is shutting down".to_owned())
}
