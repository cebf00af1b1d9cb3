//! Queries in workers: builds databases, runs statements on them, and caches the runs.

use std::sync::Arc;
use std::time::Duration;

use assay_core::{ErrorCode, Fault, Hash};
use assay_worker::query::{
    BUILD_STEPS, Build, End, Image, Limits, Ran, Reply, Request, Run, Table, TableRows,
};
use assay_worker::{Settled, WorkerPool};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde_bytes::ByteBuf;

use super::asking::Asker;
use super::large::{LargePermits, LargeResults};
use super::progress::Progress;
use super::{Attempt, Each, Terms, Unbuilt};

/// Bytes of cached results: completions of one prompt often contain the same statement.
const KEPT_BYTES: u64 = 64 << 20;

/// Steps that a worker executes in a second at least. A core executes a hundred times as many,
/// unless each step is designed to be slow.
const SLOWEST: u64 = 1_000_000;

/// Additional wall time, for steps that are designed to be slow, opening databases, and a machine
/// under load.
const SLACK: Duration = Duration::from_secs(60);

/// Longest wall time of building or describing a database.
const LONGEST_BUILD: Duration = Duration::from_secs(120);

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

    /// Its length in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn named(&self) -> Image {
        Image {
            hash: *self.hash.as_bytes(),
            bytes: None,
        }
    }

    fn carried(&self) -> Image {
        Image {
            bytes: Some(self.bytes.as_ref().clone()),
            ..self.named()
        }
    }
}

/// Runs queries in workers. Cheap to clone: clones share workers and what is kept.
#[derive(Clone)]
pub(crate) struct SandboxQueries(Arc<Inner>);

struct Inner {
    asker: Asker,
    runs: Cache<Hash, Arc<Ran>, RanBytes>,
    permits: LargePermits,
}

#[derive(Clone)]
struct RanBytes;

impl Weighter<Hash, Arc<Ran>> for RanBytes {
    fn weight(&self, _: &Hash, ran: &Arc<Ran>) -> u64 {
        256 + ran.bytes()
    }
}

impl SandboxQueries {
    pub(crate) fn new(workers: WorkerPool) -> Self {
        let runs = Cache::with_weighter(4_096, KEPT_BYTES, RanBytes);
        Self(Arc::new(Inner {
            asker: Asker::new(workers),
            runs,
            permits: LargePermits::new(),
        }))
    }

    /// For one or more consecutive calls of [`Self::run`].
    pub(crate) fn call(&self) -> LargeResults {
        self.0.permits.call()
    }

    /// Makes a database.
    pub(crate) async fn build(&self, build: Build) -> Result<Held, Unbuilt> {
        let request = Request::Build(build);
        match self
            .0
            .asker
            .ask_of_database(&request, timeout(BUILD_STEPS, LONGEST_BUILD))
            .await?
        {
            Reply::Built(Ok(bytes)) => {
                let hash = Hash::of(&bytes);
                Ok(Held {
                    hash,
                    name: hash.to_string().into(),
                    bytes: Arc::new(bytes),
                })
            }
            Reply::Built(Err(message)) => Err(Unbuilt::Task(message)),
            other => Err(Unbuilt::Ours(unexpected(&other))),
        }
    }

    /// Builds a database with the schema of another and different rows.
    pub(crate) async fn with_rows(
        &self,
        base: &Held,
        rows: Vec<TableRows>,
    ) -> Result<Held, Unbuilt> {
        let image = Some(base.bytes.as_ref().clone());
        self.build(Build {
            image,
            scripts: Vec::new(),
            rows: Some(rows),
        })
        .await
    }

    /// The sources of a database.
    pub(crate) async fn describe(&self, database: &Held) -> Result<Vec<Table>, Unbuilt> {
        let request = Request::Describe(database.carried());
        match self
            .0
            .asker
            .ask_of_database(&request, timeout(BUILD_STEPS, LONGEST_BUILD))
            .await?
        {
            Reply::Described(tables) => Ok(tables),
            Reply::Unable(message) => Err(Unbuilt::Task(message)),
            other => Err(Unbuilt::Ours(unexpected(&other))),
        }
    }

    /// Runs statements, each on these databases in order, within the steps of each database. Passes
    /// the runs to `each`, in order for each statement.
    pub(crate) async fn run(
        &self,
        statements: &[&str],
        terms: Terms,
        on: &[(&Held, u64)],
        large: &mut LargeResults,
        each: &mut Each<'_>,
    ) -> Result<(), Fault> {
        let mut progress = Progress::new(statements.len(), on.len());
        // Runs are sent together until a worker does not answer; then one at a time, to find out
        // which run is too slow.
        let mut together = true;
        while let Some((statement, database)) = progress.next() {
            if let Some(attempt) = self.kept(statements[statement], terms, on[database]) {
                progress.record(attempt, each);
                continue;
            }
            let is_kept =
                |other: usize| self.kept(statements[other], terms, on[database]).is_some();
            let (batch, on) = if together {
                (progress.batch(is_kept), &on[database..])
            } else {
                (vec![statement], &on[database..=database])
            };
            let sql: Vec<&str> = batch.iter().map(|at| statements[*at]).collect();
            let reply_bytes = large.reply_bytes(terms.limits);
            let is_one_run = batch.len() == 1 && on.len() == 1;
            let reply = if together && !is_one_run {
                let Some(reply) = self.ask(&sql, terms, on, reply_bytes).await? else {
                    together = false;
                    continue;
                };
                reply
            } else {
                match self.settle(&sql, terms, on, reply_bytes).await? {
                    Settled::Answered(reply) => reply,
                    Settled::Overran => {
                        progress.record(too_slow(), each);
                        continue;
                    }
                }
            };
            match reply {
                Reply::Ran(all) if all.first().is_some_and(|runs| !runs.is_empty()) => {
                    for (at, runs) in batch.into_iter().zip(all) {
                        for (ran, (database, steps)) in runs.into_iter().zip(on) {
                            let ran = Arc::new(ran);
                            let key = key(statements[at], terms, database, *steps);
                            self.0.runs.insert(key, Arc::clone(&ran));
                            progress.record_for(
                                at,
                                Attempt {
                                    ran,
                                    deterministic: true,
                                },
                                each,
                            );
                        }
                    }
                }
                Reply::TooLarge { bytes } => {
                    if !large.acquire().await {
                        return Err(ours(format!(
                            "a result takes {bytes} bytes, more than its limits allow"
                        )));
                    }
                }
                Reply::Unable(message) => {
                    return Err(Fault::permanent(ErrorCode::TaskAtFault, message));
                }
                other => return Err(unexpected(&other)),
            }
        }
        Ok(())
    }

    /// The cached run, if there is one.
    fn kept(&self, sql: &str, terms: Terms, (database, steps): (&Held, u64)) -> Option<Attempt> {
        let ran = self.0.runs.get(&key(sql, terms, database, steps))?;
        Some(Attempt {
            ran,
            deterministic: true,
        })
    }

    /// Asks for one run, again with the image if the worker does not have it.
    async fn settle(
        &self,
        sql: &[&str],
        terms: Terms,
        on: &[(&Held, u64)],
        reply_bytes: u64,
    ) -> Result<Settled<Reply>, Fault> {
        let timeout = timeout(steps(on), terms.longest);
        match self
            .0
            .asker
            .settle(&request(sql, terms, on, false, reply_bytes), timeout)
            .await?
        {
            Settled::Answered(Reply::Missing) => {
                self.0
                    .asker
                    .settle(&request(sql, terms, on, true, reply_bytes), timeout)
                    .await
            }
            settled => Ok(settled),
        }
    }

    /// Asks once, or twice if the worker does not have all images; `None` if a worker did not
    /// answer.
    async fn ask(
        &self,
        sql: &[&str],
        terms: Terms,
        on: &[(&Held, u64)],
        reply_bytes: u64,
    ) -> Result<Option<Reply>, Fault> {
        let timeout = timeout(steps(on).saturating_mul(sql.len() as u64), terms.longest);
        match self
            .0
            .asker
            .ask(&request(sql, terms, on, false, reply_bytes), timeout)
            .await?
        {
            Some(Reply::Missing) => {
                self.0
                    .asker
                    .ask(&request(sql, terms, on, true, reply_bytes), timeout)
                    .await
            }
            reply => Ok(reply),
        }
    }
}

/// A request about these databases; `carry` brings their images along.
fn request(
    sql: &[&str],
    terms: Terms,
    on: &[(&Held, u64)],
    carry: bool,
    reply_bytes: u64,
) -> Request {
    let Terms {
        limits, reverse, ..
    } = terms;
    let image = |database: &Held| {
        if carry {
            database.carried()
        } else {
            database.named()
        }
    };
    let on = on
        .iter()
        .map(|(database, steps)| (image(database), *steps))
        .collect();
    let statements = sql.iter().map(|sql| (*sql).to_owned()).collect();
    Request::Run(Run {
        statements,
        on,
        limits,
        reverse,
        reply_bytes,
    })
}

fn timeout(steps: u64, longest: Duration) -> Duration {
    SLACK
        .saturating_add(Duration::from_secs(steps / SLOWEST))
        .min(longest)
}

fn steps(on: &[(&Held, u64)]) -> u64 {
    on.iter()
        .fold(0, |sum, (_, steps)| sum.saturating_add(*steps))
}

/// A run that exceeded its wall time while it used a processor. It depends on time, so another run
/// may end differently.
fn too_slow() -> Attempt {
    Attempt {
        ran: Arc::new(Ran::ended(End::OutOfSteps)),
        deterministic: false,
    }
}

/// Everything a run depends on.
fn key(sql: &str, terms: Terms, database: &Held, steps: u64) -> Hash {
    let Limits {
        rows,
        bytes,
        memory_bytes,
        long_values,
    } = terms.limits;
    let numbers = [
        steps,
        rows,
        bytes,
        memory_bytes,
        u64::from(long_values),
        u64::from(terms.reverse),
    ]
    .map(u64::to_le_bytes)
    .concat();
    Hash::of_parts(&[sql.as_bytes(), database.hash.as_bytes(), &numbers])
}

fn unexpected(reply: &Reply) -> Fault {
    match reply {
        Reply::Unable(message) => ours(message.clone()),
        _ => ours("a worker sent an unexpected reply".to_owned()),
    }
}

fn ours(message: String) -> Fault {
    Fault::transient(ErrorCode::SandboxFailed, message)
}
