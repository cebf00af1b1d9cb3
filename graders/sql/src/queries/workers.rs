//! Builds databases and runs statements in workers, and caches the runs.

use std::sync::Arc;
use std::time::Duration;

use assay_core::{ErrorCode, Fault, Hash};
use assay_worker::query::{
    BUILD_STEPS, Build, End, Image, Limits, Ran, Reply, Request, Run, Table, TableRows,
};
use assay_worker::{UntrustedReply, WorkerPool};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde_bytes::ByteBuf;

use super::client::WorkerClient;
use super::large::{LargePermits, LargeResults};
use super::progress::Progress;
use super::run::{Attempt, BuildError, Each, RunOptions};

/// Maximum bytes of cached results. Completions of one prompt often contain the same statement.
const CACHE_BYTES: u64 = 64 << 20;

/// Minimum number of steps that a worker executes in a second. A core executes a hundred times as
/// many, unless each step is designed to be slow.
const MIN_STEPS_PER_SECOND: u64 = 1_000_000;

/// Additional processor time, for steps that are designed to be slow, and for opening databases.
const EXTRA_TIME: Duration = Duration::from_secs(60);

/// Most processor time of building or describing a database.
const BUILD_TIMEOUT: Duration = Duration::from_secs(120);

/// An SQLite database as an image. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ImageDatabase {
    hash: Hash,
    name: Arc<str>,
    bytes: Arc<ByteBuf>,
}

impl ImageDatabase {
    /// The hash of its content, in hexadecimal.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The length of the image, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The image for a request to a worker that has cached it.
    fn without_bytes(&self) -> Image {
        Image {
            hash: *self.hash.as_bytes(),
            bytes: None,
        }
    }

    /// The image for a request to a worker that has not cached it.
    fn with_bytes(&self) -> Image {
        Image {
            bytes: Some(self.bytes.as_ref().clone()),
            ..self.without_bytes()
        }
    }
}

/// Runs queries in workers. Cheap to clone: clones share the workers and cached results.
#[derive(Clone)]
pub(crate) struct SandboxQueries(Arc<SandboxState>);

struct SandboxState {
    client: WorkerClient,
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
        let runs = Cache::with_weighter(4_096, CACHE_BYTES, RanBytes);
        Self(Arc::new(SandboxState {
            client: WorkerClient::new(workers),
            runs,
            permits: LargePermits::new(),
        }))
    }

    pub(super) fn pool(&self) -> &WorkerPool {
        self.0.client.pool()
    }

    /// The state for one or more consecutive calls of [`Self::run`].
    pub(crate) fn call(&self) -> LargeResults {
        self.0.permits.call()
    }

    /// Builds a database.
    pub(crate) async fn build(&self, build: Build) -> Result<ImageDatabase, BuildError> {
        let request = Request::Build(build);
        match self
            .0
            .client
            .request_about_database(&request, timeout(BUILD_STEPS, BUILD_TIMEOUT))
            .await?
        {
            Reply::Built(Ok(bytes)) => {
                let hash = Hash::of(&bytes);
                Ok(ImageDatabase {
                    hash,
                    name: hash.to_string().into(),
                    bytes: Arc::new(bytes),
                })
            }
            Reply::Built(Err(message)) => Err(BuildError::Task(message)),
            other => Err(BuildError::Service(unexpected(&other))),
        }
    }

    /// Builds a database with the schema of another and different rows.
    pub(crate) async fn with_rows(
        &self,
        base: &ImageDatabase,
        rows: Vec<TableRows>,
    ) -> Result<ImageDatabase, BuildError> {
        let image = Some(base.bytes.as_ref().clone());
        self.build(Build {
            image,
            scripts: Vec::new(),
            rows: Some(rows),
        })
        .await
    }

    /// Describes the tables of a database.
    pub(crate) async fn describe(
        &self,
        database: &ImageDatabase,
    ) -> Result<Vec<Table>, BuildError> {
        let request = Request::Describe(database.with_bytes());
        match self
            .0
            .client
            .request_about_database(&request, timeout(BUILD_STEPS, BUILD_TIMEOUT))
            .await?
        {
            Reply::Described(tables) => Ok(tables),
            Reply::Unable(message) => Err(BuildError::Task(message)),
            other => Err(BuildError::Service(unexpected(&other))),
        }
    }

    /// Runs statements, each on these databases in order, within the step limit of each database.
    /// Passes the runs to `each`, in order for each statement.
    pub(crate) async fn run(
        &self,
        statements: &[&str],
        options: RunOptions,
        on: &[(&ImageDatabase, u64)],
        large: &mut LargeResults,
        each: &mut Each<'_>,
    ) -> Result<(), Fault> {
        let mut progress = Progress::new(statements.len(), on.len());
        // Runs are sent in batches until a worker does not reply, then one at a time, to determine
        // which run is too slow.
        let mut batched = true;
        while let Some((statement, database)) = progress.next() {
            if let Some(attempt) = self.cached(statements[statement], options, on[database]) {
                progress.record(attempt, each);
                continue;
            }
            let is_cached = |other: usize| {
                self.cached(statements[other], options, on[database])
                    .is_some()
            };
            let (requested, on) = if batched {
                (progress.batch(is_cached), &on[database..])
            } else {
                (vec![statement], &on[database..=database])
            };
            let sql: Vec<&str> = requested.iter().map(|at| statements[*at]).collect();
            let reply_bytes = large.reply_bytes(options.limits);
            let is_one_run = requested.len() == 1 && on.len() == 1;
            let reply = if batched && !is_one_run {
                let Some(reply) = self.ask(&sql, options, on, reply_bytes).await? else {
                    batched = false;
                    continue;
                };
                reply
            } else {
                match self.ask_untrusted(&sql, options, on, reply_bytes).await? {
                    UntrustedReply::Answered(reply) => reply,
                    UntrustedReply::Overran => {
                        progress.record(too_slow(), each);
                        continue;
                    }
                }
            };
            match reply {
                Reply::Ran(all) if all.first().is_some_and(|runs| !runs.is_empty()) => {
                    for (at, runs) in requested.into_iter().zip(all) {
                        for (ran, (database, steps)) in runs.into_iter().zip(on) {
                            let ran = Arc::new(ran);
                            if let Some(key) = key(statements[at], options, database, *steps) {
                                self.0.runs.insert(key, Arc::clone(&ran));
                            }
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
                        return Err(service_fault(format!(
                            "a result has {bytes} bytes, more than its limits allow"
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

    /// The cached run, if there is one that may be used.
    fn cached(
        &self,
        sql: &str,
        options: RunOptions,
        (database, steps): (&ImageDatabase, u64),
    ) -> Option<Attempt> {
        let ran = self.0.runs.get(&key(sql, options, database, steps)?)?;
        Some(Attempt {
            ran,
            deterministic: true,
        })
    }

    /// Requests one run, and again with the image if the worker does not have it.
    async fn ask_untrusted(
        &self,
        sql: &[&str],
        options: RunOptions,
        on: &[(&ImageDatabase, u64)],
        reply_bytes: u64,
    ) -> Result<UntrustedReply<Reply>, Fault> {
        let timeout = timeout(steps(on), options.timeout);
        match self
            .0
            .client
            .ask_untrusted(&request(sql, options, on, false, reply_bytes), timeout)
            .await?
        {
            UntrustedReply::Answered(Reply::Missing) => {
                self.0
                    .client
                    .ask_untrusted(&request(sql, options, on, true, reply_bytes), timeout)
                    .await
            }
            reply => Ok(reply),
        }
    }

    /// Requests several runs, and again with the images if the worker does not have all of them;
    /// `None` if a worker did not reply.
    async fn ask(
        &self,
        sql: &[&str],
        options: RunOptions,
        on: &[(&ImageDatabase, u64)],
        reply_bytes: u64,
    ) -> Result<Option<Reply>, Fault> {
        let timeout = timeout(steps(on).saturating_mul(sql.len() as u64), options.timeout);
        match self
            .0
            .client
            .ask(&request(sql, options, on, false, reply_bytes), timeout)
            .await?
        {
            Some(Reply::Missing) => {
                self.0
                    .client
                    .ask(&request(sql, options, on, true, reply_bytes), timeout)
                    .await
            }
            reply => Ok(reply),
        }
    }
}

/// A request to run statements on these databases; `with_bytes` includes their images.
fn request(
    sql: &[&str],
    options: RunOptions,
    on: &[(&ImageDatabase, u64)],
    with_bytes: bool,
    reply_bytes: u64,
) -> Request {
    let RunOptions { limits, order, .. } = options;
    let image = |database: &ImageDatabase| {
        if with_bytes {
            database.with_bytes()
        } else {
            database.without_bytes()
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
        order,
        reply_bytes,
    })
}

fn timeout(steps: u64, max_time: Duration) -> Duration {
    EXTRA_TIME
        .saturating_add(Duration::from_secs(steps / MIN_STEPS_PER_SECOND))
        .min(max_time)
}

fn steps(on: &[(&ImageDatabase, u64)]) -> u64 {
    on.iter()
        .fold(0, |sum, (_, steps)| sum.saturating_add(*steps))
}

/// A run that exceeded its processor time. It is nondeterministic, because
/// another run may end differently.
fn too_slow() -> Attempt {
    Attempt {
        ran: Arc::new(Ran::ended(End::OutOfSteps)),
        deterministic: false,
    }
}

/// A hash of everything that a run depends on, and of the name under which it is cached. `None` if
/// it is not cached.
fn key(sql: &str, options: RunOptions, database: &ImageDatabase, steps: u64) -> Option<Hash> {
    let name = options.cache?;
    let Limits {
        rows,
        bytes,
        memory_bytes,
        long_values,
        long_value_steps,
    } = options.limits;
    let numbers = [
        steps,
        rows,
        bytes,
        memory_bytes,
        u64::from(long_values),
        long_value_steps,
        options.order as u64,
    ]
    .map(u64::to_le_bytes)
    .concat();
    Some(Hash::of_parts(&[
        name.as_bytes(),
        sql.as_bytes(),
        database.hash.as_bytes(),
        &numbers,
    ]))
}

fn unexpected(reply: &Reply) -> Fault {
    match reply {
        Reply::Unable(message) => service_fault(message.clone()),
        _ => service_fault("a worker sent an unexpected reply".to_owned()),
    }
}

fn service_fault(message: String) -> Fault {
    Fault::transient(ErrorCode::SandboxFailed, message)
}

#[cfg(test)]
mod tests {
    use assay_worker::query::ReadOrder;

    use super::*;

    #[test]
    fn runs_are_cached_for_each_name() {
        let database = ImageDatabase {
            hash: Hash::of(b"database"),
            name: "database".into(),
            bytes: Arc::default(),
        };
        let limits = Limits {
            rows: 1,
            bytes: 1,
            memory_bytes: 1,
            long_values: false,
            long_value_steps: 1,
        };
        let key_of = |cache: Option<&[u8]>| {
            let options = RunOptions {
                limits,
                order: ReadOrder::Stored,
                timeout: BUILD_TIMEOUT,
                cache: cache.map(Hash::of),
            };
            key("select 1", options, &database, 1)
        };
        assert_eq!(key_of(None), None);
        assert_eq!(key_of(Some(b"alice")), key_of(Some(b"alice")));
        assert_ne!(key_of(Some(b"alice")), key_of(Some(b"bob")));
    }
}
