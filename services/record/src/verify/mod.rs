//! Checks a record without changing it, while a node may use it: the structure of the database,
//! every grade against its checksum, every batch against the number and the checksums of its
//! grades, the numbers of batches for gaps, every body against its hash, and every frame of the
//! spool.
//!
//! Checksums have no key: they detect damage and changes by other programs, and not a program that
//! also computes the checksums. Sums (totals and charts of runs, counts of channels, prompt
//! histories) are not checked.

mod report;
mod spool;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use assay_base::url::redacted;
use assay_core::{BatchId, Hash};

pub use self::report::{Damage, Verification};
use self::spool::ReadSpool;
use crate::backup::BackupError;
use crate::database::sql::{self, Connection};
use crate::database::verifying::{self, StoredBody, VerifiedBatch};
use crate::database::{Location, is_damage, schema};
use crate::grade::StoredGrade;
use crate::options::RecordOptions;
use crate::pending::packs::decompress;
use crate::spool::Position;
use crate::spool::files::spool_name;

/// Number of bodies of other batches that are remembered as checked.
const MAX_CHECKED: usize = 1 << 20;

/// Batches that are read at once.
const BATCHES: u32 = 256;

/// Checks the record with these options. `progress` is called with the number of grades so far.
///
/// # Errors
/// [`BackupError`] if it cannot be read at all.
pub async fn verify(
    options: &RecordOptions,
    mut progress: impl FnMut(u64),
) -> Result<Verification, BackupError> {
    let database = redacted(&options.database);
    let no_database = || BackupError::NoDatabase(database.clone());
    let location = Location::parse(&options.database).ok_or_else(no_database)?;
    let spool = options.spool.clone().or_else(|| location.spool());
    let spool = spool.ok_or_else(no_database)?;
    let failed = |source| BackupError::Database {
        database: database.clone(),
        source,
    };
    let mut found = Verification::default();
    let opened = match open(&location).await {
        Ok(opened) => opened,
        Err(error) if is_damage(&error) => Opened::Damaged(error.to_string()),
        Err(error) => return Err(failed(error)),
    };
    let mut connection = match opened {
        Opened::Current(connection) => connection,
        Opened::Earlier => return Err(BackupError::EarlierSchema(database)),
        Opened::Damaged(problem) => {
            found.report("the database", problem);
            if let Some(files) = ReadSpool::read(&spool, &mut found) {
                files.check(&spool, Position::default(), Position::LAST, &mut found);
            }
            return Ok(found);
        }
    };
    let name = spool_name(&spool);
    let before = verifying::progress(&mut connection, &name).await;
    let checked = check_database(&mut connection, &mut found, &mut progress).await;
    if let Err(error) = checked {
        // Pages that cannot be read are damage and not a reason to stop before the spool.
        found.report("the database", error.to_string());
    }
    let files = ReadSpool::read(&spool, &mut found);
    // Ends the state of the checks. Fails if the database has ended the transaction by itself.
    let _ = sql::query("rollback").execute(&mut connection).await;
    let after = verifying::progress(&mut connection, &name).await;
    connection.close().await.map_err(failed)?;
    if let Some(files) = files {
        // Without the progress, which the findings explain, nothing is known to be missing.
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or(Position::LAST));
        files.check(&spool, before, after, &mut found);
    }
    Ok(found)
}

/// A database that was opened.
enum Opened {
    Current(Connection),
    /// It has the schema of an earlier release.
    Earlier,
    /// It has no schema that can be read, for this reason.
    Damaged(String),
}

async fn open(location: &Location) -> Result<Opened, sqlx::Error> {
    let mut connection = location.connect_reading().await?;
    if verifying::has_documents(&mut connection).await? {
        return Ok(Opened::Current(connection));
    }
    let is_empty = schema::is_empty(&mut connection).await?;
    connection.close().await?;
    Ok(if is_empty {
        Opened::Damaged("the file has no tables".to_owned())
    } else {
        Opened::Earlier
    })
}

async fn check_database(
    connection: &mut Connection,
    found: &mut Verification,
    progress: &mut impl FnMut(u64),
) -> Result<(), crate::database::DatabaseError> {
    // One state of the database for all checks.
    sql::query("begin").execute(connection).await?;
    for problem in schema::integrity_problems(connection, 100).await? {
        found.report("the database file", problem);
    }
    let first = verifying::first_without_gaps(connection).await?;
    let mut bodies = Bodies::default();
    let mut last = 0;
    loop {
        let batches = verifying::batches(connection, last, BATCHES).await?;
        let Some(end) = batches.last().map(|batch| batch.number) else {
            break;
        };
        for batch in batches {
            check_gap(connection, last, batch.number, first, found).await?;
            last = batch.number;
            check_batch(connection, &batch, &mut bodies, found).await?;
        }
        last = end;
        progress(found.grades);
    }
    check_gap(connection, last, i64::MAX >> 24, first, found).await?;
    for (pack, number) in verifying::documents_without_batch(connection).await? {
        let problem = format!("belongs to batch number {number}, which does not exist");
        found.report(format!("pack {pack} of documents"), problem);
    }
    for (what, hash) in verifying::other_bodies(connection).await? {
        bodies.check(connection, &what, hash, found).await?;
    }
    for (place, problem) in verifying::sums(connection).await? {
        found.report(place, problem);
    }
    Ok(())
}

/// Checks that the batches with numbers between `last` and `next` have no grades, and that those
/// with numbers from `first` on were deleted by retention.
async fn check_gap(
    connection: &mut Connection,
    last: i64,
    next: i64,
    first: i64,
    found: &mut Verification,
) -> Result<(), crate::database::DatabaseError> {
    if next - last <= 1 {
        return Ok(());
    }
    let grades = verifying::grades_between(connection, last, next).await?;
    if grades > 0 {
        found.report(
            format!("batches {} to {}", last + 1, next - 1),
            format!("{grades} grades have no batch"),
        );
    }
    let last = last.max(first.saturating_sub(1));
    if next == i64::MAX >> 24 || next <= last {
        return Ok(());
    }
    for (first, last) in verifying::missing_between(connection, last, next).await? {
        let place = if first == last {
            format!("batch number {first}")
        } else {
            format!("batch numbers {first} to {last}")
        };
        found.report(place, "missing, although retention did not delete it");
    }
    Ok(())
}

async fn check_batch(
    connection: &mut Connection,
    batch: &VerifiedBatch,
    bodies: &mut Bodies,
    found: &mut Verification,
) -> Result<(), crate::database::DatabaseError> {
    found.batches += 1;
    let place = format!("batch {}", batch.id);
    let grades = match verifying::grades(connection, batch.number).await {
        Ok(grades) => grades,
        Err(error) => {
            found.report(place, error.to_string());
            return Ok(());
        }
    };
    let (mut sum, mut has_sum) = (0_i64, true);
    let mut positions = HashSet::with_capacity(grades.len());
    for grade in &grades {
        found.grades += 1;
        positions.insert(grade.position);
        match grade.checksum {
            Some(checksum) => sum = sum.wrapping_add(checksum),
            None => {
                has_sum = false;
                found.without_checksum += 1;
            }
        }
        match &grade.read {
            Err(error) => found.report(format!("grade {}", grade.id), error.to_string()),
            Ok((_, false)) => found.report(
                format!("grade {}", grade.id),
                "changed: its checksum does not match",
            ),
            Ok((_, true)) => {}
        }
    }
    let count = grades.len() as i64;
    if let Some(expected) = batch.grades
        && expected != count
    {
        let missing: Vec<String> = (0..batch.items)
            .filter(|position| !positions.contains(position))
            .take(10)
            .map(|position| BatchId::grade(batch.id, position).to_string())
            .collect();
        let names = if expected > count && !missing.is_empty() {
            format!(
                "; these are missing or were never recorded: {}",
                missing.join(", ")
            )
        } else {
            String::new()
        };
        found.report(
            &place,
            format!("has {count} grades instead of {expected}{names}"),
        );
    } else if has_sum && batch.checksum.is_some_and(|expected| expected != sum) {
        found.report(
            &place,
            "a grade was replaced: the sum of checksums does not match",
        );
    }
    for pack in verifying::other_documents(connection, batch.number).await? {
        let problem = format!("its grades use pack {pack} of documents, which is of another batch");
        found.report(&place, problem);
    }
    if batch.has_bodies {
        for grade in &grades {
            let Ok((StoredGrade { source, .. }, _)) = &grade.read else {
                continue;
            };
            if source.bodies_omitted {
                continue;
            }
            let hashes = [
                ("task", Some(source.task_hash)),
                ("completion", Some(source.completion_hash)),
                ("prompt", source.prompt_hash),
            ];
            for (what, hash) in hashes {
                if let Some(hash) = hash {
                    let place = format!("{what} of grade {}", grade.id);
                    bodies.check(connection, &place, hash, found).await?;
                }
            }
        }
    }
    Ok(())
}

/// The bodies that were checked, and the pack that was read last: bodies of a batch are adjacent.
#[derive(Default)]
struct Bodies {
    checked: HashSet<Hash>,
    packs: HashMap<i64, Option<Vec<u8>>>,
}

/// Packs that are kept unpacked.
const MAX_PACKS: usize = 64;

impl Bodies {
    async fn check(
        &mut self,
        connection: &mut Connection,
        place: &str,
        hash: Hash,
        found: &mut Verification,
    ) -> Result<(), crate::database::DatabaseError> {
        if self.checked.contains(&hash) {
            return Ok(());
        }
        if self.checked.len() >= MAX_CHECKED {
            self.checked.clear();
        }
        self.checked.insert(hash);
        let Some(StoredBody { location, pack }) = verifying::body(connection, hash).await? else {
            found.report(place, format!("the body `{hash}` is missing"));
            return Ok(());
        };
        if self.packs.len() >= MAX_PACKS {
            self.packs.clear();
        }
        let content = match self.packs.entry(pack) {
            Entry::Occupied(content) => content.into_mut(),
            Entry::Vacant(vacant) => {
                let compressed = verifying::pack(connection, pack).await?;
                let unpacked = compressed.and_then(|compressed| decompress(&compressed).ok());
                if unpacked.is_none() {
                    found.report(format!("pack {pack}"), "missing, or cannot be decompressed");
                }
                vacant.insert(unpacked)
            }
        };
        let Some(content) = content else {
            found.report(place, format!("the body `{hash}` cannot be read"));
            return Ok(());
        };
        found.bodies += 1;
        let (start, size) = (location.start as usize, location.size as usize);
        let body = start
            .checked_add(size)
            .and_then(|end| content.get(start..end));
        if body.is_none_or(|body| location.kind.hash(body) != hash) {
            found.report(
                place,
                format!("the content of the body does not have the hash `{hash}`"),
            );
        }
        Ok(())
    }
}
