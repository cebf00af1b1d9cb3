//! Where rows come from: one file a format. Rows come one by one, in the order of the file; a row
//! that cannot be read is told as such and the next one follows where the format allows it.

mod chunks;
mod csv;
mod json;
mod jsonl;
mod pages;
mod parquet;
mod quotes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::row::{Place, Read};

/// Longest row, in bytes of its text.
const LONGEST_ROW: usize = 64 << 20;

/// Rows of a file, in its order.
pub(crate) type Rows = Box<dyn Iterator<Item = Read> + Send>;

/// A dataset cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be opened.
    #[error("cannot read `{path}`: {error}")]
    Open {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is a folder.
    #[error("`{0}` is a folder; name the files in it")]
    Folder(PathBuf),
    /// It has no row.
    #[error("`{0}` has no row")]
    Empty(String),
    /// A row cannot be read, of a file that is needed whole.
    #[error("{place}: {message}")]
    Row {
        /// Where it stands.
        place: Place,
        /// Why.
        message: String,
    },
    /// No row of a benchmark has a prompt.
    #[error("no row of `{path}` has a prompt to compare with{message}")]
    NoPrompt {
        /// Its path.
        path: PathBuf,
        /// What became of the first row, after a colon; nothing where that says no more.
        message: String,
    },
    /// The name of the file says nothing of its format.
    #[error(
        "cannot tell the format of `{0}`; datasets end in `.jsonl`, `.ndjson`, `.json`, `.csv`, \
         `.tsv` or `.parquet`"
    )]
    Format(PathBuf),
    /// The file is not of its format.
    #[error("`{path}` is no {format} file: {message}")]
    Broken {
        /// Its path.
        path: PathBuf,
        /// The format its name tells.
        format: &'static str,
        /// Why.
        message: String,
    },
}

/// What places of one dataset have in common.
#[derive(Clone)]
struct Places {
    dataset: Arc<str>,
    is_line: bool,
}

impl Places {
    fn at(&self, number: u64) -> Place {
        Place {
            dataset: Arc::clone(&self.dataset),
            number,
            is_line: self.is_line,
        }
    }
}

/// The rows of the file at `path`, told as those of `name`.
///
/// # Errors
/// [`SourceError`]: the file cannot be opened or is of no known format.
pub(crate) fn open(name: &str, path: &Path) -> Result<Rows, SourceError> {
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    let places = |is_line| Places {
        dataset: name.into(),
        is_line,
    };
    let file = || {
        if path.is_dir() {
            return Err(SourceError::Folder(path.to_owned()));
        }
        std::fs::File::open(path).map_err(|error| SourceError::Open {
            path: path.to_owned(),
            error,
        })
    };
    let broken = |format, message| SourceError::Broken {
        path: path.to_owned(),
        format,
        message,
    };
    Ok(match extension.as_str() {
        "jsonl" | "ndjson" => Box::new(jsonl::rows(file()?, places(true))),
        "json" => json::rows(file()?, &places(false), &places(true))
            .map_err(|message| broken("JSON", message))?,
        "csv" => Box::new(
            csv::rows(file()?, b',', places(true)).map_err(|message| broken("CSV", message))?,
        ),
        "tsv" => Box::new(
            csv::rows(file()?, b'\t', places(true)).map_err(|message| broken("TSV", message))?,
        ),
        "parquet" => Box::new(
            parquet::rows(file()?, places(false)).map_err(|message| broken("Parquet", message))?,
        ),
        _ => return Err(SourceError::Format(path.to_owned())),
    })
}
