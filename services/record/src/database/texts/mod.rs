//! The index of texts: keeps it equal to the grades whose bodies the record has.
//!
//! On SQLite, the index is in a file of its own, which can be deleted and is built again. On
//! PostgreSQL it is in two tables, which all nodes share. A transaction of the writer is committed
//! to the database first, and its texts are then read from their bodies and added to the index,
//! before reads see the grades. The index notes each batch with its id and its number of grades.
//! After a crash or power loss between the two commits, or a deletion, the batches of both are
//! compared in a pass, which adds and removes what differs; building a new index is the same pass.

mod batches;
pub(crate) mod bodies;
mod extract;
pub(crate) mod index;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use assay_core::BatchId;
use tokio::sync::watch;

use self::index::TextIndex;
use super::indexed::{IndexedBatch, read_batches};
use super::insert::look_up;
use super::rows::{id_bytes, key};
use crate::database::sql::{self, Connection, Pool};
use crate::database::{DatabaseError, Location};
use crate::panics::CatchPanic;
use crate::pending::Applicable;

/// Grades whose texts are in memory at the same time.
const CHUNK: usize = 256;

/// Batches that a step of a pass compares.
const WINDOW: i64 = 1_024;

/// What a pass over the batches does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextPass {
    /// Adds what is missing and removes what was deleted.
    Complete,
    /// Only removes what was deleted.
    Remove,
}

/// How much of the record is in the index.
#[derive(Debug, Clone, Default)]
struct TextState {
    is_complete: bool,
    /// Number of times that texts could not be added.
    failures: u64,
    error: Option<String>,
    /// Numbers of batches up to which the current pass came, and of the last batch.
    position: (i64, i64),
}

/// The index of texts.
pub(crate) struct Texts {
    pub(crate) index: TextIndex,
    /// Connections that read the database.
    database: Pool,
    state: watch::Sender<TextState>,
}

impl Texts {
    /// Opens the index of the database at `location`, which `database` reads, with at most as many
    /// connections that read.
    pub(super) async fn open(
        location: &Location,
        database: Pool,
        readers: u32,
    ) -> Result<Self, sqlx::Error> {
        Ok(Self {
            index: TextIndex::open(location, readers).await?,
            database,
            state: watch::Sender::new(TextState::default()),
        })
    }

    /// Adds the grades of entries that were applied. If that fails, the index is incomplete until
    /// the next pass: the entries are recorded all the same.
    pub(super) async fn add(&self, entries: &[Applicable]) {
        let mut batches: BTreeMap<BatchId, BTreeSet<u32>> = BTreeMap::new();
        for (_, loaded) in entries {
            let grades = loaded.entry.grades.iter();
            let positions = grades.map(|grade| grade.row.grade.position);
            batches
                .entry(loaded.entry.batch)
                .or_default()
                .extend(positions);
        }
        batches.retain(|_, positions| !positions.is_empty());
        if batches.is_empty() {
            return;
        }
        let added = CatchPanic::new(async {
            let mut index = self.index.begin().await?;
            let added = add_grades(&mut index, &self.database, &batches).await;
            self.index.end(index, added).await
        })
        .await
        .unwrap_or_else(|message| Err(DatabaseError::Panicked(message)));
        match added {
            Ok(true) => {}
            // Some grades of a batch were already missing.
            Ok(false) => self.fail(None),
            Err(error) => {
                tracing::warn!(%error, "cannot add texts to their index; adding them later");
                self.fail(Some(error.to_string()));
            }
        }
    }

    /// Notes that the index is incomplete.
    pub(crate) fn fail(&self, error: Option<String>) {
        self.state.send_modify(|state| {
            state.is_complete = false;
            state.failures += 1;
            state.error = error;
        });
    }

    /// Number of times that the index became incomplete.
    pub(crate) fn failures(&self) -> u64 {
        self.state.borrow().failures
    }

    /// Notes that a pass has ended which began after so many failures.
    pub(crate) fn passed(&self, failures: u64) {
        self.state.send_if_modified(|state| {
            let is_complete = state.failures == failures;
            if is_complete {
                state.is_complete = true;
                state.error = None;
            }
            is_complete
        });
    }

    /// Waits until the index is incomplete.
    pub(crate) async fn incomplete(&self) {
        // The sender exists as long as `self`.
        let _ = self
            .state
            .subscribe()
            .wait_for(|state| !state.is_complete)
            .await;
    }

    /// Waits until the index is complete, or returns why it is not after `timeout`.
    pub(crate) async fn complete(&self, timeout: Duration) -> Result<(), String> {
        let mut state = self.state.subscribe();
        let waited = tokio::time::timeout(timeout, state.wait_for(|state| state.is_complete)).await;
        if waited.is_ok() {
            return Ok(());
        }
        let state = self.state.borrow();
        Err(match &state.error {
            Some(error) => format!("texts cannot be added to their index: {error}"),
            None => {
                let (position, last) = state.position;
                format!("the index of texts is being built: {position} of {last} batches; retry")
            }
        })
    }

    /// Compares the next batches with a number above `after`, and adds or removes about `amount`
    /// grades, in one transaction. Returns the number after which to continue; `None` at the end.
    pub(crate) async fn step(
        &self,
        pass: TextPass,
        after: i64,
        amount: u32,
    ) -> Result<Option<i64>, DatabaseError> {
        let mut index = self.index.begin().await?;
        let next = CatchPanic::new(step(&mut index, &self.database, pass, after, amount)).await;
        let next = next.unwrap_or_else(|message| Err(DatabaseError::Panicked(message)));
        let Step { next, last } = self.index.end(index, next).await?;
        if pass == TextPass::Complete {
            self.state
                .send_modify(|state| state.position = (next.unwrap_or(last), last));
        }
        Ok(next)
    }
}

/// The end of a step, and the largest number of a batch.
struct Step {
    next: Option<i64>,
    last: i64,
}

/// Adds grades of batches by their positions; `false` if others of these batches are missing.
///
/// The transaction of the index has begun, so that no other can change it after the state of the
/// database is read.
async fn add_grades(
    index: &mut Connection,
    database: &Pool,
    batches: &BTreeMap<BatchId, BTreeSet<u32>>,
) -> Result<bool, DatabaseError> {
    let mut snapshot = database.begin().await?;
    let ids: Vec<Vec<u8>> = batches.keys().map(|id| id_bytes(*id)).collect();
    let select = "select no, id, grades from batches where deleted = 0 and id in";
    let mut is_complete = true;
    let rows = look_up(&mut snapshot, select, &ids).await?;
    for (number, stored) in read_batches(&rows, "batches")? {
        let known = batches::indexed_batches(index, number - 1, number).await?;
        let known = known.get(&number);
        if known.is_some_and(|known| known.id != stored.id) {
            is_complete = false;
            continue;
        }
        let positions = batches.get(&stored.id).into_iter().flatten();
        let mut keys: Vec<i64> = positions.map(|position| key(number, *position)).collect();
        if let (Some(_), Some(first), Some(last)) = (known, keys.first(), keys.last()) {
            let indexed = index::indexed_keys(index, *first, *last, u32::MAX).await?;
            keys.retain(|key| !indexed.contains(key));
        }
        add_keys(index, &mut snapshot, &keys).await?;
        let earlier = known.map_or(Some(0), |known| known.grades);
        let added = i64::try_from(keys.len()).unwrap_or(i64::MAX);
        let grades = earlier.map(|earlier| earlier.saturating_add(added));
        is_complete &= grades.is_some() && grades == stored.grades;
        batches::set_indexed(index, number, &IndexedBatch { grades, ..stored }).await?;
    }
    Ok(is_complete)
}

/// Adds grades by their keys.
async fn add_keys(
    index: &mut Connection,
    snapshot: &mut Connection,
    keys: &[i64],
) -> Result<(), DatabaseError> {
    for chunk in keys.chunks(CHUNK) {
        index::insert(index, &bodies::texts(snapshot, chunk).await?).await?;
    }
    Ok(())
}

/// As [`Texts::step`], in the transaction of the caller.
async fn step(
    index: &mut Connection,
    database: &Pool,
    pass: TextPass,
    after: i64,
    amount: u32,
) -> Result<Step, DatabaseError> {
    let mut snapshot = database.begin().await?;
    let last: i64 = sql::query_scalar("select coalesce(max(no), 0) from batches")
        .fetch_one(&mut snapshot)
        .await?;
    let last = last.max(batches::last_indexed(index).await?);
    let up_to = after.saturating_add(WINDOW);
    let stored = stored_batches(&mut snapshot, after, up_to).await?;
    let indexed = batches::indexed_batches(index, after, up_to).await?;
    let mut left = amount;
    for number in stored.keys().chain(indexed.keys()).collect::<BTreeSet<_>>() {
        let (number, stored, mut known) = (*number, stored.get(number), indexed.get(number));
        if stored == known {
            continue;
        }
        let is_stale = |known: &&IndexedBatch| stored.is_none_or(|batch| batch.id != known.id);
        if known.is_some_and(|known| is_stale(&known)) {
            let (first, last) = keys_of(number);
            let keys = index::indexed_keys(index, first, last, left).await?;
            left -= length(keys.len());
            index::delete(index, keys).await?;
            if left == 0 {
                let next = Some(number - 1);
                return Ok(Step { next, last });
            }
            batches::unset_indexed(index, number).await?;
            known = None;
        }
        if let (Some(batch), TextPass::Complete) = (stored, pass) {
            left =
                complete_batch(index, &mut snapshot, number, batch, known.is_some(), left).await?;
            if left == 0 {
                let next = Some(number - 1);
                return Ok(Step { next, last });
            }
        }
    }
    let next = (up_to < last).then_some(up_to);
    Ok(Step { next, last })
}

/// The keys of the first and the last grade that a batch may have.
fn keys_of(number: i64) -> (i64, i64) {
    (key(number, 0), key(number + 1, 0) - 1)
}

fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Adds at most `limit` of the missing grades of a batch, and removes those that it does not have;
/// returns how many more could be added: 0 if some may still be missing.
async fn complete_batch(
    index: &mut Connection,
    snapshot: &mut Connection,
    number: i64,
    batch: &IndexedBatch,
    is_known: bool,
    limit: u32,
) -> Result<u32, DatabaseError> {
    let (first, last) = keys_of(number);
    let mut keys: Vec<i64> =
        sql::query_scalar("select key from grades where key between $1 and $2")
            .bind(first)
            .bind(last)
            .fetch_all(snapshot)
            .await?;
    if is_known {
        let mut indexed = index::indexed_keys(index, first, last, u32::MAX).await?;
        keys.retain(|key| !indexed.remove(key));
        // The database lost them in a power loss, after which they may be recorded again.
        index::delete(index, indexed).await?;
    }
    let more = keys.len() >= limit as usize;
    keys.truncate(limit as usize);
    add_keys(index, snapshot, &keys).await?;
    let batch = IndexedBatch {
        grades: batch.grades.filter(|_| !more),
        ..*batch
    };
    batches::set_indexed(index, number, &batch).await?;
    Ok(limit - length(keys.len()))
}

/// The batches with a number above `after` and at most `up_to` whose bodies are stored, as the
/// index should note them. Those that an earlier release did not count have -1 grades.
async fn stored_batches(
    connection: &mut Connection,
    after: i64,
    up_to: i64,
) -> Result<BTreeMap<i64, IndexedBatch>, DatabaseError> {
    let rows = sql::query(
        "select no, id, coalesce(grades, -1) as grades from batches \
         where deleted = 0 and no > $1 and no <= $2",
    )
    .bind(after)
    .bind(up_to)
    .fetch_all(connection)
    .await?;
    read_batches(&rows, "batches")
}
