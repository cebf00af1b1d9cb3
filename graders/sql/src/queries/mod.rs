//! Runs statements, with one interface for SQLite in workers and PostgreSQL on the operator's
//! server.

mod client;
mod large;
mod progress;
mod run;
mod workers;

pub(crate) use run::{Attempt, BuildError, Each, RunOptions};

use std::sync::Arc;
use std::time::Duration;

use assay_core::{ErrorCode, Fault};
use assay_worker::WorkerPool;
use assay_worker::query::{Build, End, Server, ServerError, Table, TableRows};
use serde_bytes::ByteBuf;

use crate::task::{Dialect, Source};
pub(crate) use large::LargeResults;
use workers::{ImageDatabase, SandboxQueries};

/// Most processor time of a request that runs predictions on a database with a slow gold or a high
/// limit on steps.
pub(crate) const PREDICTION_TIMEOUT: Duration = Duration::from_secs(120);

/// Most processor time of a request that runs golds. It is shorter than for predictions, so that a
/// prediction as slow as the gold never exceeds its limit.
pub(crate) const GOLD_TIMEOUT: Duration = Duration::from_secs(40);

/// Most processor time of a request that runs other predictions. A worker gets three of them: for
/// several runs, and two for the one that is too slow.
pub(crate) const QUICK_PREDICTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Most processor time of a quick gold. It is shorter than for quick predictions.
pub(crate) const QUICK_GOLD_TIMEOUT: Duration = Duration::from_secs(2);

/// A database that statements are run on. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Database {
    /// An SQLite database.
    Image(ImageDatabase),
    /// The name of a database on the PostgreSQL server.
    OnServer(Arc<str>),
}

impl Database {
    /// Its size in the memory of this process, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Image(image) => image.bytes(),
            Self::OnServer(_) => 0,
        }
    }

    /// A name that identifies its content.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Image(image) => image.name(),
            Self::OnServer(name) => name,
        }
    }
}

/// Runs queries. Cheap to clone: clones share the workers, the server and cached results.
#[derive(Clone)]
pub struct Queries {
    workers: SandboxQueries,
    server: Option<Arc<dyn Server>>,
    result_bytes: u64,
}

impl Queries {
    /// Runs queries in these workers, and on `server` if there is one. `result_bytes` limits the
    /// bytes of the results of all golds of a task over all its databases, and those of a
    /// prediction.
    #[must_use]
    pub fn new(workers: WorkerPool, server: Option<Arc<dyn Server>>, result_bytes: u64) -> Self {
        Self {
            workers: SandboxQueries::new(workers),
            server,
            result_bytes,
        }
    }

    /// The workers in which sessions run.
    pub(crate) fn session_workers(&self) -> &WorkerPool {
        self.workers.pool()
    }

    /// Maximum bytes of the results of all golds of a task, and of a prediction.
    pub(crate) fn result_bytes(&self) -> u64 {
        self.result_bytes
    }

    /// The state of a new call that runs statements. It may acquire a permit for large results.
    pub(crate) fn call(&self) -> LargeResults {
        self.workers.call()
    }

    fn server(&self) -> Result<&dyn Server, Fault> {
        self.server.as_deref().ok_or_else(|| {
            let message = "no PostgreSQL server is configured; set `sql.postgres` to its URL";
            Fault::permanent(ErrorCode::GraderUnavailable, message)
        })
    }

    /// Builds the database of a task.
    pub(crate) async fn build(
        &self,
        dialect: Dialect,
        source: &Source,
    ) -> Result<Database, BuildError> {
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
                let server = self.server().map_err(BuildError::Service)?;
                match server.build(&source.scripts).await {
                    Ok(name) => Ok(Database::OnServer(name.into())),
                    Err(ServerError::Scripts(message)) => Err(BuildError::Task(message)),
                    Err(error) => Err(BuildError::Service(unreachable(&error))),
                }
            }
        }
    }

    /// Builds a database with the schema of another and different rows.
    pub(crate) async fn with_rows(
        &self,
        base: &Database,
        rows: Vec<TableRows>,
    ) -> Result<Database, BuildError> {
        match base {
            Database::Image(image) => self
                .workers
                .with_rows(image, rows)
                .await
                .map(Database::Image),
            Database::OnServer(_) => Err(BuildError::Task(
                "variants can be generated only for SQLite".to_owned(),
            )),
        }
    }

    /// Describes the tables of a database.
    pub(crate) async fn describe(&self, database: &Database) -> Result<Vec<Table>, BuildError> {
        match database {
            Database::Image(image) => self.workers.describe(image).await,
            Database::OnServer(name) => {
                let described = self
                    .server()
                    .map_err(BuildError::Service)?
                    .describe(name)
                    .await;
                described.map_err(|error| BuildError::Service(unreachable(&error)))
            }
        }
    }

    /// Runs one statement on one database.
    pub(crate) async fn run_one(
        &self,
        sql: &str,
        options: RunOptions,
        on: (&Database, u64),
        large: &mut LargeResults,
    ) -> Result<Attempt, Fault> {
        let mut found = None;
        let mut each = |_: usize, attempt: Attempt| {
            found = Some(attempt);
            false
        };
        self.run(&[sql], options, &[on], large, &mut each).await?;
        found.ok_or_else(|| Fault::transient(ErrorCode::SandboxFailed, "a worker did not answer"))
    }

    /// Runs statements, each on these databases in order, within the step limit of each database if
    /// steps are counted. Passes the runs to `each`, in order for each statement. A statement does
    /// not run on further databases after the first one on which it does not return rows.
    pub(crate) async fn run(
        &self,
        statements: &[&str],
        options: RunOptions,
        on: &[(&Database, u64)],
        large: &mut LargeResults,
        each: &mut Each<'_>,
    ) -> Result<(), Fault> {
        let images: Vec<(&ImageDatabase, u64)> = on
            .iter()
            .filter_map(|(database, steps)| match database {
                Database::Image(image) => Some((image, *steps)),
                Database::OnServer(_) => None,
            })
            .collect();
        if images.len() == on.len() {
            return self
                .workers
                .run(statements, options, &images, large, each)
                .await;
        }
        for (index, sql) in statements.iter().enumerate() {
            for (database, _) in on {
                let ran = self
                    .server()?
                    .run(database.name(), sql, options.limits, options.order)
                    .await;
                let ran = ran.map_err(|error| unreachable(&error))?;
                let returned_rows = ran.end == End::Rows;
                let continues = each(
                    index,
                    Attempt {
                        ran: Arc::new(ran),
                        deterministic: false,
                    },
                );
                if !(continues && returned_rows) {
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
