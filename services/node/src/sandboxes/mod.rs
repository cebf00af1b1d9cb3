//! The parts of a node that run untrusted work: the pools of workers, their images, and the
//! operator's database server.

mod role;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assay_code::Programs;
use assay_core::execution::{Execute, Execution};
use assay_sql::Queries;
use assay_sqlbox::{Postgres, PostgresOptions};
use assay_wasm::{Folder, IMAGES, ImageError};
pub use assay_worker::program::ImageInfo;
use assay_worker::query::{self, Server};
use assay_worker::{Confinement, WorkerError, WorkerOptions, WorkerPool, WorkerRequest};
use futures::future::join_all;

use crate::config;

pub use role::{Work, run_as_worker};

/// Time limit of one warm-up step; the node becomes ready even if it is exceeded.
const WARM_UP: Duration = Duration::from_secs(10);

fn empty_program(image: &ImageInfo) -> Execution {
    Execution {
        language: image.language.clone(),
        image: Some(image.name.clone()),
        text: String::new(),
        stdin: Vec::new(),
        files: Vec::new(),
        fetch: Vec::new(),
        seconds: 1.0,
        memory_bytes: None,
        turn: WARM_UP,
    }
}

/// The workers of a node and what they can run.
#[derive(Clone)]
pub struct Sandboxes {
    /// Programs in workers.
    pub programs: Programs,
    /// Queries in workers, and on a database server if one is configured.
    pub queries: Queries,
    /// Programs and queries have separate workers, because C code reads hostile database images.
    for_programs: WorkerPool,
    for_queries: WorkerPool,
    images: Vec<ImageInfo>,
}

impl Sandboxes {
    /// Creates the pools of workers and the connection to the database server of the configuration.
    /// Does not start workers and does not connect.
    ///
    /// # Errors
    /// If the path of this binary, which is also the binary of workers, cannot be determined.
    pub fn open(config: &config::SandboxWorkers, sql: &config::Sql) -> std::io::Result<Self> {
        let program = if config.program.as_os_str().is_empty() {
            std::env::current_exe()?
        } else {
            config.program.clone()
        };
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let count = if config.count == 0 {
            cores
        } else {
            config.count
        };
        let options = |work: Work| {
            let arguments = work.arguments(&config.require);
            WorkerOptions {
                program: program.clone(),
                arguments,
                count,
                uses: config.uses,
            }
        };
        let for_programs = WorkerPool::new(options(Work::Programs(config.images.clone())));
        let for_queries = for_programs.sibling(options(Work::Queries));
        let images = images(config);
        let programs = Programs::new(for_programs.clone(), images.clone());
        let queries = Queries::new(for_queries.clone(), server(sql), sql.result_bytes);
        Ok(Self {
            programs,
            queries,
            for_programs,
            for_queries,
            images,
        })
    }

    /// Maximum number of concurrent requests to workers.
    #[must_use]
    pub fn count(&self) -> usize {
        self.for_programs.count()
    }

    /// Maximum number of processes of both pools.
    #[must_use]
    pub fn processes(&self) -> usize {
        self.for_programs.count() + self.for_queries.count()
    }

    /// How workers are confined.
    ///
    /// # Errors
    /// [`WorkerError`] if no worker answers.
    pub async fn confinement(&self) -> Result<Confinement, WorkerError> {
        self.for_queries.confinement().await
    }

    /// Kills all workers; running requests fail.
    pub async fn stop(&self) {
        tokio::join!(self.for_programs.stop(), self.for_queries.stop());
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// [`WorkerError::Start`].
    pub fn start(&self) -> Result<(), WorkerError> {
        if self.images.is_empty() {
            tracing::warn!(
                "no image is installed, so programs cannot be graded; run `make images`"
            );
        }
        self.for_programs.warm()?;
        self.for_queries.warm()
    }

    /// Runs an empty program in each image and an empty query in every worker, so that no client
    /// request has to wait until a worker maps an image or compiles its first module.
    pub async fn warm(&self) {
        let workers = 0..self.count();
        for image in &self.images {
            let runs = workers
                .clone()
                .map(|_| self.programs.execute(empty_program(image)));
            for run in join_all(runs).await {
                if let Err(error) = run {
                    tracing::warn!(image = image.name, %error, "warm-up failed: a worker could not run an \
                        empty program");
                }
            }
        }
        let queries = workers.map(|_| async {
            self.for_queries
                .ask(&query::Request::probe(), WARM_UP)
                .await
        });
        for reply in join_all(queries).await {
            if let Err(error) = reply {
                tracing::warn!(%error, "warm-up failed: a worker could not run an empty query");
            }
        }
    }
}

/// The database server of the configuration, if any.
fn server(config: &config::Sql) -> Option<Arc<dyn Server>> {
    let url = config.postgres.reveal();
    if url.is_empty() {
        return None;
    }
    Some(Arc::new(Postgres::new(&PostgresOptions {
        url: url.to_owned(),
        statement: Duration::from_secs(config.statement_seconds),
        databases: config.postgres_databases,
    })))
}

/// The installed images.
#[must_use]
pub fn images(config: &config::SandboxWorkers) -> Vec<ImageInfo> {
    Folder::new(&config.images).installed()
}

/// Builds an image from its interpreter, unless it exists.
///
/// # Errors
/// [`ImageError`], also for an unknown image.
pub fn build_image(
    config: &config::SandboxWorkers,
    image: &str,
    interpreter: &Path,
) -> Result<(), ImageError> {
    let found = IMAGES.iter().find(|known| known.name == image);
    let kind = found.ok_or_else(|| ImageError::Unknown(image.to_owned()))?;
    assay_wasm::build(&Folder::new(&config.images), kind, interpreter).map(drop)
}
