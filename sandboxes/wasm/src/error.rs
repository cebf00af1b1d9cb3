//! Why an image cannot be made or loaded.

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
        /// Why.
        error: io::Error,
    },
    /// The image was not built.
    #[error("the image of `{language}` is not in `{}`; build it with `make images`", folder.display())]
    Missing {
        /// The language.
        language: &'static str,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// There is no such language.
    #[error("there is no image of `{0}`; there are those `assay images` lists, or `python`")]
    Unknown(String),
    /// The engine refuses it.
    #[error("the image of `{language}` does not work: {reason}; build it again with `make images`")]
    Broken {
        /// The language.
        language: &'static str,
        /// Why.
        reason: String,
    },
    /// The engine cannot be set up on this machine.
    #[error("the engine cannot be set up: {0}")]
    Engine(String),
}
