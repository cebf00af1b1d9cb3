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
    #[error(
        "cannot use the packaged image `{}`: {reason}; install the package again",
        path.display()
    )]
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
    /// There is no folder for compiled images.
    #[error(
        "there is no folder for compiled images, because neither `HOME` nor `XDG_CACHE_HOME` is \
         set; set one of them, or `sandbox_workers.images` (`ASSAY_SANDBOX_WORKERS_IMAGES`)"
    )]
    NoFolder,
    /// Another user owns the folder of compiled images.
    #[error(
        "the images in `{}` are machine code that another user can replace: the folder belongs to \
         the user {owner}, and this process runs as {user}; set `sandbox_workers.images` \
         (`ASSAY_SANDBOX_WORKERS_IMAGES`) to another folder, or change its owner",
        folder.display()
    )]
    OtherOwner {
        /// The folder.
        folder: PathBuf,
        /// The id of its owner.
        owner: u32,
        /// The id of the user of this process.
        user: u32,
    },
    /// All users can write to the folder of compiled images.
    #[error(
        "the images in `{}` are machine code that another user can replace: the folder is writable \
         by all users, as volumes of Kubernetes (`emptyDir`) are; set `sandbox_workers.images` \
         (`ASSAY_SANDBOX_WORKERS_IMAGES`) to a new folder in it, such as `{}`, which is created \
         with safe permissions, or run `chmod o-w` on it",
        folder.display(),
        folder.join("assay").display()
    )]
    WritableByOthers {
        /// The folder.
        folder: PathBuf,
    },
    /// Another user owns a file of an image, or can write to it.
    #[error(
        "`{}` belongs to an image, which is machine code, and another user owns it or can write \
         to it; remove it, so that the image is compiled again, or set `sandbox_workers.images` \
         (`ASSAY_SANDBOX_WORKERS_IMAGES`) to another folder",
        path.display()
    )]
    Foreign {
        /// The file or folder.
        path: PathBuf,
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
    /// A file of the image is not the one that was stored with it.
    #[error(
        "the image `{image}` is damaged: `{}` does not match its checksum; build it again with \
         `make images`",
        path.display()
    )]
    Damaged {
        /// The image.
        image: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A file of the image does not exist.
    #[error(
        "the image `{image}` is incomplete: there is no `{}`; build it again with `make images`",
        path.display()
    )]
    Incomplete {
        /// The image.
        image: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The engine cannot be set up on this machine.
    #[error("cannot set up the WebAssembly engine: {0}")]
    Engine(String),
}

impl ImageError {
    /// Whether the system could not read a file at present, so that nothing is known about its
    /// content.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        let Self::File { error, .. } = self else {
            return false;
        };
        let codes = [
            libc::EMFILE,
            libc::ENFILE,
            libc::ENOMEM,
            libc::EIO,
            libc::EINTR,
            libc::EAGAIN,
            libc::ESTALE,
            libc::ETIMEDOUT,
        ];
        error
            .raw_os_error()
            .is_some_and(|code| codes.contains(&code))
    }
}
