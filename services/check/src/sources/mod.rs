//! Dataset files, one module per format. Rows are read one at a time, in the order of the file.
//! After an unreadable row, reading continues if the format allows it.

mod bounded_file;
mod checked_pages;
mod csv;
mod json;
mod jsonl;
mod parquet;
mod quote_tracker;
mod rows;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use assay_templates::{Row, RowTextError};

use crate::row::{RowLocation, SourceRow};
use rows::Locations;

pub(crate) use rows::Rows;

/// Why a dataset cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be opened.
    #[error("cannot read `{path}`: {error}")]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The path is a folder.
    #[error("`{0}` is a folder; name the files in it")]
    Folder(PathBuf),
    /// A Parquet file is compressed as a whole.
    #[error("`{0}` is a compressed Parquet file; decompress it")]
    CompressedParquet(PathBuf),
    /// The file has no rows.
    #[error("`{0}` has no rows")]
    Empty(String),
    /// A row of a benchmark cannot be read. Benchmarks must be read completely.
    #[error("{location}: {message}")]
    Row {
        /// Location of the row.
        location: RowLocation,
        /// Why it cannot be read.
        message: String,
    },
    /// No row of a benchmark has a prompt.
    #[error("no row of `{path}` has a prompt to compare with{message}")]
    NoPrompt {
        /// Path of the file.
        path: PathBuf,
        /// The error of the first row after a colon, or empty.
        message: String,
    },
    /// The file name has no known extension.
    #[error(
        "cannot determine the format of `{0}`; use the extension `.jsonl`, `.ndjson`, `.json`, \
         `.csv`, `.tsv` or `.parquet`, of which all but the last may be followed by `.gz` or `.zst`"
    )]
    Format(PathBuf),
    /// The content does not match the format of the file name.
    #[error("`{path}` is not a {format} file: {message}")]
    SyntaxError {
        /// Path of the file.
        path: PathBuf,
        /// The format of the file name.
        format: &'static str,
        /// Why it cannot be read.
        message: String,
    },
}

/// The rows of a dataset file, in order: the location of each with its columns, or why it cannot be
/// read. The column `task` is left out.
///
/// # Errors
/// [`SourceError`]: the file cannot be opened or has no known format.
pub fn read_rows(
    name: &str,
    path: &Path,
) -> Result<impl Iterator<Item = (RowLocation, Result<Row, String>)> + use<>, SourceError> {
    Ok(open(name, path)?.map(|row| match row {
        SourceRow::Row(row) if row.lost_digits => {
            let message = RowTextError::LargeInteger.to_string();
            (row.location, Err(message))
        }
        SourceRow::Row(row) => (row.location, Ok(row.columns)),
        SourceRow::Unreadable { location, message } => (location, Err(message)),
    }))
}

/// The name of standard input, which contains JSON lines.
pub const STANDARD_INPUT: &str = "-";

/// The extensions of dataset files, without those of their compression.
const EXTENSIONS: &[&str] = &["jsonl", "ndjson", "json", "csv", "tsv", "parquet"];

/// How a file is compressed as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstandard,
}

/// The extension of a path without that of its compression, in lower case, and the compression.
fn format(path: &Path) -> (String, Compression) {
    let extension = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.unwrap_or_default().to_ascii_lowercase()
    };
    let compression = match extension(path).as_str() {
        "gz" => Compression::Gzip,
        "zst" => Compression::Zstandard,
        _ => return (extension(path), Compression::None),
    };
    (extension(&path.with_extension("")), compression)
}

/// Whether a path has the name of a dataset file.
#[must_use]
pub fn is_dataset(path: &Path) -> bool {
    EXTENSIONS.contains(&format(path).0.as_str())
}

/// The rows of the file at `path`, with locations in the dataset `name`.
///
/// # Errors
/// [`SourceError`]: the file cannot be opened or has no known format.
pub(crate) fn open(name: &str, path: &Path) -> Result<Rows, SourceError> {
    let locations = |is_line| Locations {
        dataset: name.into(),
        is_line,
    };
    if path.as_os_str() == STANDARD_INPUT {
        return Ok(Box::new(jsonl::rows(io::stdin(), locations(true))));
    }
    let (extension, compression) = format(path);
    let unreadable = |error| SourceError::Open {
        path: path.to_owned(),
        error,
    };
    let file = || {
        if path.is_dir() {
            return Err(SourceError::Folder(path.to_owned()));
        }
        File::open(path).map_err(unreadable)
    };
    let content = || -> Result<Box<dyn Read + Send>, SourceError> {
        Ok(match compression {
            Compression::None => Box::new(file()?),
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(file()?)),
            Compression::Zstandard => Box::new(zstd::Decoder::new(file()?).map_err(unreadable)?),
        })
    };
    let broken = |format, message| SourceError::SyntaxError {
        path: path.to_owned(),
        format,
        message,
    };
    Ok(match extension.as_str() {
        "jsonl" | "ndjson" => Box::new(jsonl::rows(content()?, locations(true))),
        "json" => json::rows(content()?, &locations(false), &locations(true))
            .map_err(|message| broken("JSON", message))?,
        "csv" => Box::new(
            csv::rows(content()?, b',', locations(true))
                .map_err(|message| broken("CSV", message))?,
        ),
        "tsv" => Box::new(
            csv::rows(content()?, b'\t', locations(true))
                .map_err(|message| broken("TSV", message))?,
        ),
        "parquet" if compression != Compression::None => {
            return Err(SourceError::CompressedParquet(path.to_owned()));
        }
        "parquet" => Box::new(
            parquet::rows(file()?, locations(false))
                .map_err(|message| broken("Parquet", message))?,
        ),
        _ => return Err(SourceError::Format(path.to_owned())),
    })
}
