//! The file `server` in the folder of the spool, with the URL of the server that uses the record.
//! Commands on the same machine read it to find the server. The server locks it until it stops, so
//! that a file that a killed server left is recognised: the kernel has released its lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::RecordOptions;
use crate::database::Location;

/// Name of the file.
const SERVER: &str = "server";

/// Longest URL that is read, in bytes.
const MAX_URL_BYTES: u64 = 4_096;

/// The URL of a server, published until this is dropped.
#[derive(Debug)]
pub struct PublishedServer {
    path: PathBuf,
    _lock: File,
}

impl Drop for PublishedServer {
    fn drop(&mut self) {
        // Without the lock, the file is recognised as left over.
        let _ = fs::remove_file(&self.path);
    }
}

/// Publishes the URL of the server that uses the record; `None` if the database is in memory.
///
/// # Errors
/// If the file cannot be written.
pub fn publish_server(options: &RecordOptions, url: &str) -> io::Result<Option<PublishedServer>> {
    let Some(spool) = spool(options) else {
        return Ok(None);
    };
    let path = spool.join(SERVER);
    // Locked under another name first, so that no reader sees the file without its lock.
    let partial = spool.join("server.part");
    match locked(&partial, url).and_then(|lock| fs::rename(&partial, &path).map(|()| lock)) {
        Ok(lock) => Ok(Some(PublishedServer { path, _lock: lock })),
        Err(error) => {
            // Neither is needed: no server is found by the file of a killed one.
            let _ = fs::remove_file(&partial);
            let _ = fs::remove_file(&path);
            Err(error)
        }
    }
}

/// Creates a locked file with a URL.
fn locked(path: &Path, url: &str) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.lock()?;
    file.write_all(url.as_bytes())?;
    Ok(file)
}

/// The URL of the server that uses the record; `None` if no server does, or if it cannot be
/// determined.
#[must_use]
pub fn published_server(options: &RecordOptions) -> Option<String> {
    read(&spool(options)?.join(SERVER))
}

fn spool(options: &RecordOptions) -> Option<PathBuf> {
    let default = || Location::parse(&options.database)?.spool();
    options.spool.clone().or_else(default)
}

fn read(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut url = String::new();
    file.take(MAX_URL_BYTES).read_to_string(&mut url).ok()?;
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_url_until_the_server_stops() {
        let folder = tempfile::tempdir().unwrap();
        let options = RecordOptions {
            spool: Some(folder.path().to_owned()),
            ..RecordOptions::new("sqlite://unused.db")
        };
        assert_eq!(published_server(&options), None);
        let published = publish_server(&options, "http://127.0.0.1:1").unwrap();
        assert_eq!(
            published_server(&options).as_deref(),
            Some("http://127.0.0.1:1")
        );
        drop(published);
        assert_eq!(published_server(&options), None);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn ignores_the_file_of_a_killed_server() {
        let folder = tempfile::tempdir().unwrap();
        let options = RecordOptions {
            spool: Some(folder.path().to_owned()),
            ..RecordOptions::new("sqlite://unused.db")
        };
        std::fs::write(folder.path().join(SERVER), "http://127.0.0.1:1").unwrap();
        assert_eq!(published_server(&options), None);
        let published = publish_server(&options, "http://127.0.0.1:2").unwrap();
        assert_eq!(
            published_server(&options).as_deref(),
            Some("http://127.0.0.1:2")
        );
        drop(published);
    }

    #[test]
    fn leaves_no_file_if_it_cannot_publish() {
        let folder = tempfile::tempdir().unwrap();
        let options = RecordOptions {
            spool: Some(folder.path().to_owned()),
            ..RecordOptions::new("sqlite://unused.db")
        };
        std::fs::write(folder.path().join(SERVER), "http://127.0.0.1:1").unwrap();
        // The disk is full.
        std::os::unix::fs::symlink("/dev/full", folder.path().join("server.part")).unwrap();
        assert!(publish_server(&options, "http://127.0.0.1:2").is_err());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
