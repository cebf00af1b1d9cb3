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
        "the image `{image}` is not in `{}`; build it with `make images`",
        folder.display()
    )]
    Missing {
        /// The image.
        image: &'static str,
        /// The folder that was searched.
        folder: PathBuf,
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
