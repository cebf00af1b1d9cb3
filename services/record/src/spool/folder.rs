//! Durable folders.

use std::fs::File;
use std::io;
use std::path::Path;

/// Syncs the directory entries of a folder to disk.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
