//! Keeps the results of probes between checks, so that only changed rows are graded again and a
//! check that was stopped continues where it was.
//!
//! The results of a row are found by a hash of its task, prompt and solution, and of everything
//! else that determines verdicts (the program, its images and settings). Those of a probe are found
//! among them by a hash of its completion, so a row whose neighbours changed, or to which a new
//! version adds probes, is graded only as far as needed. Results that depend on time or load are
//! not kept.
//!
//! The file is an SQLite database of bounded size. It is a cache: what cannot be read is graded
//! again, and a damaged file is replaced.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_core::{GraderTable, Hash};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, params};

use crate::graded_row::{ProbeOutcome, ProbeResult};
use crate::probes::Probe;
use crate::shingles::hash;
use crate::subject::Subject;

/// Version of the stored values. A change of [`ProbeOutcome`] raises it.
const FORMAT: u64 = 1;

/// Maximum size of the database, in bytes. A million rows like those of GSM8K take 0.3 GB.
const MAX_BYTES: i64 = 2 << 30;

const PAGE_BYTES: i64 = 4_096;

/// Share of the rows that are deleted when the database is full, those that were used least
/// recently: one in this many.
const DELETED_PART: i64 = 4;

/// Time to wait for another check that writes, in milliseconds.
const BUSY_MS: u64 = 2_000;

const FILE: &str = "results.sqlite";

const SCHEMA: &str = "
    pragma page_size = 4096;
    pragma journal_mode = wal;
    pragma synchronous = normal;
    create table if not exists results (
        key blob primary key,
        used integer not null, -- day of the last use, since the Unix epoch
        value blob not null    -- checksum, then the results
    ) without rowid;
";

/// Why the results of earlier checks cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The folder cannot be created.
    #[error("cannot create the folder `{folder}`: {error}")]
    Folder {
        /// Path of the folder.
        folder: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The database cannot be opened.
    #[error("cannot open `{file}`: {error}")]
    Database {
        /// Path of the database.
        file: PathBuf,
        /// The error of SQLite.
        error: rusqlite::Error,
    },
}

/// Results of earlier checks.
#[derive(Debug)]
pub struct ResultCache {
    connection: Mutex<Connection>,
    identity: Hash,
    day: i64,
}

/// Identifies a row in the cache.
pub(crate) type RowKey = [u8; 16];

/// The results of a row: the hash of each probe and its outcome.
pub(crate) type RowResults = Vec<(u64, ProbeOutcome)>;

impl ResultCache {
    /// Opens the cache in a folder, which is created. `identity` is the hash of what determines
    /// verdicts apart from the rows; `day` is the current day since the Unix epoch.
    ///
    /// # Errors
    /// [`CacheError`]: the folder or the database cannot be created.
    pub fn open(folder: &Path, identity: Hash, day: i64) -> Result<Self, CacheError> {
        Self::open_bounded(folder, identity, day, MAX_BYTES)
    }

    fn open_bounded(
        folder: &Path,
        identity: Hash,
        day: i64,
        max_bytes: i64,
    ) -> Result<Self, CacheError> {
        fs::create_dir_all(folder).map_err(|error| CacheError::Folder {
            folder: folder.to_owned(),
            error,
        })?;
        let file = folder.join(FILE);
        let opened = connect(&file, max_bytes).or_else(|error| {
            if !is_damaged(&error) {
                return Err(error);
            }
            replace(&file, max_bytes)
        });
        let connection = opened.map_err(|error| CacheError::Database { file, error })?;
        Ok(Self {
            connection: Mutex::new(connection),
            identity,
            day,
        })
    }

    /// The key of a row; `None` if verdicts of its grader vary.
    pub(crate) fn key(&self, subject: &Subject, graders: &GraderTable) -> Option<RowKey> {
        let grader = graders.get(&subject.task).ok()?.spec();
        if !grader.deterministic {
            return None;
        }
        let grader = grader.id().to_string();
        let hash = Hash::of_parts(&[
            &FORMAT.to_le_bytes(),
            self.identity.as_bytes(),
            grader.as_bytes(),
            subject.task.hash().as_bytes(),
            subject.prompt.as_deref().unwrap_or_default().as_bytes(),
            subject.solution.as_deref().unwrap_or_default().as_bytes(),
        ]);
        let mut key = RowKey::default();
        key.copy_from_slice(&hash.as_bytes()[..16]);
        Some(key)
    }

    /// The results of rows; empty for a row that is not in the cache.
    pub(crate) fn read<'k>(&self, keys: impl Iterator<Item = &'k RowKey>) -> Vec<RowResults> {
        let connection = self.lock();
        let read = |key| read_row(&connection, key, self.day).ok().flatten();
        // One transaction for all rows, because each takes time.
        let transaction = connection.unchecked_transaction();
        let rows = keys.map(|key| read(key).unwrap_or_default()).collect();
        if let Ok(transaction) = transaction {
            // Days of use that are not written make rows seem older.
            let _ = transaction.commit();
        }
        rows
    }

    /// Keeps the results of rows. What cannot be written is graded again by the next check.
    pub(crate) fn write(&self, rows: &[(RowKey, Vec<u8>)]) {
        let connection = self.lock();
        let written = write_rows(&connection, rows, self.day);
        let Err(error) = written else { return };
        let is_full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
        let result = if is_full {
            delete_oldest(&connection).and_then(|()| write_rows(&connection, rows, self.day))
        } else {
            Err(error)
        };
        if let Err(error) = result {
            tracing::debug!(%error, "results of probes are not kept");
        }
    }

    /// A panic while the connection is held leaves no transaction open.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hash of a probe among those of its row.
pub(crate) fn probe_hash(probe: &Probe) -> u64 {
    let completion = serde_json::to_vec(&probe.completion).unwrap_or_default();
    let task = probe.task.as_ref().map_or("", |task| task.body.get());
    let purpose = format!("{:?}", probe.purpose);
    let hash = Hash::of_parts(&[purpose.as_bytes(), &completion, task.as_bytes()]);
    let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The value of a row with these results: a checksum, then the results.
pub(crate) fn encode<'p>(probes: impl Iterator<Item = &'p ProbeResult>) -> Vec<u8> {
    let kept: Vec<(u64, &ProbeOutcome)> = probes
        .filter_map(|probe| Some((probe.hash?, &probe.result)))
        .collect();
    let results = postcard::to_stdvec(&kept).unwrap_or_default();
    let mut value = hash(&results).to_le_bytes().to_vec();
    value.extend(results);
    value
}

fn decode(value: &[u8]) -> Option<RowResults> {
    let (checksum, results) = value.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*checksum) != hash(results) {
        return None;
    }
    postcard::from_bytes(results).ok()
}

fn connect(file: &Path, max_bytes: i64) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(std::time::Duration::from_millis(BUSY_MS))?;
    connection.execute_batch(SCHEMA)?;
    connection.pragma_update(None, "max_page_count", max_bytes / PAGE_BYTES)?;
    // Finds a file with a valid header whose pages are damaged.
    connection.query_row(
        "select count(*) from (select 1 from results limit 1)",
        [],
        |_| Ok(()),
    )?;
    Ok(connection)
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
    ) || matches!(error, rusqlite::Error::SqliteFailure(failure, _) if failure.extended_code == 1)
}

fn replace(file: &Path, max_bytes: i64) -> rusqlite::Result<Connection> {
    for end in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        // The next error says why, if it is still there.
        let _ = fs::remove_file(name);
    }
    connect(file, max_bytes)
}

fn read_row(
    connection: &Connection,
    key: &RowKey,
    day: i64,
) -> rusqlite::Result<Option<RowResults>> {
    let mut select = connection.prepare_cached("select used, value from results where key = ?1")?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let Some((used, value)): Option<(i64, Vec<u8>)> = select.query_row([key], row).optional()?
    else {
        return Ok(None);
    };
    if used != day {
        let mut update =
            connection.prepare_cached("update results set used = ?2 where key = ?1")?;
        let _ = update.execute(params![key, day]);
    }
    Ok(decode(&value))
}

fn write_rows(
    connection: &Connection,
    rows: &[(RowKey, Vec<u8>)],
    day: i64,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    insert(&transaction, rows, day)?;
    transaction.commit()
}

fn insert(
    transaction: &Transaction<'_>,
    rows: &[(RowKey, Vec<u8>)],
    day: i64,
) -> rusqlite::Result<()> {
    let mut insert = transaction
        .prepare_cached("insert or replace into results (key, used, value) values (?1, ?2, ?3)")?;
    for (key, value) in rows {
        insert.execute(params![key, day, value])?;
    }
    Ok(())
}

/// Deletes the rows that were used least recently, by day. Their pages are used again.
fn delete_oldest(connection: &Connection) -> rusqlite::Result<()> {
    let mut select =
        connection.prepare("select used, count(*) from results group by used order by used")?;
    let days = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let days: Vec<(i64, i64)> = days.collect::<rusqlite::Result<_>>()?;
    let all: i64 = days.iter().map(|(_, count)| count).sum();
    let mut left = all / DELETED_PART + 1;
    for (day, count) in days {
        // Keys are hashes, so the share of the keys below a prefix is that of the prefix.
        let share = left.min(count) as f64 / count as f64;
        let prefix = if left < count {
            format!("{:04x}", (share * f64::from(u16::MAX)) as u16)
        } else {
            "g".to_owned()
        };
        connection.execute(
            "delete from results where used = ?1 and lower(hex(substr(key, 1, 2))) < ?2",
            params![day, prefix],
        )?;
        left -= count;
        if left <= 0 {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::graded_row::ProbeGrade;
    use crate::probes::Purpose;

    fn value(work: u64) -> Vec<u8> {
        let grade = ProbeGrade {
            verdict: Cow::Borrowed("correct"),
            pass: true,
            score: 1.0,
            work,
            reason: None,
            new_test: None,
            normal_form: Some("x".repeat(200)),
        };
        let probe = ProbeResult {
            purpose: Purpose::Empty,
            excerpt: String::new(),
            result: Ok(grade),
            hash: Some(work),
        };
        encode([probe].iter())
    }

    fn open(folder: &Path, day: i64, max_bytes: i64) -> ResultCache {
        ResultCache::open_bounded(folder, Hash::of(b"test"), day, max_bytes).unwrap()
    }

    fn found(cache: &ResultCache, key: RowKey) -> Vec<u64> {
        let rows = cache.read([key].iter());
        rows[0].iter().map(|(hash, _)| *hash).collect()
    }

    #[test]
    fn damaged_values_and_files_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let cache = open(folder.path(), 1, MAX_BYTES);
        let mut damaged = value(2);
        damaged[20] ^= 1;
        cache.write(&[
            ([1; 16], value(1)),
            ([2; 16], damaged),
            ([3; 16], vec![1, 2]),
        ]);
        assert_eq!(found(&cache, [1; 16]), [1]);
        assert_eq!(found(&cache, [2; 16]), [0; 0]);
        assert_eq!(found(&cache, [3; 16]), [0; 0]);
        drop(cache);
        assert_eq!(found(&open(folder.path(), 2, MAX_BYTES), [1; 16]), [1]);
        fs::write(
            folder.path().join(FILE),
            "not a database, but longer than a header".repeat(9),
        )
        .unwrap();
        let cache = open(folder.path(), 3, MAX_BYTES);
        assert_eq!(found(&cache, [1; 16]), [0; 0]);
        cache.write(&[([1; 16], value(4))]);
        assert_eq!(found(&cache, [1; 16]), [4]);
    }

    #[test]
    fn the_size_is_bounded_and_old_rows_are_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let max_bytes = 1 << 20;
        let key = |number: u64| {
            let mut key = RowKey::default();
            key[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
            key
        };
        let write = |cache: &ResultCache, numbers: std::ops::Range<u64>| {
            for number in numbers {
                cache.write(&[(key(number), value(number))]);
            }
        };
        write(&open(folder.path(), 1, max_bytes), 0..3_000);
        let cache = open(folder.path(), 2, max_bytes);
        assert_eq!(found(&cache, key(7)), [7], "used on the second day");
        write(&cache, 3_000..4_500);
        assert_eq!(found(&cache, key(4_499)), [4_499]);
        assert_eq!(found(&cache, key(7)), [7], "recently used rows are kept");
        let old = (0..3_000).filter(|number| !found(&cache, key(*number)).is_empty());
        assert!(old.count() < 2_500);
        drop(cache);
        let size = fs::metadata(folder.path().join(FILE)).unwrap().len();
        assert!(size <= max_bytes.unsigned_abs(), "{size}");
    }
}
