//! Where untrusted work runs: the pool of cells, the images they have, the hidden role in which this binary is a cell, and the
//! database server of the operator's.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

pub use assay_cell::program::ImageInfo;
use assay_cell::query::Server;
use assay_cell::{CellError, CellOptions, Cells, Handlers, close_inherited, confine, end_with_parent, role};
use assay_code::Programs;
use assay_sql::Queries;
use assay_sqlbox::{Databases, Postgres, PostgresOptions};
use assay_wasm::{Folder, ImageError, LANGUAGES};

use crate::{config, observe};

/// Native stack of the thread that answers requests in a cell: guests run on it.
const CELL_STACK: usize = 192 << 20;

/// The cells of a node and what they can run.
#[derive(Clone)]
pub struct Sandboxes {
    /// The pool.
    pub cells: Cells,
    /// Programs in them.
    pub programs: Programs,
    /// Queries in them, and on a server where one is named.
    pub queries: Queries,
    has_images: bool,
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
        let has_images = !images.is_empty();
        let programs = Programs::new(cells.clone(), images);
        let queries = Queries::new(cells.clone(), server(sql));
        Ok(Self { cells, programs, queries, has_images })
    }

    /// Starts the cells.
    ///
    /// # Errors
    /// [`CellError::Start`].
    pub fn warm(&self) -> Result<(), CellError> {
        if !self.has_images {
            tracing::warn!("no image is built, so programs are not graded; `make images` builds them");
        }
        self.cells.warm()
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
    let arguments = role()?;
    close_inherited();
    // Logging twice is no error, and a cell with none still works.
    let _ = observe::logs(&config::Log { filter: "warn".to_owned(), ..config::Log::default() });
    let images = arguments.into_iter().next().unwrap_or_default();
    let cell = std::thread::Builder::new().name("assay-cell".to_owned()).stack_size(CELL_STACK);
    let served = cell.spawn(move || be_a_cell(Path::new(&images))).map(std::thread::JoinHandle::join);
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
