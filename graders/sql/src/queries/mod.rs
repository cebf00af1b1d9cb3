//! Runs statements: SQLite in workers, PostgreSQL on the operator's server. Both have the
//! same interface.

mod asking;
mod large;
mod progress;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use assay_core::{ErrorCode, Fault};
use assay_worker::WorkerPool;
use assay_worker::query::{Build, End, Limits, Ran, Server, ServerError, Table, TableRows};
use serde_bytes::ByteBuf;

use crate::task::{Dialect, Source};
pub(crate) use large::LargeResults;
use workers::{Held, SandboxQueries};

/// Longest wall time of a request that runs predictions.
pub(crate) const FOR_PREDICTIONS: Duration = Duration::from_secs(120);

/// Longest wall time of a request that runs golds: shorter, so that a prediction as slow as the
/// gold never exceeds its own.
pub(crate) const FOR_GOLDS: Duration = Duration::from_secs(40);

/// How statements are run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// What each may use.
    pub(crate) limits: Limits,
    /// Whether rows are requested in another order where the statement leaves it undefined.
    pub(crate) reverse: bool,
    /// Longest wall time of a request to a worker. Exceeding it matters only if the worker used a
    /// processor meanwhile.
    pub(crate) longest: Duration,
}

/// One run of a statement, and whether it is deterministic.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) ran: Arc<Ran>,
    pub(crate) deterministic: bool,
}

/// Receives the runs of statements: the index of the statement, and its run on the next database.
/// Returns whether to run it on further ones.
pub(crate) type Each<'a> = dyn FnMut(usize, Attempt) -> bool + Send + 'a;

/// Why there is no database, or no description of it.
pub(crate) enum Unbuilt {
    /// The task is at fault, and how.
    Task(String),
    /// We are.
    Ours(Fault),
}

/// A database that statements are run on. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Database {
    Image(Held),
    OnServer(Arc<str>),
}

impl Database {
    /// Bytes of it that are held here.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Image(held) => held.bytes(),
            Self::OnServer(_) => 0,
        }
    }

    /// A name of its content.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Image(held) => held.name(),
            Self::OnServer(name) => name,
        }
    }
}

/// Runs queries. Cheap to clone: clones share workers, server and what is kept.
#[derive(Clone)]
pub struct Queries {
    workers: SandboxQueries,
    server: Option<Arc<dyn Server>>,
    result_bytes: u64,
}

impl Queries {
    /// Queries in these workers, and on this server if there is one. The results of the golds of a
    /// task over all its databases may have at most `result_bytes`, and so may those of a
    /// prediction.
    #[must_use]
    pub fn new(workers: WorkerPool, server: Option<Arc<dyn Server>>, result_bytes: u64) -> Self {
        Self {
            workers: SandboxQueries::new(workers),
            server,
            result_bytes,
        }
    }

    /// Most bytes of result rows of the golds of a task, and of a prediction.
    pub(crate) fn result_bytes(&self) -> u64 {
        self.result_bytes
    }

    /// For one call that runs statements; it may acquire a permit for large results.
    pub(crate) fn call(&self) -> LargeResults {
        self.workers.call()
    }

    fn server(&self) -> Result<&dyn Server, Fault> {
        self.server.as_deref().ok_or_else(|| {
            let message = "no PostgreSQL server is configured; name one in `sql.postgres`";
            Fault::permanent(ErrorCode::GraderUnavailable, message)
        })
    }

    /// Builds the database of a task.
    pub(crate) async fn build(
        &self,
        dialect: Dialect,
        source: &Source,
    ) -> Result<Database, Unbuilt> {
        match dialect {
            Dialect::Sqlite => {
                let image = source.image.clone().map(ByteBuf::from);
                let build = Build {
                    image,
                    scripts: source.scripts.clone(),
                    rows: None,
                };
                self.workers.build(build).await.map(Database::Image)
            }
            Dialect::Postgres => {
                let server = self.server().map_err(Unbuilt::Ours)?;
                match server.build(&source.scripts).await {
                    Ok(name) => Ok(Database::OnServer(name.into())),
                    Err(ServerError::Scripts(message)) => Err(Unbuilt::Task(message)),
                    Err(error) => Err(Unbuilt::Ours(unreachable(&error))),
                }
            }
        }
    }

    /// Builds a database with the schema of another and different rows.
    pub(crate) async fn with_rows(
        &self,
        base: &Database,
        rows: Vec<TableRows>,
    ) -> Result<Database, Unbuilt> {
        match base {
            Database::Image(held) => self
                .workers
                .with_rows(held, rows)
                .await
                .map(Database::Image),
            Database::OnServer(_) => Err(Unbuilt::Task(
                "variants are generated for SQLite only".to_owned(),
            )),
        }
    }

    /// The sources of a database.
    pub(crate) async fn describe(&self, database: &Database) -> Result<Vec<Table>, Unbuilt> {
        match database {
            Database::Image(held) => self.workers.describe(held).await,
            Database::OnServer(name) => {
                let described = self.server().map_err(Unbuilt::Ours)?.describe(name).await;
                described.map_err(|error| Unbuilt::Ours(unreachable(&error)))
            }
        }
    }

    /// Runs one statement on one database.
    pub(crate) async fn run_one(
        &self,
        sql: &str,
        terms: Terms,
        on: (&Database, u64),
        large: &mut LargeResults,
    ) -> Result<Attempt, Fault> {
        let mut found = None;
        let mut each = |_: usize, attempt: Attempt| {
            found = Some(attempt);
            false
        };
        self.run(&[sql], terms, &[on], large, &mut each).await?;
        found.ok_or_else(|| Fault::transient(ErrorCode::SandboxFailed, "a worker did not answer"))
    }

    /// Runs statements, each on these databases in order, within the steps of each database if
    /// steps are counted. Passes the runs to `each`, in order for each statement. A statement ends
    /// with the first database on which it does not return rows.
    pub(crate) async fn run(
        &self,
        statements: &[&str],
        terms: Terms,
        on: &[(&Database, u64)],
        large: &mut LargeResults,
        each: &mut Each<'_>,
    ) -> Result<(), Fault> {
        let held: Vec<(&Held, u64)> = on
            .iter()
            .filter_map(|(database, steps)| match database {
                Database::Image(held) => Some((held, *steps)),
                Database::OnServer(_) => None,
            })
            .collect();
        if held.len() == on.len() {
            return self
                .workers
                .run(statements, terms, &held, large, each)
                .await;
        }
        for (place, sql) in statements.iter().enumerate() {
            for (database, _) in on {
                let ran = self
                    .server()?
                    .run(database.name(), sql, terms.limits, terms.reverse)
                    .await;
                let ran = ran.map_err(|error| unreachable(&error))?;
                let gave_rows = ran.end == End::Rows;
                let goes_on = each(
                    place,
                    Attempt {
                        ran: Arc::new(ran),
                        deterministic: false,
                    },
                );
                if !(goes_on && gave_rows) {
                    break;
                }
            }
        }
        Ok(())
    }
}

fn unreachable(error: &ServerError) -> Fault {
    Fault::transient(ErrorCode::GraderUnavailable, error.to_string())
}
