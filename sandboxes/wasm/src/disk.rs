//! Reads and writes the files of images.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::ImageError;

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ImageError> {
    std::fs::read(path).map_err(|error| ImageError::File {
        path: path.to_owned(),
        error,
    })
}

/// Creates a folder to which only this user writes, whatever the umask, and its parents.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// Replaces a file atomically and durably.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), ImageError> {
    let part: PathBuf = path.with_extension(format!("part{}", std::process::id()));
    let mut options = File::options();
    // Only this user writes to it, whatever the umask.
    options.write(true).create(true).truncate(true).mode(0o644);
    let written = options.open(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        // After a power failure the renamed file must not be shorter.
        file.sync_all()?;
        std::fs::rename(&part, path)
    });
    written.map_err(|error: io::Error| {
        // On a full disk, the partial file would take the space that is left.
        let _ = std::fs::remove_file(&part);
        ImageError::File {
            path: path.to_owned(),
            error,
        }
    })
}
