//! The parts of a node that run untrusted work: the pools of workers, their images, and the
//! operator's database server.

mod images;
mod interpreters;
mod role;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use assay_code::MissingImage;
use assay_code::{PrepareImages as _, PreparedImage, Programs};
use assay_core::execution::{Execute, Execution};
use assay_sessions::Interpreters;
use assay_sql::Queries;
use assay_sqlbox::{Postgres, PostgresOptions};
use assay_wasm::{Folder, IMAGES, ImageError, ImageKind};
pub use assay_worker::program::ImageInfo;
use assay_worker::query::{self, Server};
use assay_worker::{Confinement, WorkerError, WorkerOptions, WorkerPool, WorkerRequest};
use futures::future::join_all;

use crate::config;
use crate::error::NodeError;

use images::Images;
pub use images::{ImageObserver, ImageProgress, ImageState, ListedImage};
use interpreters::SandboxInterpreters;
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
        linked: None,
        arguments: Vec::new(),
        seconds: 1.0,
        memory_bytes: None,
        queue_timeout: WARM_UP,
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
    images: Images,
}

/// Packaged images that are compiled before a node is ready. They are small, and used most.
const FIRST_IMAGES: [&str; 2] = ["javascript", "python"];

impl Sandboxes {
    /// Runs calls of sessions, each of which waits at most `queue_timeout` for a worker.
    pub(crate) fn interpreters(&self, queue_timeout: Duration) -> Arc<dyn Interpreters> {
        Arc::new(SandboxInterpreters {
            programs: self.programs.clone(),
            queries: self.queries.clone(),
            queue_timeout,
        })
    }

    /// Creates the pools of workers and the connection to the database server of the configuration.
    /// Does not start workers and does not connect.
    ///
    /// # Errors
    /// [`NodeError::WorkerPool`] if the path of this binary, which is also the binary of workers,
    /// cannot be determined, and [`NodeError::Image`] if a packaged image is malformed.
    pub fn open(config: &config::SandboxWorkers, sql: &config::Sql) -> Result<Self, NodeError> {
        let program = if config.program.as_os_str().is_empty() {
            std::env::current_exe().map_err(NodeError::WorkerPool)?
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
        let images = Images::open(config).map_err(NodeError::Image)?;
        let for_programs = WorkerPool::new(options(Work::Programs(images.folder().clone())));
        images.set_workers(for_programs.clone());
        let for_queries = for_programs.sibling(options(Work::Queries));
        let programs = Programs::new(for_programs.clone(), Some(Arc::new(images.clone())));
        let queries = Queries::new(for_queries.clone(), server(sql), sql.result_bytes);
        Ok(Self {
            programs,
            queries,
            for_programs,
            for_queries,
            images,
        })
    }

    /// Reports the progress of compiling packaged images to `observer` instead of to the log.
    pub fn observe_images(&self, observer: ImageObserver) {
        self.images.observe(observer);
    }

    /// The names of the installed images, packaged ones first.
    #[must_use]
    pub fn images(&self) -> Vec<&'static str> {
        self.images.installed()
    }

    /// What is known about an installed image; `None` if it was never intact.
    #[must_use]
    pub fn image(&self, name: &str) -> Option<Arc<ImageInfo>> {
        self.images.info(name)
    }

    /// The state of the installed images, packaged ones first. Reads all their files, which takes
    /// about a second for 2 GB.
    ///
    /// # Errors
    /// [`ImageError`] if the WebAssembly engine does not work on this machine.
    pub fn list_images(&self) -> Result<Vec<ListedImage>, ImageError> {
        self.images.list()
    }

    /// The images that are not installed, and how to install them.
    #[must_use]
    pub fn missing_images(&self) -> Vec<MissingImage> {
        assay_code::missing_images(&self.images())
    }

    /// Whether an image is compiled, so that programs can run in it without waiting.
    #[must_use]
    pub fn is_compiled(&self, image: &str) -> bool {
        self.images.is_compiled(image)
    }

    /// Returns when programs can run in an image.
    ///
    /// # Errors
    /// Why they cannot.
    pub async fn prepare(&self, image: &str) -> Result<(), String> {
        self.images.prepare(image).await.map(drop)
    }

    /// Number of calls of sessions whose states are in memory at the same time: some wait while
    /// their states are read, so that workers do not.
    pub(crate) fn calls(&self) -> usize {
        4 * self.count()
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
        if self.images().is_empty() {
            tracing::warn!(
                "no image is installed, so programs cannot be graded; install `assay-rewards` with \
                 `pip`, or run `make images`"
            );
        }
        self.for_programs.warm()?;
        self.for_queries.warm()
    }

    /// Does the work that would otherwise delay the first requests: compiles packaged images, and
    /// runs an empty program in each image and an empty query in every worker, so that no request
    /// has to wait until a worker maps an image or compiles its first module.
    pub async fn warm(&self) {
        for image in self.images() {
            let is_early = FIRST_IMAGES.contains(&image);
            if is_early || self.is_compiled(image) {
                self.warm_image(image).await;
            }
        }
        let queries = (0..self.count()).map(|_| async {
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

    /// Compiles the packaged images that [`Sandboxes::warm`] does not. Items that need one before
    /// wait for it.
    pub async fn compile_rest(&self) {
        for image in self.images() {
            if !self.is_compiled(image) {
                self.warm_image(image).await;
            }
        }
    }

    /// Prepares an image and runs an empty program in every worker. If it cannot be prepared, the
    /// error is logged, and items that need it report it.
    async fn warm_image(&self, name: &str) {
        let Ok(PreparedImage { info, .. }) = self.images.prepare(name).await else {
            return;
        };
        let runs = (0..self.count()).map(|_| self.programs.execute(empty_program(&info)));
        for run in join_all(runs).await {
            if let Err(error) = run {
                tracing::warn!(image = name, %error, "warm-up failed: a worker could not run an \
                    empty program");
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

/// Builds an image from its interpreter, unless it exists.
///
/// # Errors
/// [`ImageError`], also for an unknown image.
pub fn build_image(
    config: &config::SandboxWorkers,
    image: &str,
    interpreter: &Path,
) -> Result<(), ImageError> {
    assay_wasm::build(&Folder::new(&config.images), kind(image)?, interpreter).map(drop)
}

/// Packs an image that was built from `interpreter` into a folder of packages. Returns the size of
/// the package in bytes.
///
/// # Errors
/// [`ImageError`], also for an unknown image.
pub fn pack_image(
    config: &config::SandboxWorkers,
    image: &str,
    interpreter: &Path,
    packages: &Path,
) -> Result<u64, ImageError> {
    assay_wasm::pack(
        &Folder::new(&config.images),
        kind(image)?,
        interpreter,
        packages,
    )
}

fn kind(image: &str) -> Result<&'static ImageKind, ImageError> {
    let found = IMAGES.iter().find(|known| known.name == image);
    found.ok_or_else(|| ImageError::Unknown(image.to_owned()))
}
