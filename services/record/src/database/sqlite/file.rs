//! The open database file and its log.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::connect::follow_links;
use crate::database::DatabaseError;
use crate::spool::segment::FileId;

/// The open database file and its path.
pub(crate) struct DatabaseFile {
    path: PathBuf,
    /// Path of the log.
    log: PathBuf,
    id: FileId,
    /// Prevents the inode number of the file from being reused while no connection is open. Opened
    /// with `O_PATH`, because closing any other descriptor of the file would release the locks that
    /// connections have on it.
    _file: fs::File,
}

impl DatabaseFile {
    pub(crate) fn at(path: &Path) -> std::io::Result<Self> {
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH)
            .open(path)?;
        let mut log = follow_links(path.to_owned()).into_os_string();
        log.push("-wal");
        Ok(Self {
            path: path.to_owned(),
            log: log.into(),
            id: FileId::of(&file.metadata()?),
            _file: file,
        })
    }

    /// Fails with [`DatabaseError::Replaced`] if the path has another file.
    pub(crate) fn check(&self) -> Result<(), DatabaseError> {
        let change = match fs::metadata(&self.path) {
            Ok(named) if FileId::of(&named) == self.id => return Ok(()),
            Ok(_) => "was replaced by another file".to_owned(),
            Err(error) => format!("was removed ({error})"),
        };
        Err(DatabaseError::Replaced {
            path: self.path.clone(),
            change,
        })
    }

    /// Bytes of the write-ahead log.
    pub(crate) fn log_bytes(&self) -> u64 {
        fs::metadata(&self.log).map_or(0, |file| file.len())
    }

    /// Waits until the log is on the disk.
    pub(crate) async fn sync_log(&self) -> Result<(), DatabaseError> {
        let log = self.log.clone();
        // No locks are on this file, which closing another descriptor would release.
        let sync = move || fs::File::open(log)?.sync_data();
        tokio::task::spawn_blocking(sync)
            .await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
            .map_err(DatabaseError::Log)
    }
}
