//! Queries in cells: making databases, running statements on them, what is kept of it, and what to think of a cell that gave no
//! answer.

use std::sync::Arc;
use std::time::Duration;

use assay_cell::query::{BUILD_STEPS, Build, End, Image, Limits, Ran, Reply, Request, Rows, Run, Table, TableRows};
use assay_cell::{CellError, Cells};
use assay_core::{ErrorCode, Fault, Hash};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde_bytes::ByteBuf;

use super::{Attempt, Query, Unbuilt};

/// Bytes of results that are kept: completions of one prompt often hold the same statement.
const KEPT_BYTES: u64 = 64 << 20;

/// Steps a cell takes in a second at the least: a core takes hundreds of times as many, unless each is made to be slow.
const SLOWEST: u64 = 100_000;

/// Wall time beside that: for a machine under load.
const SLACK: Duration = Duration::from_secs(10);

/// A database in an image. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    hash: Hash,
    bytes: Arc<ByteBuf>,
}

impl Held {
    /// Its content as a name.
    pub(super) fn hash(&self) -> Hash {
        self.hash
    }

    fn named(&self) -> Image {
        Image { hash: *self.hash.as_bytes(), bytes: None }
    }

    fn carried(&self) -> Image {
        Image { bytes: Some(self.bytes.as_ref().clone()), ..self.named() }
    }
}

/// Runs queries in cells. Cheap to clone: clones share cells and what is kept.
#[derive(Clone)]
pub(crate) struct InCells(Arc<Inner>);

struct Inner {
    cells: Cells,
    runs: Cache<Hash, Arc<Ran>, RanBytes>,
}

#[derive(Clone)]
struct RanBytes;

impl Weighter<Hash, Arc<Ran>> for RanBytes {
    fn weight(&self, _: &Hash, ran: &Arc<Ran>) -> u64 {
        let text = match &ran.end {
            End::Denied(text) | End::Syntax(text) | End::Error(text) => text.len(),
            _ => 0,
        };
        let names: usize = ran.columns.iter().map(String::len).sum();
        (256 + ran.rows.bytes() + names + text) as u64
    }
}

impl InCells {
    pub(crate) fn new(cells: Cells) -> Self {
        Self(Arc::new(Inner { cells, runs: Cache::with_weighter(4_096, KEPT_BYTES, RanBytes) }))
    }

    /// Makes a database.
    pub(crate) async fn build(&self, build: Build) -> Result<Held, Unbuilt> {
        let patience = patience(BUILD_STEPS / 10);
        match self.0.cells.ask(&Request::Build(build), patience).await {
            Ok(Reply::Built(Ok(bytes))) => Ok(Held { hash: Hash::of(&bytes), bytes: Arc::new(bytes) }),
            Ok(Reply::Built(Err(message))) => Err(Unbuilt::Task(message)),
            Ok(other) => Err(Unbuilt::Ours(unable(&other))),
            Err(CellError::Overran { .. }) => Err(Unbuilt::Task("its scripts take too long".to_owned())),
            Err(CellError::Died(how)) if self.healthy().await => {
                Err(Unbuilt::Task(format!("the sandbox broke over its scripts: {how}")))
            }
            Err(error) => Err(Unbuilt::Ours(fault(&error))),
        }
    }

    /// Makes a database like another, with other rows.
    pub(crate) async fn with_rows(&self, base: &Held, rows: Vec<TableRows>) -> Result<Held, Unbuilt> {
        let image = Some(base.bytes.as_ref().clone());
        self.build(Build { image, scripts: Vec::new(), rows: Some(rows) }).await
    }

    /// What a database is made of.
    pub(crate) async fn describe(&self, database: &Held) -> Result<Vec<Table>, Fault> {
        let request = Request::Describe(database.carried());
        match self.0.cells.ask(&request, patience(BUILD_STEPS / 10)).await {
            Ok(Reply::Described(tables)) => Ok(tables),
            Ok(other) => Err(unable(&other)),
            Err(error) => Err(fault(&error)),
        }
    }

    /// Runs a statement on each of these databases, within its number of steps.
    pub(crate) async fn run(&self, query: Query<'_>, on: &[(&Held, u64)]) -> Result<Vec<Attempt>, Fault> {
        let keys: Vec<Hash> = on.iter().map(|(database, steps)| key(query, database, *steps)).collect();
        let mut attempts: Vec<Option<Attempt>> =
            keys.iter().map(|key| self.0.runs.get(key).map(|ran| Attempt { ran, deterministic: true })).collect();
        let missing: Vec<usize> = (0..on.len()).filter(|at| attempts[*at].is_none()).collect();
        if !missing.is_empty() {
            let wanted: Vec<_> = missing.iter().map(|at| on[*at]).collect();
            for (at, attempt) in missing.into_iter().zip(self.ask(query, &wanted).await?) {
                if attempt.deterministic {
                    self.0.runs.insert(keys[at], Arc::clone(&attempt.ran));
                }
                attempts[at] = Some(attempt);
            }
        }
        Ok(attempts.into_iter().flatten().collect())
    }

    async fn ask(&self, query: Query<'_>, on: &[(&Held, u64)]) -> Result<Vec<Attempt>, Fault> {
        let Query { sql, limits, reverse } = query;
        let request = |carry: bool| {
            let image = |database: &Held| if carry { database.carried() } else { database.named() };
            let on = on.iter().map(|(database, steps)| (image(database), *steps)).collect();
            Request::Run(Run { sql: sql.to_owned(), on, limits, reverse })
        };
        let steps = on.iter().fold(0u64, |sum, (_, steps)| sum.saturating_add(*steps));
        let patience = patience(steps);
        let mut overran = false;
        let mut carry = false;
        loop {
            match self.0.cells.ask(&request(carry), patience).await {
                Ok(Reply::Ran(ran)) => {
                    let attempt = |ran| Attempt { ran: Arc::new(ran), deterministic: true };
                    return Ok(ran.into_iter().map(attempt).collect());
                }
                // Only the cell asked first may lack an image: the next request brings them all.
                Ok(Reply::Missing) if !carry => carry = true,
                Ok(other) => return Err(unable(&other)),
                Err(CellError::Overran { .. }) if !overran => overran = true,
                // Twice: the statement's doing if it had the processor most of the time, else ours.
                Err(CellError::Overran { cpu, .. }) if cpu > patience / 2 => {
                    return Ok(undetermined(End::OutOfSteps, on.len()));
                }
                Err(CellError::Died(how)) if self.healthy().await => {
                    let end = End::Error(format!("the sandbox broke over the statement: {how}"));
                    return Ok(undetermined(end, on.len()));
                }
                Err(error) => return Err(fault(&error)),
            }
        }
    }

    /// Whether cells answer at all. A statement that kills two cells is to blame only if they do.
    async fn healthy(&self) -> bool {
        let asked = self.0.cells.ask(&Request::Build(Build::default()), SLACK).await;
        matches!(asked, Ok(Reply::Built(Ok(_))))
    }
}

fn patience(steps: u64) -> Duration {
    SLACK + Duration::from_secs(steps / SLOWEST)
}

fn undetermined(end: End, count: usize) -> Vec<Attempt> {
    let ran = Arc::new(Ran { end, columns: Vec::new(), rows: Rows::default(), steps: 0 });
    vec![Attempt { ran, deterministic: false }; count]
}

/// Everything a run depends on.
fn key(query: Query<'_>, database: &Held, steps: u64) -> Hash {
    let Limits { rows, bytes, memory_bytes } = query.limits;
    let numbers = [steps, rows, bytes, memory_bytes, u64::from(query.reverse)].map(u64::to_le_bytes).concat();
    Hash::of_parts(&[query.sql.as_bytes(), database.hash.as_bytes(), &numbers])
}

fn unable(reply: &Reply) -> Fault {
    let reason = match reply {
        Reply::Unable(reason) => reason.clone(),
        _ => "a cell answered another question".to_owned(),
    };
    Fault::lasting(ErrorCode::TaskAtFault, reason)
}

fn fault(error: &CellError) -> Fault {
    match error {
        CellError::Stopping => {
            Fault::passing(ErrorCode::ShuttingDown, "the node is shutting down; send the item again")
        }
        CellError::Start { .. } => Fault::passing(ErrorCode::GraderUnavailable, error.to_string()),
        CellError::Busy | CellError::Died(_) | CellError::Overran { .. } | CellError::Message(_) => {
            Fault::passing(ErrorCode::SandboxFailed, error.to_string())
        }
    }
}
