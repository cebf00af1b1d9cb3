//! Where untrusted work runs: the pool of cells, the images they have, the hidden role in which this binary is a cell, and the
//! database server of the operator's.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

pub use assay_cell::program::ImageInfo;
use assay_cell::query::{self, Server};
use assay_cell::{
    CellError, CellOptions, Cells, Handlers, Words, close_inherited, confine, end_with_parent, ignore_stop_signals,
    role, survive_file_limits,
};
use assay_code::Programs;
use assay_core::execution::{Execute, Execution};
use assay_sql::Queries;
use assay_sqlbox::{Databases, Postgres, PostgresOptions};
use assay_wasm::{Folder, ImageError, LANGUAGES};
use futures::future::join_all;

use crate::{config, observe};

/// Native stack of the thread that answers requests in a cell: guests run on it.
const CELL_STACK: usize = 192 << 20;

/// Longest wait of an exiting cell for the log to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Time limit of one warm-up step; the node becomes ready even if it is exceeded.
const WARM_UP: Duration = Duration::from_secs(10);

fn empty_program(language: &str) -> Execution {
    Execution {
        language: language.to_owned(),
        text: String::new(),
        stdin: Vec::new(),
        seconds: 1.0,
        memory_bytes: None,
        turn: WARM_UP,
    }
}

/// The cells of a node and what they can run.
#[derive(Clone)]
pub struct Sandboxes {
    /// The pool.
    pub cells: Cells,
    /// Programs in them.
    pub programs: Programs,
    /// Queries in them, and on a server where one is named.
    pub queries: Queries,
    languages: Vec<String>,
}

impl Sandboxes {
    /// The cells and the server this configuration asks for. None is started or reached yet.
    ///
    /// # Errors
    /// When this binary cannot be found, which a cell is started from.
    pub fn open(config: &config::Cells, sql: &config::Sql) -> std::io::Result<Self> {
        let program =
            if config.program.as_os_str().is_empty() { std::env::current_exe()? } else { config.program.clone() };
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let count = if config.count == 0 { cores } else { config.count };
        let arguments = vec![config.images.clone().into_os_string()];
        let cells = Cells::new(CellOptions { program, arguments, count });
        let images = images(config);
        let languages = images.iter().map(|image| image.language.clone()).collect();
        let programs = Programs::new(cells.clone(), images);
        let queries = Queries::new(cells.clone(), server(sql), sql.result_bytes);
        Ok(Self { cells, programs, queries, languages })
    }

    /// Starts the cells.
    ///
    /// # Errors
    /// [`CellError::Start`].
    pub fn start(&self) -> Result<(), CellError> {
        if self.languages.is_empty() {
            tracing::warn!("no image is built, so programs are not graded; `make images` builds them");
        }
        self.cells.warm()
    }

    /// Runs an empty program of each language and an empty query in every cell, so that no client request has to wait
    /// until a cell maps an image or compiles its first module.
    pub async fn warm(&self) {
        let cells = 0..self.cells.count();
        for language in &self.languages {
            let runs = cells.clone().map(|_| self.programs.execute(empty_program(language)));
            for run in join_all(runs).await {
                if let Err(error) = run {
                    tracing::warn!(language, %error, "warm-up failed: a cell could not run an empty program");
                }
            }
        }
        let queries = cells.map(|_| async { self.cells.ask(&query::Request::probe(), WARM_UP).await });
        for reply in join_all(queries).await {
            if let Err(error) = reply {
                tracing::warn!(%error, "warm-up failed: a cell could not run an empty query");
            }
        }
    }
}

/// The database server this configuration names.
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

/// The images this configuration has.
#[must_use]
pub fn images(config: &config::Cells) -> Vec<ImageInfo> {
    Folder::new(&config.images).installed()
}

/// Builds the image of a language from its interpreter, unless it is there.
///
/// # Errors
/// [`ImageError`], also for a language there can be no image of.
pub fn build_image(config: &config::Cells, language: &str, interpreter: &Path) -> Result<(), ImageError> {
    let known = LANGUAGES.iter().find(|known| known.name == language);
    let language = known.ok_or_else(|| ImageError::Unknown(language.to_owned()))?;
    assay_wasm::build(&Folder::new(&config.images), language, interpreter).map(drop)
}

/// Serves as a cell when this process was started as one; `None` otherwise. The first thing a binary with a node asks.
#[must_use]
pub fn answer_role() -> Option<ExitCode> {
    survive_file_limits();
    let arguments = role()?;
    close_inherited();
    ignore_stop_signals();
    // Logging twice is no error, and a cell with none still works.
    let _ = observe::logs(&config::Log { filter: "warn".to_owned(), ..config::Log::default() });
    let images = arguments.into_iter().next().map(PathBuf::from).unwrap_or_default();
    let cell = std::thread::Builder::new().name("assay-cell".to_owned()).stack_size(CELL_STACK);
    let served = cell.spawn(move || be_a_cell(&images)).map(std::thread::JoinHandle::join);
    observe::flush_logs(LAST_LINES);
    Some(match served {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Maps images, gives up what a cell needs no more, answers requests until the parent is gone.
fn be_a_cell(images: &Path) -> bool {
    let programs = match assay_wasm::Programs::load(&Folder::new(images)) {
        Ok(programs) => programs,
        Err(error) => {
            tracing::error!(%error, "this cell cannot run programs");
            return false;
        }
    };
    let databases = match Databases::new() {
        Ok(databases) => databases,
        Err(error) => {
            tracing::error!(%error, "this cell cannot run queries");
            return false;
        }
    };
    if let Err(error) = end_with_parent() {
        tracing::error!(%error, "this cell could not end with its parent");
        return false;
    }
    let _ = confine();
    Handlers::new().with(programs).with(databases).serve().is_ok()
}
