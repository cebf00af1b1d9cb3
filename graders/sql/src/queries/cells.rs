//! Queries in cells: making databases, running statements on them, what is kept of it, and what to think of a cell that gave no
//! answer.

use std::sync::Arc;
use std::time::Duration;

use assay_cell::query::{BUILD_STEPS, Build, End, Image, Limits, Ran, Reply, Request, Rows, Run, Table, TableRows};
use assay_cell::{CellError, Cells, Settled};
use assay_core::{ErrorCode, Fault, Hash};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde_bytes::ByteBuf;

use super::{Attempt, Terms, Unbuilt};

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
    name: Arc<str>,
    bytes: Arc<ByteBuf>,
}

impl Held {
    /// Its content as a name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How long it is.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
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
        let settled = self.0.cells.settle(&Request::Build(build), patience(BUILD_STEPS)).await;
        match settled.map_err(|error| Unbuilt::Ours(fault(&error)))? {
            Settled::Answered(Reply::Built(Ok(bytes))) => {
                let hash = Hash::of(&bytes);
                Ok(Held { hash, name: hash.to_string().into(), bytes: Arc::new(bytes) })
            }
            Settled::Answered(Reply::Built(Err(message))) => Err(Unbuilt::Task(message)),
            Settled::Answered(other) => Err(Unbuilt::Ours(unable(&other))),
            Settled::Overran => Err(Unbuilt::Task("its scripts take too long".to_owned())),
            Settled::Broke(how) => Err(Unbuilt::Task(format!("the sandbox broke over its scripts: {how}"))),
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
        match self.0.cells.ask(&request, patience(BUILD_STEPS)).await {
            Ok(Reply::Described(tables)) => Ok(tables),
            Ok(other) => Err(unable(&other)),
            Err(error) => Err(fault(&error)),
        }
    }

    /// Runs statements, each on these databases in order, within the number of steps of each.
    pub(crate) async fn run(
        &self,
        statements: &[&str],
        terms: Terms,
        on: &[(&Held, u64)],
    ) -> Result<Vec<Vec<Attempt>>, Fault> {
        let mut all: Vec<Option<Vec<Attempt>>> = statements.iter().map(|sql| self.kept(sql, terms, on)).collect();
        let missing: Vec<usize> = (0..all.len()).filter(|at| all[*at].is_none()).collect();
        let wanted: Vec<&str> = missing.iter().map(|at| statements[*at]).collect();
        for (at, attempts) in missing.into_iter().zip(self.ask_all(&wanted, terms, on).await?) {
            for (attempt, (database, steps)) in attempts.iter().zip(on) {
                if attempt.deterministic {
                    self.0.runs.insert(key(statements[at], terms, database, *steps), Arc::clone(&attempt.ran));
                }
            }
            all[at] = Some(attempts);
        }
        Ok(all.into_iter().flatten().collect())
    }

    /// What is kept of a statement, when it is all of it.
    fn kept(&self, sql: &str, terms: Terms, on: &[(&Held, u64)]) -> Option<Vec<Attempt>> {
        let mut attempts = Vec::with_capacity(on.len());
        for (database, steps) in on {
            let ran = self.0.runs.get(&key(sql, terms, database, *steps))?;
            let ended = ran.end != End::Rows;
            attempts.push(Attempt { ran, deterministic: true });
            if ended {
                break;
            }
        }
        Some(attempts)
    }

    /// Asks cells until every statement is answered; together while that goes well, alone those that may have broken a cell.
    async fn ask_all(
        &self,
        statements: &[&str],
        terms: Terms,
        on: &[(&Held, u64)],
    ) -> Result<Vec<Vec<Attempt>>, Fault> {
        let mut answered = Vec::with_capacity(statements.len());
        let mut together = true;
        while let Some(rest) = statements.get(answered.len()..).filter(|rest| !rest.is_empty()) {
            if together && let Some(attempts) = self.ask_together(rest, terms, on).await? {
                answered.extend(attempts);
            } else {
                together = false;
                answered.push(self.ask_alone(rest[0], terms, on).await?);
            }
        }
        Ok(answered)
    }

    /// The answers to the first of these statements, perhaps to all; `None` when one of them may have broken the cell.
    async fn ask_together(
        &self,
        statements: &[&str],
        terms: Terms,
        on: &[(&Held, u64)],
    ) -> Result<Option<Vec<Vec<Attempt>>>, Fault> {
        match self.ask(statements, terms, on).await {
            Ok(Reply::Ran(ran)) if answers(&ran, statements.len(), on.len()) => {
                Ok(Some(ran.into_iter().map(determined).collect()))
            }
            Ok(other) => Err(unable(&other)),
            Err(CellError::Overran { .. } | CellError::Died(_) | CellError::Message(_)) => Ok(None),
            Err(error) => Err(fault(&error)),
        }
    }

    /// The answer to one statement, or that there is none because of it.
    async fn ask_alone(&self, sql: &str, terms: Terms, on: &[(&Held, u64)]) -> Result<Vec<Attempt>, Fault> {
        // With the images at once: a cell that lacks one would be asked twice while it is found out who is to blame.
        let request = request(&[sql], terms, on, true);
        let settled = self.0.cells.settle(&request, patience(steps(on))).await.map_err(|error| fault(&error))?;
        match settled {
            Settled::Answered(Reply::Ran(ran)) if answers(&ran, 1, on.len()) => {
                Ok(ran.into_iter().next().map(determined).unwrap_or_default())
            }
            Settled::Answered(other) => Err(unable(&other)),
            Settled::Overran => Ok(undetermined(End::OutOfSteps)),
            Settled::Broke(how) => Ok(undetermined(End::Error(format!("the sandbox broke over the statement: {how}")))),
        }
    }

    /// Asks once, or twice when the first cell has not all images.
    async fn ask(&self, statements: &[&str], terms: Terms, on: &[(&Held, u64)]) -> Result<Reply, CellError> {
        let patience = patience(steps(on).saturating_mul(statements.len() as u64));
        match self.0.cells.ask(&request(statements, terms, on, false), patience).await? {
            Reply::Missing => self.0.cells.ask(&request(statements, terms, on, true), patience).await,
            reply => Ok(reply),
        }
    }
}

/// A request about these databases; `carry` brings their images along.
fn request(statements: &[&str], terms: Terms, on: &[(&Held, u64)], carry: bool) -> Request {
    let Terms { limits, reverse } = terms;
    let image = |database: &Held| if carry { database.carried() } else { database.named() };
    let on = on.iter().map(|(database, steps)| (image(database), *steps)).collect();
    let statements = statements.iter().map(|sql| (*sql).to_owned()).collect();
    Request::Run(Run { statements, on, limits, reverse })
}

fn patience(steps: u64) -> Duration {
    SLACK + Duration::from_secs(steps / SLOWEST)
}

fn steps(on: &[(&Held, u64)]) -> u64 {
    on.iter().fold(0, |sum, (_, steps)| sum.saturating_add(*steps))
}

/// Whether runs may be the reply to these statements: for each one at least one run, and fewer than there are databases only
/// where the last did not end with rows. A statement without runs would pass as one that is right everywhere.
fn answers(ran: &[Vec<Ran>], statements: usize, databases: usize) -> bool {
    let is_complete = |runs: &Vec<Ran>| match runs.split_last() {
        Some((last, before)) => {
            let goes_on = before.iter().all(|run| run.end == End::Rows);
            goes_on && (runs.len() == databases || runs.len() < databases && last.end != End::Rows)
        }
        None => false,
    };
    (1..=statements).contains(&ran.len()) && ran.iter().all(is_complete)
}

fn determined(ran: Vec<Ran>) -> Vec<Attempt> {
    ran.into_iter().map(|ran| Attempt { ran: Arc::new(ran), deterministic: true }).collect()
}

fn undetermined(end: End) -> Vec<Attempt> {
    let ran = Ran { end, columns: Vec::new(), rows: Rows::default(), steps: 0 };
    vec![Attempt { ran: Arc::new(ran), deterministic: false }]
}

/// Everything a run depends on.
fn key(sql: &str, terms: Terms, database: &Held, steps: u64) -> Hash {
    let Limits { rows, bytes, memory_bytes, long_values } = terms.limits;
    let numbers = [steps, rows, bytes, memory_bytes, u64::from(long_values), u64::from(terms.reverse)]
        .map(u64::to_le_bytes)
        .concat();
    Hash::of_parts(&[sql.as_bytes(), database.hash.as_bytes(), &numbers])
}

fn unable(reply: &Reply) -> Fault {
    match reply {
        Reply::Unable(reason) => Fault::lasting(ErrorCode::TaskAtFault, reason.clone()),
        _ => Fault::passing(
            ErrorCode::SandboxFailed,
            "a reply of a worker does not fit its request; send the item again",
        ),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(end: End) -> Ran {
        Ran { end, columns: Vec::new(), rows: Rows::default(), steps: 0 }
    }

    #[test]
    fn a_reply_has_a_run_for_each_database_of_each_statement() {
        let rows = || run(End::Rows);
        let ended = || run(End::OutOfSteps);
        assert!(answers(&[vec![rows(), rows()]], 1, 2));
        assert!(answers(&[vec![rows(), ended()], vec![ended()]], 3, 2));
        for runs in [
            vec![],
            vec![vec![]],
            vec![vec![rows()]],
            vec![vec![ended(), rows()]],
            vec![vec![rows(), rows(), rows()]],
            vec![vec![rows(), rows()], vec![ended()]],
        ] {
            assert!(!answers(&runs, 1, 2), "{runs:?}");
        }
    }
}
