//! Errors of building and loading images.

use std::io;
use std::path::PathBuf;

/// An image cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A file cannot be read or written.
    #[error("cannot use `{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The image was not built.
    #[error(
        "the image `{image}` is not in `{}`; run `assay images` to list the installed ones",
        folder.display()
    )]
    Missing {
        /// The image.
        image: &'static str,
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// A packaged image cannot be used.
    #[error("cannot use the packaged image `{}`: {reason}", path.display())]
    Package {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// A packaged image must be compiled first, but there is no place for the result.
    #[error(
        "the image `{image}` must be compiled for this machine, but the folder `{}` cannot be \
         written: {error}; set `sandbox_workers.images` (`ASSAY_SANDBOX_WORKERS_IMAGES`) to a \
         writable folder",
        folder.display()
    )]
    NotWritable {
        /// The image.
        image: &'static str,
        /// The folder.
        folder: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// There is no such image.
    #[error("no image `{0}`; run `assay images` to list the installed ones")]
    Unknown(String),
    /// The engine rejects the image.
    #[error("the image `{image}` does not work: {reason}; build it again with `make images`")]
    SyntaxError {
        /// The image.
        image: &'static str,
        /// The cause.
        reason: String,
    },
    /// The engine cannot be set up on this machine.
    #[error("cannot set up the WebAssembly engine: {0}")]
    Engine(String),
}
