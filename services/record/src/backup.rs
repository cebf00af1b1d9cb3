//! Copies the record while a node may use it, and checks the copy.
//!
//! Every entry that was acknowledged before the copy began is in it: an entry is in a segment of
//! the spool until the database has it durably, and the segments are copied before the state of the
//! database. An entry whose segment is deleted meanwhile is therefore in the copied database, and
//! one that is in both is applied once, because the database contains its progress. The copy of a
//! segment ends with its last valid frame, so an append that is being written is not torn.
//!
//! The copy is written to a folder with another name, which is renamed when the copy is checked and
//! on disk.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_base::url::redacted;

use crate::database::sql::{self, Connection};
use crate::database::verifying::has_documents;
use crate::database::{Location, schema, sqlite};
use crate::options::RecordOptions;
use crate::spool::files::{SpoolFile, spool_files, valid_length};

/// Why a record cannot be copied or checked.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Only a database in a file can be copied.
    #[error(
        "`{0}` is not a database in a file; name one as `sqlite://PATH`, and back up PostgreSQL \
         with `pg_dump`"
    )]
    NoFile(String),
    /// The database keeps nothing.
    #[error("`{0}` is not a database that can be verified")]
    NoDatabase(String),
    /// The destination exists.
    #[error("`{}` already exists; name a new folder", .0.display())]
    Exists(PathBuf),
    /// Another backup is writing to the destination.
    #[error("another backup is writing to `{}`; name another folder", .0.display())]
    InProgress(PathBuf),
    /// The folder of an unfinished copy was not left by a backup of this database.
    #[error(
        "`{}` is where the copy is written, but no backup of this database by this user left it; \
         remove it, or name another folder",
        .0.display()
    )]
    Foreign(PathBuf),
    /// A file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The database cannot be read or written.
    #[error("the database `{database}`: {source}")]
    Database {
        /// The file, or the URL without its password.
        database: String,
        /// The error of the driver.
        source: sqlx::Error,
    },
    /// The database lacks what is checked.
    #[error(
        "the database `{}` has the schema of an earlier release, which cannot be verified; start \
         the service with it once, which migrates it, or with a copy of `assay backup`",
        .0
    )]
    EarlierSchema(String),
    /// The copy is not sound.
    #[error("the copy is not sound: {0}; run `assay verify` on the record")]
    Unsound(String),
}

/// What a backup contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The copied database.
    pub database: PathBuf,
    /// Its size in bytes.
    pub database_bytes: u64,
    /// Bytes of the copied spool.
    pub spool_bytes: u64,
    /// Batches in the database.
    pub batches: u64,
    /// Grades in the database.
    pub grades: u64,
    /// Bodies in the database.
    pub bodies: u64,
    /// Segments of the spool.
    pub segments: u64,
    /// Entries that were set aside.
    pub set_aside: u64,
}

/// Copies the record with these options to a new folder. A node may use the record meanwhile.
///
/// # Errors
/// [`BackupError`]. There is then no folder at `destination`.
pub async fn backup(options: &RecordOptions, destination: &Path) -> Result<Backup, BackupError> {
    let (location, database, spool) = files(options)?;
    // Without a slash at the end, after which the name of the unfinished copy would be within it.
    let destination: &Path = &destination.components().collect::<PathBuf>();
    let exists = destination
        .try_exists()
        .map_err(|source| at(destination, source))?;
    if exists {
        return Err(BackupError::Exists(destination.to_owned()));
    }
    let mut partial = destination.to_owned().into_os_string();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let _lock = claim(&partial, destination, &database)?;
    let copied = copy(&location, &database, &spool, &partial).await;
    let finished = copied.and_then(|copied| {
        fs::rename(&partial, destination).map_err(|source| at(destination, source))?;
        sync_folder(parent(destination))?;
        let name = copied.database.file_name().unwrap_or_default().to_owned();
        Ok(Backup {
            database: destination.join(name),
            ..copied
        })
    });
    if finished.is_err() {
        // The error of the copy is more important than one of removing it.
        let _ = fs::remove_dir_all(&partial);
    }
    finished
}

/// Creates the folder of an unfinished copy of `database`, or empties the one that an interrupted
/// backup left. Other backups are rejected until the result is dropped.
fn claim(partial: &Path, destination: &Path, database: &Path) -> Result<File, BackupError> {
    let failed = |source| at(partial, source);
    DirBuilder::new()
        .recursive(true)
        .create(parent(partial))
        .map_err(|source| at(parent(partial), source))?;
    let created = match DirBuilder::new().mode(0o700).create(partial) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        created => created.is_ok(),
    };
    // A link that another user placed there is not followed.
    let named = fs::symlink_metadata(partial).map_err(failed)?;
    if !named.is_dir() {
        return Err(BackupError::Foreign(partial.to_owned()));
    }
    let folder = File::open(partial).map_err(failed)?;
    match folder.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(BackupError::InProgress(destination.to_owned()));
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    // A backup that ended before the lock was taken has renamed or removed the folder.
    let locked = folder.metadata().map_err(failed)?;
    let is_current = fs::symlink_metadata(partial)
        .is_ok_and(|named| (named.dev(), named.ino()) == (locked.dev(), locked.ino()));
    if !is_current {
        return Err(BackupError::InProgress(destination.to_owned()));
    }
    if !created {
        empty(partial, &locked, database)?;
    }
    Ok(folder)
}

/// Removes what an interrupted backup left. Anything else is not removed.
fn empty(partial: &Path, folder: &Metadata, database: &Path) -> Result<(), BackupError> {
    let failed = |source| at(partial, source);
    let name = database.file_name().unwrap_or_default().as_encoded_bytes();
    // Of this user, and closed to others: the mode with which the folder is created.
    let mut is_own =
        folder.uid() == rustix::process::geteuid().as_raw() && folder.mode() & 0o777 == 0o700;
    let mut left = Vec::new();
    for entry in fs::read_dir(partial).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        is_own &= entry.file_name().as_encoded_bytes().starts_with(name);
        left.push(entry);
    }
    if !is_own {
        return Err(BackupError::Foreign(partial.to_owned()));
    }
    left.into_iter().try_for_each(|entry| {
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        let removed = if is_folder {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
        removed.map_err(failed)
    })
}

/// The database file of a record, and the folder of its spool.
fn files(options: &RecordOptions) -> Result<(sqlite::Location, PathBuf, PathBuf), BackupError> {
    let no_file = || BackupError::NoFile(redacted(&options.database));
    let Some(Location::Sqlite(location)) = Location::parse(&options.database) else {
        return Err(no_file());
    };
    let database = location.path.clone().ok_or_else(no_file)?;
    let spool = options.spool.clone().or_else(|| location.spool());
    let spool = spool.ok_or_else(no_file)?;
    fs::metadata(&database).map_err(|source| at(&database, source))?;
    Ok((location, database, spool))
}

fn at(path: &Path, source: io::Error) -> BackupError {
    BackupError::File {
        path: path.to_owned(),
        source,
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

async fn copy(
    location: &sqlite::Location,
    database: &Path,
    spool: &Path,
    destination: &Path,
) -> Result<Backup, BackupError> {
    let name = database.file_name().unwrap_or_default();
    let copy = destination.join(name);
    let mut copied_spool = copy.clone().into_os_string();
    copied_spool.push(".spool");
    let copied_spool = PathBuf::from(copied_spool);
    DirBuilder::new()
        .mode(0o700)
        .create(&copied_spool)
        .map_err(|source| at(&copied_spool, source))?;

    let before = copy_spool(spool, &copied_spool, false)?;
    copy_database(location, database, &copy).await?;
    // An entry may have been set aside while the database was copied.
    let after = copy_spool(spool, &copied_spool, true)?;
    let mut counts = check(&copy).await?;
    for path in [&copy, &copied_spool] {
        File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(|source| at(path, source))?;
    }
    sync_folder(destination)?;
    counts.spool_bytes = before.bytes + after.bytes;
    counts.segments = before.segments;
    counts.set_aside = spool_files(&copied_spool)
        .map_err(|source| at(&copied_spool, source))?
        .iter()
        .filter(|file| matches!(file, SpoolFile::SetAside(_)))
        .count() as u64;
    Ok(counts)
}

fn sync_folder(path: &Path) -> Result<(), BackupError> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| at(path, source))
}

#[derive(Default)]
struct CopiedSpool {
    bytes: u64,
    segments: u64,
}

/// Copies the files of a spool: all, or only those of entries that were set aside and are not in
/// the copy. A file that vanishes is skipped: what it contained is in the database.
fn copy_spool(
    spool: &Path,
    destination: &Path,
    only_set_aside: bool,
) -> Result<CopiedSpool, BackupError> {
    let mut copied = CopiedSpool::default();
    let files = match spool_files(spool) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(at(spool, source)),
    };
    for file in files {
        let path = match &file {
            SpoolFile::Identity(path) | SpoolFile::End(path) | SpoolFile::Segment(path)
                if !only_set_aside =>
            {
                path
            }
            SpoolFile::SetAside(path) => path,
            _ => continue,
        };
        let target = destination.join(path.strip_prefix(spool).unwrap_or(path));
        if target.exists() {
            continue;
        }
        let mut bytes = Vec::new();
        match File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(at(path, source)),
        }
        if matches!(file, SpoolFile::Segment(_)) {
            let length = valid_length(spool, &bytes).map_err(|source| at(path, source))?;
            bytes.truncate(length);
            copied.segments += 1;
        }
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(parent(&target))
            .map_err(|source| at(&target, source))?;
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&target)
            .and_then(|mut file| {
                file.write_all(&bytes)?;
                file.sync_all()
            });
        written.map_err(|source| at(&target, source))?;
        copied.bytes += bytes.len() as u64;
    }
    Ok(copied)
}

/// Copies a consistent state of the database. Free pages are not copied, and the copy returns free
/// pages to the file system, whether or not the original does.
async fn copy_database(
    location: &sqlite::Location,
    database: &Path,
    copy: &Path,
) -> Result<(), BackupError> {
    let failed = |source| BackupError::Database {
        database: database.display().to_string(),
        source,
    };
    let mut connection = sqlite::connect_reading(location).await.map_err(failed)?;
    let copying = sqlite::copy_into(&mut connection, copy);
    tokio::select! {
        copied = copying => { copied.map_err(failed)?; }
        // Without an end.
        () = sync_regularly(copy.to_owned()) => {}
    }
    connection.close().await.map_err(failed)
}

/// Time between two syncs of the copy.
const SYNC_INTERVAL: Duration = Duration::from_millis(100);

/// Syncs a file regularly while it is written, so that the kernel does not write gigabytes at once,
/// for which the syncs of the spool would have to wait. Does not end.
async fn sync_regularly(path: PathBuf) {
    loop {
        tokio::time::sleep(SYNC_INTERVAL).await;
        let path = path.clone();
        // The last sync reports errors.
        let sync = move || File::open(path).and_then(|file| file.sync_data());
        let _ = tokio::task::spawn_blocking(sync).await;
    }
}

/// Checks a copied database: its structure, and that it has the grades that its batches count.
async fn check(copy: &Path) -> Result<Backup, BackupError> {
    let failed = |source| BackupError::Database {
        database: copy.display().to_string(),
        source,
    };
    let mut connection = sqlite::open_copy(copy).await.map_err(failed)?;
    let counts = read_counts(&mut connection).await.map_err(failed)?;
    connection.close().await.map_err(failed)?;
    let bytes = fs::metadata(copy).map_err(|source| at(copy, source))?.len();
    if let Some(problem) = counts.problem {
        return Err(BackupError::Unsound(problem));
    }
    if counts
        .expected_grades
        .is_some_and(|expected| expected != counts.grades)
    {
        return Err(BackupError::Unsound(format!(
            "its batches have {} grades, but {} are stored",
            counts.expected_grades.unwrap_or_default(),
            counts.grades
        )));
    }
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    Ok(Backup {
        database: copy.to_owned(),
        database_bytes: bytes,
        spool_bytes: 0,
        batches: count(counts.batches),
        grades: count(counts.grades),
        bodies: count(counts.bodies),
        segments: 0,
        set_aside: 0,
    })
}

struct Counts {
    /// What is wrong with the structure.
    problem: Option<String>,
    batches: i64,
    grades: i64,
    /// `None` if some batches are not counted.
    expected_grades: Option<i64>,
    bodies: i64,
}

async fn read_counts(connection: &mut Connection) -> Result<Counts, sqlx::Error> {
    let problems = schema::integrity_problems(connection, 1).await?;
    let row = sql::query(
        "select (select count(*) from batches) as batches, \
         (select count(*) from grades) as grades, (select count(*) from bodies) as bodies",
    )
    .fetch_one(connection)
    .await?;
    let expected = if has_documents(connection).await? {
        sql::query_scalar(
            "select case when count(*) = count(grades) \
             then cast(coalesce(sum(grades), 0) as bigint) end from batches",
        )
        .fetch_one(connection)
        .await?
    } else {
        None
    };
    Ok(Counts {
        problem: problems.into_iter().next(),
        batches: row.try_get("batches")?,
        grades: row.try_get("grades")?,
        expected_grades: expected,
        bodies: row.try_get("bodies")?,
    })
}
