//! Steps of retention, each for one bounded transaction that the caller opens and ends. After every
//! step the tables are consistent, and an interrupted deletion can be continued.
//!
//! Bodies are stored once and used by many batches. A pack belongs to the batch that stored it;
//! `body_uses` lists the other batches that refer to bodies in it. When a batch loses its bodies,
//! those that others use are moved to a pack of one of these, and the packs are deleted. The rows
//! of the deleted bodies in `bodies`, which are spread over the whole table, are removed later by a
//! sweep in the order of the table; until then they count as absent.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use assay_core::{BatchId, Hash};
use assay_record::Body;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::codec::{codec, packed_body};
use super::contents::{INSERT_PACKS, PERMANENT};
use super::facets;
use super::rows::{batch_id, count, id_bytes, key};
use crate::database::DatabaseError;
use crate::packs::{Compressed, PackedBody, body_of, decompress, pack};
use crate::retention_step::StepOutcome;

/// Compression of bodies that are moved.
const LEVEL: i32 = 3;

/// The hashes of the bodies to which the grades with keys from `?1` to `?2` refer.
macro_rules! used {
    () => {
        "with used (hash) as (\
           select task_hash from grades where key between ?1 and ?2 \
           union select completion_hash from grades where key between ?1 and ?2 \
           union select prompt_hash from grades where key between ?1 and ?2 \
             and prompt_hash is not null) "
    };
}

/// A batch as its deletion needs it.
struct StoredBatch {
    id: BatchId,
    run: i64,
    caller: String,
    grades: i64,
    grade_bytes: i64,
    pack_bytes: i64,
    checksum: Option<i64>,
}

async fn stored_batch(
    connection: &mut SqliteConnection,
    number: i64,
) -> Result<Option<StoredBatch>, DatabaseError> {
    let row = sqlx::query(
        "select id, run, caller, grades, grade_bytes, pack_bytes, checksum from batches \
         where no = ? and grades is not null",
    )
    .bind(number)
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        Ok(StoredBatch {
            id: batch_id(row.try_get("id")?, "batches")?,
            run: row.try_get("run")?,
            caller: row.try_get("caller")?,
            grades: row.try_get("grades")?,
            grade_bytes: row.try_get("grade_bytes")?,
            pack_bytes: row.try_get("pack_bytes")?,
            checksum: row.try_get("checksum")?,
        })
    })
    .transpose()
}

/// Keys of the first and the last grade that a batch may have.
fn keys(number: i64) -> (i64, i64) {
    (key(number, 0), key(number + 1, 0) - 1)
}

/// Adds to the holdings of a run and caller.
async fn hold(
    connection: &mut SqliteConnection,
    (run, caller): (i64, &str),
    batches: i64,
    grades: i64,
    grade_bytes: i64,
    pack_bytes: i64,
) -> Result<(), DatabaseError> {
    sqlx::query(
        "insert into holdings (run, caller, batches, grades, grade_bytes, pack_bytes) \
         values (?, ?, ?, ?, ?, ?) on conflict (run, caller) do update set \
         batches = batches + excluded.batches, grades = grades + excluded.grades, \
         grade_bytes = grade_bytes + excluded.grade_bytes, \
         pack_bytes = pack_bytes + excluded.pack_bytes",
    )
    .bind(run)
    .bind(caller)
    .bind(batches)
    .bind(grades)
    .bind(grade_bytes)
    .bind(pack_bytes)
    .execute(&mut *connection)
    .await?;
    sqlx::query("delete from holdings where run = ? and caller = ? and batches = 0")
        .bind(run)
        .bind(caller)
        .execute(connection)
        .await?;
    Ok(())
}

/// Counts the oldest batch of an earlier release that is not counted; `done` if there is none.
pub(super) async fn count_batch(
    connection: &mut SqliteConnection,
) -> Result<StepOutcome, DatabaseError> {
    let found =
        sqlx::query("select no, run, caller from batches where grades is null order by no limit 1")
            .fetch_optional(&mut *connection)
            .await?;
    let Some(found) = found else {
        return Ok(StepOutcome::DONE);
    };
    let (number, run): (i64, i64) = (found.try_get("no")?, found.try_get("run")?);
    let caller: String = found.try_get("caller")?;
    let (first, last) = keys(number);
    // The first batch that refers to a body is the one that stored it.
    sqlx::query(concat!(
        used!(),
        "update packs set batch = ?3 where batch is null and no in (\
           select b.pack from used cross join bodies b on b.hash = used.hash where b.kind < 3)"
    ))
    .bind(first)
    .bind(last)
    .bind(number)
    .execute(&mut *connection)
    .await?;
    sqlx::query(concat!(
        used!(),
        "insert or ignore into body_uses (hash, batch) \
         select used.hash, ?3 from used cross join bodies b on b.hash = used.hash \
         cross join packs p on p.no = b.pack where p.batch <> 0 and p.batch <> ?3"
    ))
    .bind(first)
    .bind(last)
    .bind(number)
    .execute(&mut *connection)
    .await?;
    let sums = sqlx::query(
        "select count(*) as grades, coalesce(sum(64 + 24 + coalesce(octet_length(item), 0) \
         + coalesce(octet_length(in_group), 0) + coalesce(octet_length(prompt_key), 0) \
         + coalesce(octet_length(prompt_hash), 0) + coalesce(octet_length(components), 0) \
         + coalesce(octet_length(steps), 0) + coalesce(octet_length(measures), 0) \
         + coalesce(octet_length(evidence), 0) + coalesce(octet_length(error), 0) \
         + coalesce(octet_length(meta), 0) + coalesce(octet_length(checks), 0) \
         + coalesce(octet_length(appeal), 0) + coalesce(octet_length(reward_breakdown), 0)), 0) \
         as bytes, \
         (select coalesce(sum(length(content)), 0) from packs where batch = ?3) as packs \
         from grades where key between ?1 and ?2",
    )
    .bind(first)
    .bind(last)
    .bind(number)
    .fetch_one(&mut *connection)
    .await?;
    let (grades, grade_bytes, pack_bytes): (i64, i64, i64) = (
        sums.try_get("grades")?,
        sums.try_get("bytes")?,
        sums.try_get("packs")?,
    );
    sqlx::query("update batches set grades = ?, grade_bytes = ?, pack_bytes = ? where no = ?")
        .bind(grades)
        .bind(grade_bytes)
        .bind(pack_bytes)
        .bind(number)
        .execute(&mut *connection)
        .await?;
    hold(
        connection,
        (run, &caller),
        1,
        grades,
        grade_bytes,
        pack_bytes,
    )
    .await?;
    Ok(StepOutcome {
        grades: count(grades),
        ..StepOutcome::MORE
    })
}

/// A body of a deleted pack that another batch uses.
struct SharedBody {
    location: PackedBody,
    pack: i64,
    /// The batch to which it is moved: the newest, because the oldest is likely to be deleted next.
    owner: i64,
}

async fn shared_bodies(
    connection: &mut SqliteConnection,
    number: i64,
) -> Result<Vec<SharedBody>, DatabaseError> {
    let (first, last) = keys(number);
    // `exists` is compared with 1, because SQLite turns a plain `exists` into a join, which it
    // evaluates last.
    let rows = sqlx::query(concat!(
        used!(),
        "select b.hash, b.kind, b.pack, b.start, b.size, \
         coalesce((select 0 from body_uses u where u.hash = used.hash and u.batch = 0), \
           (select u.batch from body_uses u where u.hash = used.hash and u.batch <> ?3 \
            order by u.batch desc limit 1)) as owner \
         from used cross join bodies b on b.hash = used.hash \
         cross join packs p on p.no = b.pack and p.batch = ?3 \
         where 1 = exists (select 1 from body_uses u where u.hash = used.hash and u.batch <> ?3)"
    ))
    .bind(first)
    .bind(last)
    .bind(number)
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| {
            let hash: &[u8] = row.try_get("hash")?;
            let hash = Hash::from_bytes(hash).ok_or_else(|| DatabaseError::Row {
                table: "bodies",
                column: "hash",
                reason: format!("a hash has 32 bytes, this has {}", hash.len()),
            })?;
            Ok(SharedBody {
                location: packed_body(row, hash)?,
                pack: row.try_get("pack")?,
                owner: row.try_get("owner")?,
            })
        })
        .collect()
}

/// Deletes the bodies of a batch, except those that other batches use.
pub(super) async fn delete_bodies(
    connection: &mut SqliteConnection,
    number: i64,
) -> Result<StepOutcome, DatabaseError> {
    let Some(batch) = stored_batch(connection, number).await? else {
        return Ok(StepOutcome::DONE);
    };
    let (first, last) = keys(number);
    let shared = shared_bodies(connection, number).await?;
    let moved = move_bodies(connection, shared).await?;
    // The numbers of packs must grow, because bodies of deleted packs are swept later.
    sqlx::query(
        "insert into packs (no, batch, codec, size, content) select max(no) + 1, 0, 0, 0, x'' \
         from packs having max(no) in (select no from packs where batch = ?)",
    )
    .bind(number)
    .execute(&mut *connection)
    .await?;
    let deleted = sqlx::query("delete from packs where batch = ? and batch > 0")
        .bind(number)
        .execute(&mut *connection)
        .await?
        .rows_affected();
    sqlx::query(concat!(
        used!(),
        "delete from body_uses where batch = ?3 and hash in (select hash from used)"
    ))
    .bind(first)
    .bind(last)
    .bind(number)
    .execute(&mut *connection)
    .await?;
    if deleted > 0 {
        sqlx::query(
            "insert into body_sweep (running, after) values (1, x'') \
             on conflict (running) do update set after = x''",
        )
        .execute(&mut *connection)
        .await?;
    }
    sqlx::query("update batches set deleted = max(deleted, 1), pack_bytes = 0 where no = ?")
        .bind(number)
        .execute(&mut *connection)
        .await?;
    hold(
        connection,
        (batch.run, &batch.caller),
        0,
        0,
        0,
        -batch.pack_bytes,
    )
    .await?;
    Ok(StepOutcome {
        batches: 1,
        body_bytes: count(batch.pack_bytes).saturating_sub(moved),
        ..StepOutcome::DONE
    })
}

async fn unpack(connection: &mut SqliteConnection, pack: i64) -> Result<Vec<u8>, DatabaseError> {
    let row = sqlx::query("select codec, size, content from packs where no = ?")
        .bind(pack)
        .fetch_one(connection)
        .await?;
    let compressed = Compressed {
        codec: codec("packs", row.try_get("codec")?)?,
        size: row.try_get("size")?,
        content: row.try_get("content")?,
    };
    Ok(decompress(&compressed)?)
}

/// Moves bodies to new packs of the batches that use them; returns the bytes of these packs.
async fn move_bodies(
    connection: &mut SqliteConnection,
    shared: Vec<SharedBody>,
) -> Result<u64, DatabaseError> {
    if shared.is_empty() {
        return Ok(0);
    }
    let mut unpacked: HashMap<i64, Vec<u8>> = HashMap::new();
    let mut by_owner: BTreeMap<i64, Vec<Body>> = BTreeMap::new();
    for SharedBody {
        location,
        pack,
        owner,
    } in shared
    {
        let content = match unpacked.entry(pack) {
            Entry::Occupied(content) => content.into_mut(),
            Entry::Vacant(vacant) => vacant.insert(unpack(connection, pack).await?),
        };
        let body = body_of(content, &location)?;
        by_owner.entry(owner).or_default().push(body);
    }
    let mut next: i64 = sqlx::query_scalar("select max(no) + 1 from packs")
        .fetch_one(&mut *connection)
        .await?;
    let mut moved = 0;
    for (owner, bodies) in by_owner {
        let packs = pack(&bodies, LEVEL).map_err(DatabaseError::Spool)?;
        let numbered: Vec<_> = (next..).zip(&packs).collect();
        next += i64::try_from(packs.len()).unwrap_or(i64::MAX);
        INSERT_PACKS
            .run(connection, &numbered, |values, (number, pack)| {
                values
                    .add(*number)
                    .add(owner)
                    .add(pack.compressed.codec.number())
                    .add(i64::from(pack.compressed.size))
                    .add(pack.compressed.content.as_slice());
            })
            .await?;
        let mut bytes = 0;
        for (number, pack) in numbered {
            bytes += i64::try_from(pack.compressed.content.len()).unwrap_or(i64::MAX);
            for body in &pack.bodies {
                sqlx::query("update bodies set pack = ?, start = ? where hash = ?")
                    .bind(number)
                    .bind(i64::from(body.start))
                    .bind(&body.hash.as_bytes()[..])
                    .execute(&mut *connection)
                    .await?;
                if owner != PERMANENT {
                    sqlx::query("delete from body_uses where hash = ? and batch = ?")
                        .bind(&body.hash.as_bytes()[..])
                        .bind(owner)
                        .execute(&mut *connection)
                        .await?;
                }
            }
        }
        if owner != PERMANENT {
            let row = sqlx::query(
                "update batches set pack_bytes = pack_bytes + ? \
                 where no = ? and grades is not null returning run, caller",
            )
            .bind(bytes)
            .bind(owner)
            .fetch_optional(&mut *connection)
            .await?;
            if let Some(row) = row {
                let (run, caller): (i64, String) = (row.try_get("run")?, row.try_get("caller")?);
                hold(connection, (run, &caller), 0, 0, 0, bytes).await?;
            }
        }
        moved += count(bytes);
    }
    Ok(moved)
}

/// Deletes at most `limit` grades of a batch whose bodies are deleted, and the batch with its last
/// grades.
pub(super) async fn delete_grades(
    connection: &mut SqliteConnection,
    number: i64,
    limit: u32,
) -> Result<StepOutcome, DatabaseError> {
    let Some(batch) = stored_batch(connection, number).await? else {
        return Ok(StepOutcome::DONE);
    };
    let (first, last) = keys(number);
    let rows = sqlx::query(
        "select key, kind, in_group, score, checksum from grades where key between ? and ? \
         order by key limit ?",
    )
    .bind(first)
    .bind(last)
    .bind(limit)
    .fetch_all(&mut *connection)
    .await?;
    let (mut kinds, mut groups) = (BTreeSet::new(), BTreeSet::new());
    let mut scores = Vec::new();
    let mut checksum = batch.checksum;
    for row in &rows {
        kinds.insert(row.try_get::<i64, _>("kind")?);
        if let Some(group) = row.try_get::<Option<String>, _>("in_group")? {
            groups.insert(group);
        }
        scores.extend(row.try_get::<Option<f64>, _>("score")?);
        checksum = checksum
            .zip(row.try_get("checksum")?)
            .map(|(sum, checksum): (i64, i64)| sum.wrapping_sub(checksum));
    }
    let finished = rows.len() < limit as usize;
    if let Some(end) = rows.last() {
        let end: i64 = end.try_get("key")?;
        sqlx::query("insert into retention (running) values (1)")
            .execute(&mut *connection)
            .await?;
        sqlx::query("delete from grades where key between ? and ?")
            .bind(first)
            .bind(end)
            .execute(&mut *connection)
            .await?;
        sqlx::query("delete from retention")
            .execute(&mut *connection)
            .await?;
        let place = facets::Place {
            batch: batch.id,
            run: batch.run,
        };
        facets::delete(connection, place, &kinds, &groups, &scores).await?;
    }
    let deleted = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    let key = (batch.run, batch.caller.as_str());
    if finished {
        let id = u128::from(batch.id);
        sqlx::query("delete from draws where grade between ? and ?")
            .bind(id_bytes(id))
            .bind(id_bytes(id | ((1 << super::POSITION_BITS) - 1)))
            .execute(&mut *connection)
            .await?;
        sqlx::query("delete from batches where no = ?")
            .bind(number)
            .execute(&mut *connection)
            .await?;
        note_deleted(connection, number).await?;
        hold(
            connection,
            key,
            -1,
            -batch.grades,
            -batch.grade_bytes,
            -batch.pack_bytes,
        )
        .await?;
        return Ok(StepOutcome {
            batches: 1,
            grades: count(deleted),
            ..StepOutcome::DONE
        });
    }
    let bytes = batch.grade_bytes / batch.grades.max(1) * deleted;
    sqlx::query(
        "update batches set deleted = 2, grades = grades - ?, grade_bytes = grade_bytes - ?, \
         checksum = ? where no = ?",
    )
    .bind(deleted)
    .bind(bytes)
    .bind(checksum)
    .bind(number)
    .execute(&mut *connection)
    .await?;
    hold(connection, key, 0, -deleted, -bytes, 0).await?;
    Ok(StepOutcome {
        grades: count(deleted),
        ..StepOutcome::MORE
    })
}

/// Notes that retention deleted the batch with this number. Adjacent numbers share a row.
async fn note_deleted(connection: &mut SqliteConnection, number: i64) -> Result<(), DatabaseError> {
    let next: Option<i64> =
        sqlx::query_scalar("delete from deleted_batches where first = ? returning last")
            .bind(number + 1)
            .fetch_optional(&mut *connection)
            .await?;
    let last = next.unwrap_or(number);
    let extended = sqlx::query(
        "update deleted_batches set last = ?2 where last = ?1 - 1 and first = (\
           select max(first) from deleted_batches where first < ?1)",
    )
    .bind(number)
    .bind(last)
    .execute(&mut *connection)
    .await?;
    if extended.rows_affected() == 0 {
        sqlx::query("insert into deleted_batches (first, last) values (?, ?)")
            .bind(number)
            .bind(last)
            .execute(connection)
            .await?;
    }
    Ok(())
}

/// Removes rows of deleted bodies among the next `limit` rows of `bodies`.
pub(super) async fn sweep(
    connection: &mut SqliteConnection,
    limit: u32,
) -> Result<StepOutcome, DatabaseError> {
    let after: Option<Vec<u8>> = sqlx::query_scalar("select after from body_sweep")
        .fetch_optional(&mut *connection)
        .await?;
    let Some(after) = after else {
        return Ok(StepOutcome::DONE);
    };
    let end: Option<Vec<u8>> =
        sqlx::query_scalar("select hash from bodies where hash > ? order by hash limit 1 offset ?")
            .bind(after.as_slice())
            .bind(limit.saturating_sub(1))
            .fetch_optional(&mut *connection)
            .await?;
    // Beyond every hash.
    let last = end.clone().unwrap_or_else(|| vec![0xff; 33]);
    sqlx::query(
        "delete from bodies where hash > ? and hash <= ? \
         and not exists (select 1 from packs where no = bodies.pack)",
    )
    .bind(after)
    .bind(last)
    .execute(&mut *connection)
    .await?;
    let Some(end) = end else {
        sqlx::query("delete from body_sweep")
            .execute(connection)
            .await?;
        return Ok(StepOutcome::DONE);
    };
    sqlx::query("update body_sweep set after = ?")
        .bind(end)
        .execute(connection)
        .await?;
    Ok(StepOutcome::MORE)
}

/// Start of the names of runs that are being deleted. No list shows them, because they have no
/// grades.
pub(super) const DELETED_RUN: &str = "\u{1}deleted ";

/// Takes a run without batches out of the lists; another run may then get its name. Returns whether
/// that happened: a run that received grades in the meantime is kept.
pub(super) async fn begin_run(
    connection: &mut SqliteConnection,
    run: i64,
) -> Result<StepOutcome, DatabaseError> {
    let begun = sqlx::query(
        "update runs set name = ?2 || no, grades = 0 where no = ?1 \
         and not exists (select 1 from batches where run = ?1)",
    )
    .bind(run)
    .bind(DELETED_RUN)
    .execute(connection)
    .await?;
    Ok(StepOutcome {
        runs: begun.rows_affected(),
        ..StepOutcome::DONE
    })
}

/// Deletes at most `limit` rows of sums of a run that was taken out of the lists, and the run after
/// the last of them; `done` if there is no such run.
pub(super) async fn delete_run(
    connection: &mut SqliteConnection,
    limit: u32,
) -> Result<StepOutcome, DatabaseError> {
    const DELETES: [&str; 4] = [
        "delete from rollups where (run, step, grader, version, outcome, verdict) in (\
           select run, step, grader, version, outcome, verdict from rollups where run = ? limit ?)",
        "delete from step_numbers where (run, width, step, number, bin) in (\
           select run, width, step, number, bin from step_numbers where run = ? limit ?)",
        "delete from step_words where (run, width, step, topic, word) in (\
           select run, width, step, topic, word from step_words where run = ? limit ?)",
        "delete from prompt_history where (run, prompt_key, step) in (\
           select run, prompt_key, step from prompt_history where run = ? limit ?)",
    ];
    let run: Option<i64> = sqlx::query_scalar(
        "select no from runs where name >= ?1 and name < ?1 || char(0x10ffff) limit 1",
    )
    .bind(DELETED_RUN)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(run) = run else {
        return Ok(StepOutcome::DONE);
    };
    for delete in DELETES {
        let deleted = sqlx::query(delete)
            .bind(run)
            .bind(limit)
            .execute(&mut *connection)
            .await?;
        if deleted.rows_affected() > 0 {
            return Ok(StepOutcome::MORE);
        }
    }
    sqlx::query("delete from runs where no = ?")
        .bind(run)
        .execute(connection)
        .await?;
    Ok(StepOutcome::MORE)
}

/// Returns at most `pages` free pages to the file system; `done` if none is left.
pub(super) async fn vacuum(
    connection: &mut SqliteConnection,
    pages: u32,
) -> Result<StepOutcome, DatabaseError> {
    let before = free_pages(connection).await?;
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "pragma incremental_vacuum({pages})"
    )))
    .fetch_all(&mut *connection)
    .await?;
    let after = free_pages(connection).await?;
    // A database that was not created with incremental vacuum keeps its free pages.
    Ok(if after == 0 || after >= before {
        StepOutcome::DONE
    } else {
        StepOutcome::MORE
    })
}

async fn free_pages(connection: &mut SqliteConnection) -> Result<i64, DatabaseError> {
    Ok(sqlx::query_scalar("pragma freelist_count")
        .fetch_one(connection)
        .await?)
}
