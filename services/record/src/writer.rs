//! Applies recorded entries to the database, in order and many per transaction, and retries for as
//! long as the database is unavailable. An entry is durable in the spool before it gets here,
//! and reads wait for it.
//!
//! An entry that the database rejects must not block the ones after it. After a failure that an
//! entry may have caused, the next transaction has half as many entries, until it has only one. If
//! the database rejects that entry [`MAX_TRIES`] times but accepts one that is known to be valid,
//! the entry is set aside (see `spool::set_aside`) and the progress moves past it. Failures of
//! disk, locks and files are retried forever, and nothing is set aside for them.
//!
//! A segment is deleted only when the database has confirmed that everything applied so far
//! survives a power loss; see [`Database::checkpoint`].

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use assay_core::Clock;
use tokio::sync::watch;

use crate::database::{Database, DatabaseError, damage_message};
use crate::health::Health;
use crate::metrics;
use crate::pending::{Pending, PendingEntry};
use crate::spool::Position;
use crate::spool::segment::Folder;
use crate::spool::set_aside::{SetAsideFolder, SetAsideNote};

/// Most grades of one transaction.
const TRANSACTION_GRADES: u64 = 16_384;

/// Most bytes of frames of one transaction; limits what is read back into memory at once.
const TRANSACTION_BYTES: u64 = 64 << 20;

/// With fewer grades, the writer waits [`LINGER`] for more, unless a read waits for it: a
/// transaction costs as much as inserting some hundred grades.
const MIN_GRADES: u64 = 1_024;

/// How long the writer waits for more grades.
const LINGER: Duration = Duration::from_millis(50);

/// Pause after a failed transaction; doubled with every failure up to the maximum.
const MIN_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// How often a single entry is tried before it is set aside.
const MAX_TRIES: u32 = 3;

/// Whether a frame could be read but is damaged.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

/// The task that applies entries to the database.
pub(crate) struct Writer {
    pub(crate) database: Arc<Database>,
    pub(crate) pending: Arc<Pending>,
    pub(crate) health: Arc<Health>,
    /// `None` without a spool.
    pub(crate) folder: Option<Arc<Folder>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Becomes true once nothing more will be recorded.
    pub(crate) draining: watch::Receiver<bool>,
    /// The progress in the database.
    pub(crate) progress: Position,
    /// Start positions of entries that were set aside and are retried, because the database lost
    /// the progress past them.
    pub(crate) retried: BTreeSet<Position>,
}

/// State of the bisection that finds a rejected entry.
struct Bisection {
    /// Most entries of the next transaction.
    max_entries: usize,
    /// How often the oldest entry was rejected when applied alone.
    rejections: u32,
}

impl Bisection {
    const NONE: Self = Self {
        max_entries: usize::MAX,
        rejections: 0,
    };
}

/// What to do after a failed transaction.
enum AfterFailure {
    /// Retry immediately.
    Again,
    /// Retry after a pause.
    Pause,
    /// Stop: the record is closing, and the database is not at its path.
    End,
}

impl Writer {
    /// Applies entries until draining has begun and none is pending, or until the pending ones
    /// cannot be applied because the database was replaced. Also deletes the segments that are no
    /// longer needed.
    pub(crate) async fn run(mut self) {
        self.release().await;
        let mut pause = MIN_PAUSE;
        let mut reported = None;
        let mut bisection = Bisection::NONE;
        loop {
            let entries = self.pending.oldest(TRANSACTION_GRADES, TRANSACTION_BYTES);
            if entries.is_empty() {
                if *self.draining.borrow() {
                    break;
                }
                tokio::select! {
                    () = self.pending.arrived() => {}
                    _ = self.draining.changed() => {}
                }
                continue;
            }
            let grades: u64 = entries.iter().map(|entry| entry.digest.grades).sum();
            if grades < MIN_GRADES
                && bisection.max_entries == usize::MAX
                && !*self.draining.borrow()
            {
                tokio::select! {
                    () = tokio::time::sleep(LINGER) => {}
                    () = self.pending.awaited() => {}
                    _ = self.draining.changed() => {}
                }
            }
            let mut entries = self.pending.oldest(TRANSACTION_GRADES, TRANSACTION_BYTES);
            entries.truncate(bisection.max_entries);
            match self.apply(&entries).await {
                Ok(()) => {
                    self.health.applied(Ok(()));
                    pause = MIN_PAUSE;
                    reported = None;
                    bisection = Bisection {
                        max_entries: bisection.max_entries.saturating_mul(2),
                        rejections: 0,
                    };
                    self.release().await;
                }
                Err(error) => {
                    metrics::apply_failed();
                    match self
                        .failed(error, &entries, &mut bisection, &mut reported)
                        .await
                    {
                        AfterFailure::Again => continue,
                        AfterFailure::End => break,
                        AfterFailure::Pause => {}
                    }
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        _ = self.draining.changed() => {}
                    }
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
        self.release().await;
    }

    /// Decides what to do after a failed transaction of these items.
    async fn failed(
        &mut self,
        mut error: DatabaseError,
        entries: &[Arc<PendingEntry>],
        bisection: &mut Bisection,
        reported: &mut Option<String>,
    ) -> AfterFailure {
        if error.may_be_caused_by_entry() {
            if entries.len() > 1 {
                bisection.max_entries = entries.len() / 2;
                return AfterFailure::Again;
            }
            bisection.rejections += 1;
            if bisection.rejections >= MAX_TRIES
                && let [entry] = entries
            {
                match self.set_aside(entry, &error).await {
                    Ok(()) => {
                        *bisection = Bisection::NONE;
                        return AfterFailure::Again;
                    }
                    // The entry is not the cause, or not the only one.
                    Err(other) => error = other,
                }
            }
        }
        if error.is_damage() {
            self.health.database_damaged(damage_message(&error));
        }
        let message = error.to_string();
        self.health.applied(Err(message.clone()));
        if matches!(error, DatabaseError::Replaced { .. }) {
            // This error persists until an operator acts, so it is logged once and not at every
            // retry.
            if reported.as_ref() != Some(&message) {
                tracing::error!(%error, "cannot apply grades; they stay in the spool");
                *reported = Some(message);
            }
            if *self.draining.borrow() {
                return AfterFailure::End;
            }
        } else {
            tracing::warn!(%error, entries = entries.len(), "cannot apply grades; they stay in the \
                spool and are retried");
        }
        AfterFailure::Pause
    }

    async fn apply(&mut self, entries: &[Arc<PendingEntry>]) -> Result<(), DatabaseError> {
        let mut applicable = Vec::with_capacity(entries.len());
        for entry in entries {
            match entry.load().await {
                Ok(loaded) => applicable.push((entry.end, loaded)),
                // Disk errors are retried.
                Err(error) if !is_damage(&error) => return Err(DatabaseError::Spool(error)),
                Err(error) if applicable.is_empty() => return Err(DatabaseError::Damaged(error)),
                // Apply the entries before it first.
                Err(_) => break,
            }
        }
        let Some((last, _)) = applicable.last() else {
            return Ok(());
        };
        let last = *last;
        let started = self.clock.monotonic();
        self.database
            .apply(&applicable, last, self.clock.unix_us())
            .await?;
        metrics::applied(
            self.clock.monotonic().saturating_sub(started),
            applicable.len(),
        );
        let applied = entries
            .iter()
            .take(applicable.len())
            .filter(|entry| self.retried.contains(&entry.start));
        let applied: Vec<Position> = applied.map(|entry| entry.start).collect();
        for start in applied {
            self.remove_copy(start).await;
        }
        self.advance(last);
        Ok(())
    }

    fn advance(&mut self, progress: Position) {
        self.progress = progress;
        self.pending.remove_applied(progress);
    }

    /// Sets aside an entry that cannot be applied, and moves the progress past it. Fails if the
    /// database also rejects a valid entry.
    async fn set_aside(
        &mut self,
        entry: &Arc<PendingEntry>,
        error: &DatabaseError,
    ) -> Result<(), DatabaseError> {
        self.database.probe(self.clock.unix_us()).await?;
        let (batch, grades) = (entry.digest.batch, entry.digest.grades);
        let note = SetAsideNote {
            reason: error.to_string(),
            batch: Some(batch.to_string()),
            grades,
            time_us: self.clock.unix_us(),
            lost: false,
        };
        let set_aside = match self.folder.clone() {
            Some(folder) => {
                let entry = entry.clone();
                let copy = move || {
                    let frame = match entry.frame() {
                        // If the segment was truncated, only the note can be kept.
                        Err(error) if is_damage(&error) => Vec::new(),
                        frame => frame?,
                    };
                    let aside = SetAsideFolder::of(&folder);
                    aside.insert(entry.start, &note, &frame)?;
                    aside.count()
                };
                let done = tokio::task::spawn_blocking(copy).await;
                done.unwrap_or_else(|error| Err(io::Error::other(error)))
                    .map_err(DatabaseError::SetAside)?
            }
            // A record in memory is lost with the process in any case.
            None => self.health.set_aside() + 1,
        };
        self.database
            .apply(&[], entry.end, self.clock.unix_us())
            .await?;
        tracing::error!(
            %error,
            %batch,
            grades,
            "the database rejected an entry, which was set aside; run `assay record set-aside` to \
             list or apply it"
        );
        self.health.count_set_aside(set_aside);
        self.advance(entry.end);
        Ok(())
    }

    /// Removes the copy of an entry that was set aside and is now applied.
    async fn remove_copy(&mut self, start: Position) {
        self.retried.remove(&start);
        let Some(folder) = self.folder.clone() else {
            return;
        };
        let remove = move || {
            let aside = SetAsideFolder::of(&folder);
            aside.remove(start)?;
            aside.count()
        };
        match tokio::task::spawn_blocking(remove)
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
        {
            Ok(left) => self.health.count_set_aside(left),
            // If an operator applies the copy again, nothing changes.
            Err(error) => tracing::warn!(%error, "cannot remove the copy of an applied entry"),
        }
    }

    /// Deletes the segments that the database no longer needs, after a checkpoint.
    async fn release(&self) {
        let Some(folder) = &self.folder else {
            return;
        };
        let done: Vec<u64> = folder
            .segments()
            .iter()
            .map(|segment| segment.number)
            .filter(|number| *number < self.progress.segment)
            .collect();
        metrics::spool_segments(folder.segments().len());
        if done.is_empty() {
            return;
        }
        match self.database.checkpoint().await {
            Ok(true) => {
                for number in done {
                    if let Err(error) = folder.delete(number) {
                        tracing::warn!(%error, segment = number, "cannot delete an applied segment \
                            of the spool");
                    }
                }
            }
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot checkpoint the database; keeping applied segments");
            }
        }
    }
}
