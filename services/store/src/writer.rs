//! Responsible for bringing recorded entries into the database: in order, many in one transaction, however long the database is away.
//! Answers no request; a recorded entry is durable in the spool and visible through [`Pending`] before it gets here.
//!
//! A segment is deleted only when the database has said that everything applied so far survives power loss; see
//! [`Database::checkpoint`].

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use assay_core::chart::Counted;
use assay_core::record::{Entry, GradeRecord};
use assay_core::{Clock, Hash};
use tokio::sync::watch;

use crate::database::{Database, DatabaseError};
use crate::metrics;
use crate::packs::Contents;
use crate::pending::{Item, Pending};
use crate::spool::frame;
use crate::spool::segment::{Folder, Position};

/// Most grades of one transaction.
const TRANSACTION_GRADES: u64 = 16_384;

/// Most bytes of frames of one transaction: bounds what is read back into memory at once.
const TRANSACTION_BYTES: u64 = 64 << 20;

/// Below this many grades the writer waits [`LINGER`] for more: a transaction costs as much as inserting some hundred grades, and reads
/// see what waits all the same.
const WORTH_A_TRANSACTION: u64 = 1_024;

const LINGER: Duration = Duration::from_millis(50);

/// Pause after a failed transaction, doubled up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

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
                &grade.composition_json,
                &grade.steps_json,
                &grade.measures_json,
                &grade.evidence_json,
                &grade.error_json,
                &grade.meta_json,
                &grade.checks_json,
            ];
            json.iter().map(|text| text.as_ref().map_or(0, String::len)).sum()
        };
        let rows: usize = entry.grades.iter().map(|grade| 768 + texts(grade)).sum();
        let bodies: usize = entry.bodies.iter().map(|body| body.content.len() + 80).sum();
        let reply = entry.claim.as_ref().and_then(|claim| claim.reply.as_ref()).map_or(0, |reply| reply.body.len());
        let bytes = 512 + rows + bodies + reply + contents.bytes();
        Self { entry, contents, bytes }
    }

    /// Adds `grades`, which are some of the entry's, to what is counted for charts.
    pub(crate) fn count<'g>(&self, grades: impl IntoIterator<Item = &'g GradeRecord>, counted: &mut Counted) {
        let places = self.contents.packs.iter().flat_map(|pack| &pack.bodies);
        let sizes: HashMap<Hash, u32> = places.map(|body| (body.hash, body.size)).collect();
        for grade in grades {
            counted.push(grade, sizes.get(&grade.completion_hash).copied());
        }
    }

    pub(crate) fn from_frame(bytes: &[u8]) -> io::Result<Self> {
        if frame::measure(bytes) != Some(bytes.len()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of the spool is damaged"));
        }
        let (entry, contents) =
            frame::decode(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Self::new(Arc::new(entry), contents))
    }
}

/// Whether reading a frame back failed because of what is there, not because it could not be read.
fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

/// The task that applies.
pub(crate) struct Writer {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) pending: Arc<Pending>,
    /// `None` where nothing is spooled to files.
    pub(crate) folder: Option<Arc<Folder>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Turns true once nothing more will be recorded.
    pub(crate) draining: watch::Receiver<bool>,
    /// How far the database is.
    pub(crate) progress: Position,
}

impl Writer {
    /// Applies until draining has begun and nothing waits, or what waits has no database to go to. On the way out, all segments that are
    /// no longer needed are gone.
    pub(crate) async fn run(mut self) {
        self.release().await;
        let mut pause = FIRST_PAUSE;
        let mut reported = None;
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
            if grades < WORTH_A_TRANSACTION && !*self.draining.borrow() {
                tokio::select! {
                    () = tokio::time::sleep(LINGER) => {}
                    _ = self.draining.changed() => {}
                }
            }
            let items = self.pending.oldest(TRANSACTION_GRADES, TRANSACTION_BYTES);
            match self.apply(&items).await {
                Ok(()) => {
                    pause = FIRST_PAUSE;
                    reported = None;
                    self.release().await;
                }
                Err(error) => {
                    metrics::apply_failed();
                    if matches!(error, DatabaseError::Replaced { .. }) {
                        // Lasts until someone acts: said once for each change, not for each try.
                        let found = error.to_string();
                        if reported.as_ref() != Some(&found) {
                            tracing::error!(%error, "grades are not applied: they stay in the spool");
                            reported = Some(found);
                        }
                        if *self.draining.borrow() {
                            break;
                        }
                    } else {
                        tracing::warn!(%error, entries = items.len(), pause_ms = pause.as_millis(), "the database does not take grades: they stay in the spool");
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

    async fn apply(&mut self, items: &[Arc<Item>]) -> Result<(), DatabaseError> {
        let Some(last) = items.last() else {
            return Ok(());
        };
        let mut entries = Vec::with_capacity(items.len());
        for item in items {
            match item.load().await {
                Ok(loaded) => entries.push((item.end, loaded)),
                // Only damage is skipped; a disk that does not answer is asked again.
                Err(error) if !is_damage(&error) => return Err(DatabaseError::Spool(error)),
                Err(error) => {
                    tracing::error!(%error, segment = item.start.segment, byte = item.start.byte, "a frame of the spool is skipped");
                }
            }
        }
        let started = self.clock.monotonic();
        self.database.apply(&entries, last.end, self.clock.unix_us()).await?;
        metrics::applied(self.clock.monotonic().saturating_sub(started), entries.len());
        self.progress = last.end;
        self.pending.forget_through(last.end);
        Ok(())
    }

    /// Deletes the segments that the database no longer needs, once it has made itself independent of them.
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
                        tracing::warn!(%error, segment = number, "an applied segment of the spool cannot be deleted");
                    }
                }
            }
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%error, "the database cannot be checkpointed: applied segments stay");
            }
        }
    }
}
