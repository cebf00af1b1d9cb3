//! Combines spool, writer and database: opens and closes them in the right order, and checks
//! entries before they are recorded. Reads are in `merge`, writing is in `spool`.

mod reader;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_core::url::redacted;
use assay_core::{BoxFuture, Clock, Ids};
use assay_record::Entry;
use assay_record::access::AuditEntry;
use assay_record::retention::{PruneFilter, PruneProgress};
use assay_record::store::{GradeFilter, Recorder, Retried, SetAside, StoreError};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task;

use crate::database::{Database, DatabaseError};
use crate::health::Health;
use crate::loaded_entry::LoadedEntry;
use crate::merge::Sources;
use crate::metrics;
use crate::options::StoreOptions;
use crate::packs::Contents;
use crate::panics::CatchPanic;
use crate::pending::{Digest, Pending};
use crate::retention::{Retention, RetentionHandle, RetentionParts};
use crate::spool::commit::{self, Append, Journal};
use crate::spool::frame::Seal;
use crate::spool::segment::Folder;
use crate::spool::set_aside::{SetAsideFile, SetAsideFolder, SetAsideNote};
use crate::spool::{OpenSpoolError, frame, recovery};
use crate::sqlite::{Location, POSITION_BITS, Sqlite, SqliteAccess};
use crate::writer::Writer;

/// From this many bytes on, an entry is compressed on a thread for blocking work. Compressing it on
/// a thread of the runtime would block that thread longer than handing the work over takes.
const MIN_BLOCKING_BYTES: usize = 32 << 10;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL, given without its password, is not one of a supported database.
    #[error(
        "unsupported database URL `{0}`; use `sqlite://PATH`, or `sqlite::memory:` to store nothing"
    )]
    UnknownDatabase(String),
    /// The spool cannot be opened.
    #[error(transparent)]
    Spool(#[from] OpenSpoolError),
    /// The database cannot be opened or migrated.
    #[error("cannot open the database `{url}`: {reason}; check its path, permissions and disk")]
    Database {
        /// The URL.
        url: String,
        /// The error of the driver.
        reason: String,
    },
    /// The spool thread cannot be started.
    #[error("cannot start the spool thread: {0}")]
    Thread(std::io::Error),
}

/// The file of the database to which a URL refers, whether it exists or not; `None` if the database
/// is in memory or `url` is not supported.
#[must_use]
pub fn database_file(url: &str) -> Option<PathBuf> {
    Location::parse(url)?.path
}

/// Opens only the keys of callers and the audit log of a database, which a node may be using at the
/// same time. Creates the database if it does not exist.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened or migrated.
pub async fn open_access(url: &str) -> Result<SqliteAccess, OpenError> {
    let location = Location::parse(url).ok_or_else(|| OpenError::UnknownDatabase(redacted(url)))?;
    SqliteAccess::open(&location)
        .await
        .map_err(|error| OpenError::Database {
            url: url.to_owned(),
            reason: error.to_string(),
        })
}

/// Appends an entry to the audit log of an existing database, which a node may be using at the same
/// time. Does not migrate the database, because a node of another release may be using it.
///
/// # Errors
/// [`OpenError`] if the database cannot be written.
pub async fn append_audit(url: &str, entry: &AuditEntry) -> Result<(), OpenError> {
    let location = Location::parse(url).ok_or_else(|| OpenError::UnknownDatabase(redacted(url)))?;
    SqliteAccess::append_to(&location, entry)
        .await
        .map_err(|error| OpenError::Database {
            url: url.to_owned(),
            reason: error.to_string(),
        })
}

/// The record of one node: SQLite behind a spool.
///
/// It must be used in the tokio runtime in which it was opened. If it is dropped without
/// [`close`](Recorder::close), nothing is lost: entries that are not in the database yet stay in
/// the spool for the next start.
pub struct DurableStore {
    database: Arc<dyn Database>,
    access: SqliteAccess,
    pending: Arc<Pending>,
    folder: Option<Arc<Folder>>,
    clock: Arc<dyn Clock>,
    compression: i32,
    /// One permit per core: more threads would not compress faster, and each has a zstd context.
    encoders: Semaphore,
    /// The seal of new frames.
    seal: Seal,
    health: Arc<Health>,
    close_timeout: Duration,
    read_timeout: Duration,
    retention: RetentionHandle,
    /// `None` once the store is closed.
    tasks: Mutex<Option<BackgroundTasks>>,
    draining: watch::Sender<bool>,
    /// Becomes true when no more deletions may begin.
    closing: watch::Sender<bool>,
}

/// What is stopped when the store is closed.
struct BackgroundTasks {
    appends: Sender<Append>,
    committer: JoinHandle<()>,
    writer: task::JoinHandle<()>,
    retention: task::JoinHandle<()>,
}

impl DurableStore {
    /// Opens or creates the spool and the database, migrates the database, and recovers the entries
    /// that an earlier process left in the spool.
    ///
    /// # Errors
    /// [`OpenError`] if another node uses the spool, or if the spool or the database cannot be
    /// used.
    pub async fn open(options: &StoreOptions, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
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
        let open_error = |error: DatabaseError| OpenError::Database {
            url: options.database.clone(),
            reason: error.to_string(),
        };
        let sqlite = Sqlite::open(&location, spool.clone(), options.readers)
            .await
            .map_err(|error| open_error(error.into()))?;
        let access = sqlite.access(&location).await.map_err(open_error)?;
        let database: Arc<dyn Database> = Arc::new(sqlite);
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
        Ok(Self {
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
            read_timeout: options.read_timeout,
            retention: handle,
            tasks: Mutex::new(Some(BackgroundTasks {
                appends,
                committer,
                writer: task::spawn(writer),
                retention: task::spawn(retention),
            })),
            draining,
            closing,
        })
    }

    /// The keys of callers and the audit log, which are in the same database.
    #[must_use]
    pub fn access(&self) -> SqliteAccess {
        self.access.clone()
    }

    /// Number of entries that are recorded but not in the database yet.
    #[must_use]
    pub fn pending_entries(&self) -> usize {
        self.pending.len()
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, Option<BackgroundTasks>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            pending: &self.pending,
            database: self.database.as_ref(),
            timeout: self.read_timeout,
        }
    }

    async fn append(&self, entry: Arc<Entry>) -> Result<(), StoreError> {
        check(&entry)?;
        let bytes: usize = entry.bodies.iter().map(|body| body.content.len()).sum();
        let size = bytes + entry.grades.len() * 512;
        let (compression, seal) = (self.compression, self.seal);
        let (frame, digest, loaded) = if size < MIN_BLOCKING_BYTES {
            encode(&seal, entry, compression)?
        } else {
            // The semaphore is never closed; without a permit the entry would be compressed all the
            // same.
            let _permit = self.encoders.acquire().await.ok();
            task::spawn_blocking(move || encode(&seal, entry, compression))
                .await
                .map_err(|error| StoreError::Unavailable(error.to_string()))??
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
        acknowledged.await.unwrap_or_else(|_| Err(self.refusal()))
    }

    fn refusal(&self) -> StoreError {
        if self.tasks().is_none() {
            closed()
        } else {
            self.health.refusal()
        }
    }

    /// Waits until the entries that are pending now are in the database, so that a prune includes
    /// them.
    async fn wait_applied(&self) -> Result<(), StoreError> {
        tokio::time::timeout(self.read_timeout, self.pending.wait_for_all())
            .await
            .map_err(|_| {
                StoreError::Unavailable(
                    "cannot prune while some grades are not in the database yet; check whether \
                     the database is locked, and retry"
                        .to_owned(),
                )
            })
    }

    /// Checks that grades can be recorded and read.
    async fn check(&self) -> Result<(), StoreError> {
        self.health.check()?;
        if let (Some(_), Some(folder)) = (self.health.append_error(), self.folder.clone()) {
            // A node that is not ready may receive no batches, so that no append would show that
            // the spool works again. It is therefore probed here.
            let tried = blocking(move || folder.probe())
                .await
                .map_err(|error| error.to_string());
            self.health.appended(tried.clone());
            tried.map_err(|error| {
                StoreError::Unavailable(format!(
                    "cannot write to the spool ({error}); free space on its disk or restore its \
                     folder"
                ))
            })?;
        }
        self.database.check()?;
        self.noting_damage(self.probe_reads()).await
    }

    /// Reads a grade and a run, for which pages of several tables and indexes are read.
    async fn probe_reads(&self) -> Result<(), StoreError> {
        let mut snapshot = self.database.snapshot().await?;
        snapshot.grades(&GradeFilter::default(), None, 1).await?;
        snapshot.runs("", 1, &[]).await?;
        Ok(())
    }

    /// Waits for a read. If it fails because the database is damaged, the node is no longer ready.
    async fn noting_damage<T>(
        &self,
        read: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let done = read.await;
        if let Err(StoreError::Damaged(reason)) = &done {
            self.health.database_damaged(reason.clone());
        }
        done
    }

    fn aside(&self) -> Option<SetAsideFolder> {
        self.folder.as_deref().map(SetAsideFolder::of)
    }

    async fn list_set_aside(&self) -> Result<Vec<SetAside>, StoreError> {
        let Some(aside) = self.aside() else {
            return Ok(Vec::new());
        };
        let files = blocking(move || aside.list()).await.map_err(unreadable)?;
        Ok(files.iter().map(set_aside).collect())
    }

    async fn try_set_aside(&self) -> Result<Vec<Retried>, StoreError> {
        let (Some(aside), Some(folder)) = (self.aside(), self.folder.clone()) else {
            return Ok(Vec::new());
        };
        let files = blocking(move || aside.list()).await.map_err(unreadable)?;
        let mut tried = Vec::with_capacity(files.len());
        let mut applied = Vec::new();
        for file in files {
            let described = set_aside(&file);
            let error = self.apply_file(&folder, &file).await.err();
            if error.is_none() {
                applied.push(file);
            }
            tried.push((described, error));
        }
        if !applied.is_empty() && !self.database.checkpoint().await? {
            return Err(StoreError::Unavailable(
                "entries were applied but are not synced to disk yet, because a reader blocks the \
                 checkpoint; run this again"
                    .to_owned(),
            ));
        }
        let remaining = move || {
            let aside = SetAsideFolder::of(&folder);
            applied
                .iter()
                .try_for_each(|file| aside.remove_file(file))?;
            aside.count()
        };
        self.health
            .count_set_aside(blocking(remaining).await.map_err(unreadable)?);
        Ok(tried)
    }

    async fn apply_file(&self, folder: &Folder, file: &SetAsideFile) -> Result<(), String> {
        if file.note.lost {
            return Err(file.note.reason.clone());
        }
        let (aside, path) = (SetAsideFolder::of(folder), file.path.clone());
        let loaded = blocking(move || aside.load(&path))
            .await
            .map_err(|error| error.to_string())?;
        let applied = self
            .database
            .apply_late(Arc::new(loaded), self.clock.unix_us())
            .await;
        applied.map_err(|error| error.to_string())
    }

    async fn close_once(&self) -> Result<(), StoreError> {
        let tasks = self.tasks().take();
        let Some(BackgroundTasks {
            appends,
            committer,
            mut writer,
            mut retention,
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
        drop(appends);
        blocking(move || join(committer)).await;
        self.draining.send_replace(true);
        let drained = tokio::time::timeout(self.close_timeout, &mut writer)
            .await
            .is_ok();
        writer.abort();
        let mut closed = self.database.check().map_err(StoreError::from);
        // If the writer ended for another reason, entries are still pending, and their segments
        // must be kept.
        if closed.is_ok() && drained && self.pending.len() == 0 {
            match self.database.checkpoint().await {
                Ok(true) => self.empty_spool(),
                Ok(false) => {}
                Err(error) => closed = Err(error.into()),
            }
        } else if closed.is_ok() {
            closed = Err(StoreError::Unavailable(
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

impl Drop for DurableStore {
    fn drop(&mut self) {
        let tasks = self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(BackgroundTasks {
            appends,
            committer,
            writer,
            retention,
        }) = tasks.take()
        else {
            return;
        };
        drop(appends);
        retention.abort();
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
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
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

fn encode(seal: &Seal, entry: Arc<Entry>, compression: i32) -> Result<Encoded, StoreError> {
    let unusable = |error: &dyn std::fmt::Display| StoreError::Unavailable(error.to_string());
    let reply = entry.claim.as_ref().and_then(|claim| claim.reply.as_ref());
    let contents =
        Contents::of(&entry.bodies, reply, compression).map_err(|error| unusable(&error))?;
    let frame = frame::encode(seal, &entry, &contents).map_err(|error| unusable(&error))?;
    let digest = Digest::of(&entry, &contents);
    Ok((frame, digest, Arc::new(LoadedEntry::new(entry, contents))))
}

/// Counts the set-aside entries of the store with these options without opening it, because another
/// node may be using it.
///
/// # Errors
/// The error of reading the folder of the spool.
pub fn set_aside_entries(options: &StoreOptions) -> std::io::Result<u64> {
    let location = Location::parse(&options.database);
    let spool = options.spool.clone().or_else(|| location?.spool());
    spool.map_or(Ok(0), |spool| SetAsideFolder::at(&spool).count())
}

fn set_aside(file: &SetAsideFile) -> SetAside {
    let SetAsideNote {
        reason,
        batch,
        grades,
        time_us,
        lost: _,
    } = file.note.clone();
    let batch = batch.and_then(|batch| batch.parse().ok());
    SetAside {
        name: file.name.clone(),
        batch,
        grades,
        bytes: file.bytes,
        reason,
        time_us,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn unreadable(error: std::io::Error) -> StoreError {
    StoreError::Unavailable(format!(
        "cannot read the set-aside entries ({error}); check the folder of the spool"
    ))
}

/// Checks what the tables rely on: a grade has the batch, run, step and caller of its entry, and
/// its id follows from its batch and position.
fn check(entry: &Entry) -> Result<(), StoreError> {
    for grade in &entry.grades {
        let fits = grade.batch == entry.batch
            && grade.grade == entry.batch.grade(grade.position)
            && grade.position >> POSITION_BITS == 0
            && grade.run == entry.run
            && grade.step == entry.step
            && grade.caller == entry.caller;
        if !fits {
            return Err(StoreError::Inconsistent(format!(
                "grade `{}` does not belong to batch `{}`: its id, run, step or caller differs",
                grade.grade, entry.batch
            )));
        }
    }
    let mut positions: Vec<u32> = entry.grades.iter().map(|grade| grade.position).collect();
    positions.sort_unstable();
    if let Some([twice, _]) = positions.array_windows().find(|[a, b]| a == b) {
        return Err(StoreError::Inconsistent(format!(
            "an entry of batch `{}` contains position {twice} twice; record each position once",
            entry.batch
        )));
    }
    Ok(())
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed because the node is shutting down".to_owned())
}

impl Recorder for DurableStore {
    fn record(&self, entry: Arc<Entry>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.append(entry))
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.close_once())
    }

    fn apply_set_aside(&self) -> BoxFuture<'_, Result<Vec<Retried>, StoreError>> {
        Box::pin(self.try_set_aside())
    }

    fn prune(&self, filter: PruneFilter) -> BoxFuture<'_, Result<PruneProgress, StoreError>> {
        Box::pin(async move {
            if self.tasks().is_none() {
                return Err(closed());
            }
            self.wait_applied().await?;
            self.retention.start(filter, self.clock.unix_us())
        })
    }
}
