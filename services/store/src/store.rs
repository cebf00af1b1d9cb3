//! Responsible for putting spool, writer and database together, for opening and closing them in the
//! right order, and for what an entry must look like to be taken. Reads are `merge`'s, writing is
//! the spool's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_core::channel::{Adjudication, ChannelCounts, Draw};
use assay_core::chart::Steps;
use assay_core::check::DatasetCheck;
use assay_core::pair::{KnownPairs, PairPage};
use assay_core::record::{Body, Claim, Entry, GradeRecord, RequestKey};
use assay_core::rollup::Rollups;
use assay_core::store::{
    GradeFilter, GradePage, Reader, RecordState, Recorder, Retried, RunSummary, SetAside,
    StoreError,
};
use assay_core::{BatchId, BoxFuture, Clock, GradeId, Hash, Ids, Visit};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task;

use crate::database::{Database, DatabaseError};
use crate::health::Health;
use crate::merge::Sources;
use crate::options::StoreOptions;
use crate::packs::Contents;
use crate::panics::CatchPanic;
use crate::pending::{Digest, Pending};
use crate::spool::aside::{Aside, AsideFile, Note};
use crate::spool::commit::{self, Append, Journal};
use crate::spool::frame::Seal;
use crate::spool::segment::Folder;
use crate::spool::{OpenSpoolError, frame, recovery};
use crate::sqlite::{Location, POSITION_BITS, Sqlite};
use crate::writer::{Loaded, Writer};
use crate::{CLAIM_LIFETIME_US, metrics};

/// From this many bytes on, an entry is compressed on a thread for blocking work: a runtime's
/// thread would be held up for longer than handing the work over costs.
const WORTH_A_THREAD: usize = 32 << 10;

/// A store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL names no database this store knows.
    #[error(
        "not a database this node can open: `{0}`; write `sqlite://PATH`, or `sqlite::memory:` to \
         keep nothing"
    )]
    UnknownDatabase(String),
    /// The spool cannot be opened.
    #[error(transparent)]
    Spool(#[from] OpenSpoolError),
    /// The database cannot be opened or migrated.
    #[error(
        "the database `{url}` cannot be opened: {reason}; check its path, its rights and its disk"
    )]
    Database {
        /// The URL.
        url: String,
        /// What the driver said.
        reason: String,
    },
    /// The thread of the spool cannot be started.
    #[error("the thread of the spool cannot be started: {0}")]
    Thread(std::io::Error),
}

/// The record of one node: SQLite behind a spool.
///
/// It lives within the tokio runtime it was opened in. Dropped without [`close`](Recorder::close)
/// it loses nothing: what the database does not have yet stays in the spool for the next start.
pub struct DurableStore {
    database: Arc<dyn Database>,
    pending: Arc<Pending>,
    folder: Option<Arc<Folder>>,
    clock: Arc<dyn Clock>,
    compression: i32,
    /// One for each core: more threads would compress no faster and hold a context of zstd each.
    encoders: Semaphore,
    /// The seal of new frames.
    seal: Seal,
    health: Arc<Health>,
    close_timeout: Duration,
    read_timeout: Duration,
    closed: AtomicBool,
    running: Mutex<Running>,
    draining: watch::Sender<bool>,
}

/// What stops when the store does.
struct Running {
    appends: Option<Sender<Append>>,
    committer: Option<JoinHandle<()>>,
    writer: Option<task::JoinHandle<()>>,
}

impl DurableStore {
    /// Opens or creates the spool and the database, migrates the database and takes up what an
    /// earlier run left in the spool.
    ///
    /// # Errors
    /// [`OpenError`] if another node uses the spool, or the spool or the database cannot be used.
    pub async fn open(options: &StoreOptions, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        metrics::describe();
        let location = Location::parse(&options.database)
            .ok_or_else(|| OpenError::UnknownDatabase(options.database.clone()))?;
        // The spool's lock comes first: it also keeps two nodes from migrating one database at
        // once.
        let folder = match options.spool.clone().or_else(|| location.spool()) {
            Some(path) => Some(Arc::new(open_folder(path, clock.as_ref()).await?)),
            None => None,
        };
        let spool = folder.as_ref().map_or_else(
            || "memory".to_owned(),
            |folder| folder.identity.name.clone(),
        );
        let seal = folder.as_ref().map_or(Seal::PLAIN, |folder| folder.seal());
        let unopened = |error: DatabaseError| OpenError::Database {
            url: options.database.clone(),
            reason: error.to_string(),
        };
        let sqlite = Sqlite::open(&location, spool, options.readers)
            .await
            .map_err(|error| unopened(error.into()))?;
        let database: Arc<dyn Database> = Arc::new(sqlite);
        let progress = database.progress().await.map_err(unopened)?;

        let pending = Arc::new(Pending::new(options.pending_bytes));
        let health = Arc::new(Health::default());
        health.appended(Ok(()));
        health.applied(Ok(()));
        let mut first_segment = progress.segment + 1;
        let mut retried = BTreeSet::new();
        let journal = match &folder {
            Some(folder) => {
                let last = folder.segments().last().map_or(0, |last| last.number);
                first_segment = first_segment.max(last + 1);
                let (folder_of_scan, waiting, now_us) =
                    (folder.clone(), pending.clone(), clock.unix_us());
                let scan = move || {
                    let replayed = recovery::recover(&folder_of_scan, progress, &waiting, now_us)?;
                    let aside = Aside::of(&folder_of_scan);
                    let io = |source| OpenSpoolError::Io {
                        path: folder_of_scan.path.clone(),
                        source,
                    };
                    let counted = (
                        aside.count().map_err(io)?,
                        aside.starts_from(progress).map_err(io)?,
                    );
                    Ok::<_, OpenSpoolError>((replayed, counted))
                };
                let (replayed, (set_aside, starts)) = blocking(scan).await?;
                health.count_set_aside(set_aside);
                retried = starts;
                if set_aside > 0 {
                    tracing::warn!(
                        entries = set_aside,
                        "entries are set aside; run `assay record set-aside` to list them"
                    );
                }
                tracing::info!(spool = %folder.identity.name, entries = replayed, "opened the spool; its entries are applied to the database now");
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
        let watched = health.clone();
        let writer = async move {
            if let Err(reason) = CatchPanic::new(writer.run()).await {
                watched.writer_ended(reason);
            }
        };
        Ok(Self {
            database,
            pending,
            folder,
            clock,
            compression: options.compression,
            encoders: Semaphore::new(std::thread::available_parallelism().map_or(2, usize::from)),
            seal,
            health,
            close_timeout: options.close_timeout,
            read_timeout: options.read_timeout,
            closed: AtomicBool::new(false),
            running: Mutex::new(Running {
                appends: Some(appends),
                committer: Some(committer),
                writer: Some(task::spawn(writer)),
            }),
            draining,
        })
    }

    /// Entries that are recorded and not in the database yet.
    #[must_use]
    pub fn pending_entries(&self) -> usize {
        self.pending.len()
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (frame, digest, loaded) = if size < WORTH_A_THREAD {
            encode(&seal, entry, compression)?
        } else {
            // The semaphore is never closed; without a permit the entry is compressed all the same.
            let _permit = self.encoders.acquire().await.ok();
            task::spawn_blocking(move || encode(&seal, entry, compression))
                .await
                .map_err(|error| StoreError::Unavailable(error.to_string()))??
        };
        let (answer, answered) = oneshot::channel();
        let append = Append {
            frame,
            digest,
            loaded,
            answer,
        };
        let taken = match &self.running().appends {
            Some(appends) => appends.send(append).is_ok(),
            None => false,
        };
        if !taken {
            return Err(self.refusal());
        }
        answered.await.unwrap_or_else(|_| Err(self.refusal()))
    }

    fn refusal(&self) -> StoreError {
        if self.closed.load(Ordering::Acquire) {
            closed()
        } else {
            self.health.refusal()
        }
    }

    /// Checks that grades can be recorded and read.
    async fn check(&self) -> Result<(), StoreError> {
        self.health.check()?;
        if let (Some(_), Some(folder)) = (self.health.append_error(), self.folder.clone()) {
            // While the node is not ready it may receive no batches, so no append would reveal that
            // the spool works again.
            let tried = blocking(move || folder.probe())
                .await
                .map_err(|error| error.to_string());
            self.health.appended(tried.clone());
            tried.map_err(|error| {
                StoreError::Unavailable(format!(
                    "the spool cannot be written ({error}); free space on its disk or restore its \
                     folder"
                ))
            })?;
        }
        self.database.check()?;
        self.database.snapshot().await?;
        Ok(())
    }

    fn aside(&self) -> Option<Aside> {
        self.folder.as_deref().map(Aside::of)
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
        let left = move || {
            let aside = Aside::of(&folder);
            applied
                .iter()
                .try_for_each(|file| aside.remove_file(file))?;
            aside.count()
        };
        self.health
            .count_set_aside(blocking(left).await.map_err(unreadable)?);
        Ok(tried)
    }

    async fn apply_file(&self, folder: &Folder, file: &AsideFile) -> Result<(), String> {
        let (aside, path) = (Aside::of(folder), file.path.clone());
        let loaded = blocking(move || aside.load(&path))
            .await
            .map_err(|error| error.to_string())?;
        let applied = self
            .database
            .apply_late(Arc::new(loaded), self.clock.unix_us())
            .await;
        applied.map_err(|error| error.to_string())
    }

    async fn shut(&self) -> Result<(), StoreError> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let (appends, committer, writer) = {
            let mut running = self.running();
            (
                running.appends.take(),
                running.committer.take(),
                running.writer.take(),
            )
        };
        drop(appends);
        if let Some(committer) = committer {
            blocking(move || join(committer)).await;
        }
        self.draining.send_replace(true);
        let drained = match writer {
            Some(mut writer) => {
                let drained = tokio::time::timeout(self.close_timeout, &mut writer)
                    .await
                    .is_ok();
                writer.abort();
                drained
            }
            None => true,
        };
        let mut closed = self.database.check().map_err(StoreError::from);
        // A writer that ended for another reason than having nothing left must not cost the
        // segments of what it left.
        if closed.is_ok() && drained && self.pending.len() == 0 {
            match self.database.checkpoint().await {
                Ok(true) => self.empty_spool(),
                Ok(false) => {}
                Err(error) => closed = Err(error.into()),
            }
        } else if closed.is_ok() {
            closed = Err(StoreError::Unavailable(
                "the database did not take all grades in time: they are in the spool and follow \
                 at the next start"
                    .to_owned(),
            ));
        }
        self.database.close().await;
        if let Some(folder) = &self.folder {
            folder.unlock();
        }
        closed
    }

    /// Every entry is in the database, and the database on the disk.
    fn empty_spool(&self) {
        let Some(folder) = &self.folder else { return };
        for segment in folder.segments() {
            if let Err(error) = folder.delete(segment.number) {
                tracing::warn!(%error, segment = segment.number, "an applied segment of the spool \
                    cannot be deleted");
            }
        }
    }
}

impl Drop for DurableStore {
    fn drop(&mut self) {
        let running = self
            .running
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        running.appends = None;
        if let Some(writer) = running.writer.take() {
            writer.abort();
        }
        // Waits for one write and fdatasync at most: what was handed over before is still answered.
        if let Some(committer) = running.committer.take() {
            join(committer);
        }
        if let Some(folder) = &self.folder
            && !*self.closed.get_mut()
        {
            folder.unlock();
        }
    }
}

fn join(committer: JoinHandle<()>) {
    if committer.join().is_err() {
        tracing::error!(
            "the thread of the spool panicked: what it had answered is safe, the rest was not \
             recorded"
        );
    }
}

/// Runs file work where it may block. A panic in it goes on here.
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

type Encoded = (Vec<u8>, Digest, Arc<Loaded>);

fn encode(seal: &Seal, entry: Arc<Entry>, compression: i32) -> Result<Encoded, StoreError> {
    let unusable = |error: &dyn std::fmt::Display| StoreError::Unavailable(error.to_string());
    let reply = entry.claim.as_ref().and_then(|claim| claim.reply.as_ref());
    let contents =
        Contents::of(&entry.bodies, reply, compression).map_err(|error| unusable(&error))?;
    let frame = frame::encode(seal, &entry, &contents).map_err(|error| unusable(&error))?;
    let digest = Digest::of(&entry, &contents);
    Ok((frame, digest, Arc::new(Loaded::new(entry, contents))))
}

/// Counts the entries that the database with these options rejected, without opening it: another
/// node may use it.
///
/// # Errors
/// What the system said of the spool's folder.
pub fn set_aside_entries(options: &StoreOptions) -> std::io::Result<u64> {
    let location = Location::parse(&options.database);
    let spool = options.spool.clone().or_else(|| location?.spool());
    spool.map_or(Ok(0), |spool| Aside::at(&spool).count())
}

fn set_aside(file: &AsideFile) -> SetAside {
    let Note {
        reason,
        batch,
        grades,
        time_us,
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
        "cannot read the entries set aside ({error}); check the spool's folder"
    ))
}

/// What the tables rely on: a grade's batch, run, step and caller are its entry's, and its id
/// follows from its batch and position.
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
                "grade `{}` does not fit batch `{}`: its id, run, step and caller follow from the \
                 batch",
                grade.grade, entry.batch
            )));
        }
    }
    let mut positions: Vec<u32> = entry.grades.iter().map(|grade| grade.position).collect();
    positions.sort_unstable();
    if let Some([twice, _]) = positions.array_windows().find(|[a, b]| a == b) {
        return Err(StoreError::Inconsistent(format!(
            "position {twice} stands twice in one entry of batch `{}`: record it once",
            entry.batch
        )));
    }
    Ok(())
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed: the node is shutting down".to_owned())
}

impl Recorder for DurableStore {
    fn record(&self, entry: Arc<Entry>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.append(entry))
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.shut())
    }

    fn apply_set_aside(&self) -> BoxFuture<'_, Result<Vec<Retried>, StoreError>> {
        Box::pin(self.try_set_aside())
    }
}

impl Reader for DurableStore {
    fn grade(&self, id: GradeId) -> BoxFuture<'_, Result<Option<GradeRecord>, StoreError>> {
        Box::pin(async move { self.sources().grade(id).await })
    }

    fn grades<'a>(
        &'a self,
        filter: &'a GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> BoxFuture<'a, Result<GradePage, StoreError>> {
        Box::pin(async move { self.sources().grades(filter, before, limit).await })
    }

    fn runs(&self, limit: u32) -> BoxFuture<'_, Result<Vec<RunSummary>, StoreError>> {
        Box::pin(async move { self.sources().runs(limit).await })
    }

    fn run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<RunSummary>, StoreError>> {
        Box::pin(async move { self.sources().run(run).await })
    }

    fn run_steps<'a>(
        &'a self,
        run: &'a str,
        width: i64,
    ) -> BoxFuture<'a, Result<Steps, StoreError>> {
        Box::pin(async move { self.sources().run_steps(run, width.max(1)).await })
    }

    fn run_series<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Rollups, StoreError>> {
        Box::pin(async move { self.sources().run_series(run).await })
    }

    fn body(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Body>, StoreError>> {
        Box::pin(async move { self.sources().body(hash).await })
    }

    fn claim<'a>(
        &'a self,
        key: &'a RequestKey,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>> {
        Box::pin(async move {
            let oldest = self.clock.unix_us().saturating_sub(CLAIM_LIFETIME_US);
            let claim = self.sources().claim(key).await?;
            Ok(claim.filter(|claim| claim.time_us > oldest))
        })
    }

    fn channels(&self) -> BoxFuture<'_, Result<ChannelCounts, StoreError>> {
        Box::pin(async move { self.sources().channels().await })
    }

    fn visits<'a>(
        &'a self,
        run: &'a str,
        prompts: Option<&'a [String]>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, Vec<Visit>>, StoreError>> {
        Box::pin(async move { self.sources().visits(run, prompts).await })
    }

    fn adjudications(
        &self,
        grade: GradeId,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>> {
        Box::pin(async move { self.sources().adjudications(grade).await })
    }

    fn last_adjudications(
        &self,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Adjudication>, StoreError>> {
        Box::pin(async move { self.sources().last_adjudications(limit).await })
    }

    fn draws<'a>(&'a self, grades: &'a [GradeId]) -> BoxFuture<'a, Result<Vec<Draw>, StoreError>> {
        Box::pin(async move { self.sources().draws(grades).await })
    }

    fn known_pairs<'a>(
        &'a self,
        model: &'a str,
        pairs: &'a [Hash],
    ) -> BoxFuture<'a, Result<KnownPairs, StoreError>> {
        Box::pin(async move { self.sources().known_pairs(model, pairs).await })
    }

    fn pairs<'a>(
        &'a self,
        model: &'a str,
        after: u64,
        limit: u32,
    ) -> BoxFuture<'a, Result<PairPage, StoreError>> {
        Box::pin(async move { self.sources().pairs(model, after, limit).await })
    }

    fn dataset_checks(
        &self,
        before: Option<BatchId>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<DatasetCheck>, StoreError>> {
        Box::pin(async move { self.sources().dataset_checks(before, limit).await })
    }

    fn dataset_check(
        &self,
        id: BatchId,
    ) -> BoxFuture<'_, Result<Option<DatasetCheck>, StoreError>> {
        Box::pin(async move { self.sources().dataset_check(id).await })
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.check())
    }

    fn state(&self) -> RecordState {
        RecordState {
            pending: self.pending.len() as u64,
            set_aside: self.health.set_aside(),
            apply_error: self.health.apply_error(),
        }
    }

    fn set_aside(&self) -> BoxFuture<'_, Result<Vec<SetAside>, StoreError>> {
        Box::pin(self.list_set_aside())
    }
}
