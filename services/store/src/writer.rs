//! Responsible for bringing recorded entries into the database: in order, many in one transaction,
//! however long the database is away. Answers no request; a recorded entry is durable in the spool
//! and visible through [`Pending`] before it gets here.
//!
//! An entry that the database rejects must not block those after it. After a failure that an entry
//! may have caused, the next transaction has half as many entries, until one entry is alone. If the
//! database rejects that entry [`TRIES`] times but accepts one that is known to be valid, the entry
//! is set aside (see `spool::aside`) and the progress moves past it. Failures of disk, locks and
//! files are retried forever and set nothing aside.
//!
//! A segment is deleted only when the database has said that everything applied so far survives
//! power loss; see [`Database::checkpoint`].

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use assay_core::chart::Counted;
use assay_core::record::{Entry, GradeRecord};
use assay_core::{Clock, Hash};
use tokio::sync::watch;

use crate::database::{Database, DatabaseError};
use crate::health::Health;
use crate::metrics;
use crate::packs::Contents;
use crate::pending::{Item, Pending};
use crate::spool::aside::{Aside, Note};
use crate::spool::frame::{self, Seal};
use crate::spool::segment::{Folder, Position};

/// Most grades of one transaction.
const TRANSACTION_GRADES: u64 = 16_384;

/// Most bytes of frames of one transaction: bounds what is read back into memory at once.
const TRANSACTION_BYTES: u64 = 64 << 20;

/// Below this many grades the writer waits [`LINGER`] for more: a transaction costs as much as
/// inserting some hundred grades, and reads see what waits all the same.
const WORTH_A_TRANSACTION: u64 = 1_024;

const LINGER: Duration = Duration::from_millis(50);

/// Pause after a failed transaction, doubled up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How often an entry is tried alone before it is set aside.
const TRIES: u32 = 3;

/// An entry and its compressed contents, as they are held in memory.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The rows. Bodies and the reply's body may be missing here; they are in `contents`.
    pub(crate) entry: Arc<Entry>,
    pub(crate) contents: Contents,
    /// Bytes of memory, about.
    pub(crate) bytes: usize,
}

impl Loaded {
    pub(crate) fn new(entry: Arc<Entry>, contents: Contents) -> Self {
        let texts = |grade: &GradeRecord| -> usize {
            let json = [
                &grade.components_json,
                &grade.reward_breakdown_json,
                &grade.steps_json,
                &grade.measures_json,
                &grade.evidence_json,
                &grade.error_json,
                &grade.meta_json,
                &grade.checks_json,
            ];
            json.iter()
                .map(|text| text.as_ref().map_or(0, String::len))
                .sum()
        };
        let rows: usize = entry.grades.iter().map(|grade| 768 + texts(grade)).sum();
        let bodies: usize = entry
            .bodies
            .iter()
            .map(|body| body.content.len() + 80)
            .sum();
        let reply = entry
            .claim
            .as_ref()
            .and_then(|claim| claim.reply.as_ref())
            .map_or(0, |reply| reply.body.len());
        let bytes = 512 + rows + bodies + reply + contents.bytes();
        Self {
            entry,
            contents,
            bytes,
        }
    }

    /// Adds `grades`, which are some of the entry's, to what is counted for charts.
    pub(crate) fn count<'g>(
        &self,
        grades: impl IntoIterator<Item = &'g GradeRecord>,
        counted: &mut Counted,
    ) {
        let places = self.contents.packs.iter().flat_map(|pack| &pack.bodies);
        let sizes: HashMap<Hash, u32> = places.map(|body| (body.hash, body.size)).collect();
        for grade in grades {
            counted.push(grade, sizes.get(&grade.completion_hash).copied());
        }
    }

    pub(crate) fn from_frame(seal: &Seal, bytes: &[u8]) -> io::Result<Self> {
        if frame::measure(seal, bytes) != Some(bytes.len()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a frame of the spool is damaged",
            ));
        }
        let (entry, contents) = frame::decode(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Self::new(Arc::new(entry), contents))
    }
}

/// Whether reading a frame back failed because of what is there, not because it could not be read.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

/// The task that applies.
pub(crate) struct Writer {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) pending: Arc<Pending>,
    pub(crate) health: Arc<Health>,
    /// `None` where nothing is spooled to files.
    pub(crate) folder: Option<Arc<Folder>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Turns true once nothing more will be recorded.
    pub(crate) draining: watch::Receiver<bool>,
    /// How far the database is.
    pub(crate) progress: Position,
    /// Start positions of entries that were set aside and are retried, because the database lost
    /// the progress past them.
    pub(crate) retried: BTreeSet<Position>,
}

/// The state of the search for a rejected entry.
struct Search {
    /// Most entries of the next transaction.
    most: usize,
    /// How often the oldest entry was rejected when applied alone.
    refusals: u32,
}

impl Search {
    const NONE: Self = Self {
        most: usize::MAX,
        refusals: 0,
    };
}

/// What to do after a failed transaction.
enum Next {
    /// Retry immediately.
    Again,
    /// Retry after a pause.
    Pause,
    /// Stop: the store is closing and there is no database to wait for.
    End,
}

impl Writer {
    /// Applies until draining has begun and nothing waits, or what waits has no database to go to.
    /// On the way out, all segments that are no longer needed are gone.
    pub(crate) async fn run(mut self) {
        self.release().await;
        let mut pause = FIRST_PAUSE;
        let mut reported = None;
        let mut search = Search::NONE;
        loop {
            let items = self.pending.oldest(TRANSACTION_GRADES, TRANSACTION_BYTES);
            if items.is_empty() {
                if *self.draining.borrow() {
                    break;
                }
                tokio::select! {
                    () = self.pending.arrived() => {}
                    _ = self.draining.changed() => {}
                }
                continue;
            }
            let grades: u64 = items.iter().map(|item| item.digest.totals.grades).sum();
            if grades < WORTH_A_TRANSACTION && search.most == usize::MAX && !*self.draining.borrow()
            {
                tokio::select! {
                    () = tokio::time::sleep(LINGER) => {}
                    _ = self.draining.changed() => {}
                }
            }
            let mut items = self.pending.oldest(TRANSACTION_GRADES, TRANSACTION_BYTES);
            items.truncate(search.most);
            match self.apply(&items).await {
                Ok(()) => {
                    self.health.applied(Ok(()));
                    pause = FIRST_PAUSE;
                    reported = None;
                    search = Search {
                        most: search.most.saturating_mul(2),
                        refusals: 0,
                    };
                    self.release().await;
                }
                Err(error) => {
                    metrics::apply_failed();
                    match self.failed(error, &items, &mut search, &mut reported).await {
                        Next::Again => continue,
                        Next::End => break,
                        Next::Pause => {}
                    }
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        _ = self.draining.changed() => {}
                    }
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
        self.release().await;
    }

    /// Decides what to do after a failed transaction of these items.
    async fn failed(
        &mut self,
        mut error: DatabaseError,
        items: &[Arc<Item>],
        search: &mut Search,
        reported: &mut Option<String>,
    ) -> Next {
        if error.may_lie_in_entry() {
            if items.len() > 1 {
                search.most = items.len() / 2;
                return Next::Again;
            }
            search.refusals += 1;
            if search.refusals >= TRIES
                && let [item] = items
            {
                match self.set_aside(item, &error).await {
                    Ok(()) => {
                        *search = Search::NONE;
                        return Next::Again;
                    }
                    // The entry is not the cause, or not the only one.
                    Err(other) => error = other,
                }
            }
        }
        let found = error.to_string();
        self.health.applied(Err(found.clone()));
        if matches!(error, DatabaseError::Replaced { .. }) {
            // Lasts until an operator acts: logged once for each change, not for each retry.
            if reported.as_ref() != Some(&found) {
                tracing::error!(%error, "grades cannot be applied and stay in the spool");
                *reported = Some(found);
            }
            if *self.draining.borrow() {
                return Next::End;
            }
        } else {
            tracing::warn!(%error, entries = items.len(), "the database rejects grades; they stay \
                in the spool and are retried");
        }
        Next::Pause
    }

    async fn apply(&mut self, items: &[Arc<Item>]) -> Result<(), DatabaseError> {
        let mut entries = Vec::with_capacity(items.len());
        for item in items {
            match item.load().await {
                Ok(loaded) => entries.push((item.end, loaded)),
                // Failures of the disk are retried.
                Err(error) if !is_damage(&error) => return Err(DatabaseError::Spool(error)),
                Err(error) if entries.is_empty() => return Err(DatabaseError::Damaged(error)),
                // Apply the entries before it first.
                Err(_) => break,
            }
        }
        let Some((last, _)) = entries.last() else {
            return Ok(());
        };
        let last = *last;
        let started = self.clock.monotonic();
        self.database
            .apply(&entries, last, self.clock.unix_us())
            .await?;
        metrics::applied(
            self.clock.monotonic().saturating_sub(started),
            entries.len(),
        );
        let applied = items
            .iter()
            .take(entries.len())
            .filter(|item| self.retried.contains(&item.start));
        let applied: Vec<Position> = applied.map(|item| item.start).collect();
        for start in applied {
            self.forget_aside(start).await;
        }
        self.pass(last);
        Ok(())
    }

    fn pass(&mut self, progress: Position) {
        self.progress = progress;
        self.pending.forget_through(progress);
    }

    /// Sets aside an entry that cannot be applied, and moves past it. Fails if the database rejects
    /// a valid entry as well.
    async fn set_aside(
        &mut self,
        item: &Arc<Item>,
        error: &DatabaseError,
    ) -> Result<(), DatabaseError> {
        self.database.probe(self.clock.unix_us()).await?;
        let (batch, grades) = (item.digest.batch, item.digest.totals.grades);
        let note = Note {
            reason: error.to_string(),
            batch: Some(batch.to_string()),
            grades,
            time_us: self.clock.unix_us(),
        };
        let kept = match self.folder.clone() {
            Some(folder) => {
                let item = item.clone();
                let keep = move || {
                    let frame = match item.frame() {
                        // If the segment was truncated, only the note can be kept.
                        Err(error) if is_damage(&error) => Vec::new(),
                        frame => frame?,
                    };
                    let aside = Aside::of(&folder);
                    aside.keep(item.start, &note, &frame)?;
                    aside.count()
                };
                let done = tokio::task::spawn_blocking(keep).await;
                done.unwrap_or_else(|error| Err(io::Error::other(error)))
                    .map_err(DatabaseError::Aside)?
            }
            // A record in memory ends with the process in any case.
            None => self.health.set_aside() + 1,
        };
        self.database
            .apply(&[], item.end, self.clock.unix_us())
            .await?;
        tracing::error!(
            %error,
            %batch,
            grades,
            "the database rejected an entry, which was set aside; run `assay record set-aside` to \
             list or apply it"
        );
        self.health.count_set_aside(kept);
        self.pass(item.end);
        Ok(())
    }

    /// Removes the copy of an entry that was applied after all.
    async fn forget_aside(&mut self, start: Position) {
        self.retried.remove(&start);
        let Some(folder) = self.folder.clone() else {
            return;
        };
        let forget = move || {
            let aside = Aside::of(&folder);
            aside.forget(start)?;
            aside.count()
        };
        match tokio::task::spawn_blocking(forget)
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
        {
            Ok(left) => self.health.count_set_aside(left),
            // If an operator applies it again, nothing changes.
            Err(error) => tracing::warn!(%error, "cannot remove the copy of an applied entry"),
        }
    }

    /// Deletes the segments that the database no longer needs, once it has made itself independent
    /// of them.
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
                        tracing::warn!(%error, segment = number, "an applied segment of the spool \
                            cannot be deleted");
                    }
                }
            }
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%error, "the database cannot be checkpointed: applied segments \
                                        stay");
            }
        }
    }
}
