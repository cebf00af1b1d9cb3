//! The columns of a grade: how a row is bound, read and checked. The rest of the grade is its
//! document.

use std::borrow::Cow;
use std::sync::Arc;

use assay_core::{BatchId, GradeId, Hash};

use super::documents::{self, Location};
use super::insert::{Insert, Values};
use crate::NewGrade;
use crate::checksum::Checksum;
use crate::database::DatabaseError;
use crate::database::sql::{Cell, Connection, Row};
use crate::grade::{GradeSource, StoredGrade};
use crate::legacy::{LegacyAppeal, LegacyGrade};

/// A grade that is to be inserted.
pub(super) struct NewRow<'g> {
    pub(super) key: i64,
    /// Index of its kind.
    pub(super) kind: usize,
    pub(super) checksum: i64,
    pub(super) stored: &'g StoredGrade,
    /// The grade that `stored` is the row of.
    pub(super) new: &'g NewGrade,
    pub(super) document: Location,
}

pub(super) const INSERT_GRADES: Insert = Insert {
    prefix: "insert into grades (key, kind, checksum, document, document_start, document_size, \
             item, in_group, prompt_key, task_hash, completion_hash, prompt_hash, score, reward, queue_us, \
             grade_us, work, time_us, redacted, bodies_omitted)",
    columns: 20,
    suffix: "",
};

/// Binds a row of [`INSERT_GRADES`].
pub(super) fn bind_grade(values: &mut Values, new: &NewRow<'_>, kind: i64) {
    values
        .add(new.key)
        .add(kind)
        .add(new.checksum)
        .add(new.document.pack)
        .add(i64::from(new.document.start))
        .add(i64::from(new.document.size));
    for (_, cell) in own_cells(new.stored) {
        values.add(cell);
    }
}

/// Selects a grade `g` with its kind `k` and batch `b`, for [`read_grades`]. Rows with a document
/// have null in the columns that the document replaced.
pub(crate) const SELECT_GRADE: &str = "select g.key, b.id as batch, g.checksum, g.document, \
    g.document_start, g.document_size, g.item, g.in_group, g.prompt_key, g.task_hash, \
    g.completion_hash, g.prompt_hash, g.score, g.reward, g.components, g.steps, g.measures, \
    g.earlier_evidence as evidence, g.error, g.meta, g.checks, g.queue_us, g.grade_us, g.work, \
    g.time_us, g.appeal, g.score_after, g.advantage, g.reward_breakdown, g.redacted, \
    g.bodies_omitted, k.channel, k.grader, k.version, k.image, k.policy, k.policy_hash, \
    k.outcome, k.verdict, k.pass, k.deterministic, k.cached, b.caller, b.step, \
    (select name from runs where no = b.run) as run";

/// The columns of a row in the order in which they are digested, those of `grades` before those
/// that it shares with other grades.
const DIGESTED: [&str; 39] = [
    "item",
    "in_group",
    "prompt_key",
    "task_hash",
    "completion_hash",
    "prompt_hash",
    "score",
    "reward",
    "components",
    "steps",
    "measures",
    "evidence",
    "error",
    "meta",
    "checks",
    "queue_us",
    "grade_us",
    "work",
    "time_us",
    "appeal",
    "score_after",
    "advantage",
    "reward_breakdown",
    "redacted",
    "bodies_omitted",
    "channel",
    "grader",
    "version",
    "image",
    "policy",
    "policy_hash",
    "outcome",
    "verdict",
    "pass",
    "deterministic",
    "cached",
    "caller",
    "step",
    "run",
];

/// Columns that are digested only if they are not 0.
const FLAGS: [&str; 4] = ["redacted", "bodies_omitted", "deterministic", "cached"];

/// Name under which the checksum of the document is digested, after the columns.
const DOCUMENT: &str = "document";

fn text(text: Option<&str>) -> Cell<'_> {
    text.map_or(Cell::Null, |text| Cell::Text(text.into()))
}

fn hash_cell(hash: Option<&Hash>) -> Cell<'_> {
    hash.map_or(Cell::Null, |hash| Cell::Bytes(hash.as_bytes()))
}

fn real(number: Option<f64>) -> Cell<'static> {
    // SQLite stores NaN as null.
    let number = number.filter(|number| !number.is_nan());
    number.map_or(Cell::Null, Cell::Real)
}

fn count_cell(count: u64) -> Cell<'static> {
    Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The value of a column of `row`, as it is digested.
fn digested<'r>(row: &'r Row, column: &str) -> Result<Cell<'r>, DatabaseError> {
    let is_flag = FLAGS.contains(&column);
    Ok(match row.cell(column)? {
        Cell::Integer(number) if is_flag => Cell::Flag(number != 0),
        Cell::Flag(flag) if !is_flag => Cell::Integer(flag.into()),
        cell => cell,
    })
}

/// The values of the columns of `grades` that are written, in the order of [`INSERT_GRADES`] and of
/// [`DIGESTED`].
fn own_cells(stored: &StoredGrade) -> [(&'static str, Cell<'_>); 14] {
    let StoredGrade { source, grade } = stored;
    [
        ("item", text(grade.id.as_deref())),
        ("in_group", text(grade.group.as_deref())),
        ("prompt_key", text(grade.prompt_key.as_deref())),
        ("task_hash", hash_cell(Some(&source.task_hash))),
        ("completion_hash", hash_cell(Some(&source.completion_hash))),
        ("prompt_hash", hash_cell(source.prompt_hash.as_ref())),
        ("score", real(grade.score)),
        ("reward", real(grade.reward)),
        ("queue_us", count_cell(grade.queue_us)),
        ("grade_us", count_cell(grade.grade_us)),
        ("work", count_cell(grade.work)),
        ("time_us", Cell::Integer(grade.time_us)),
        ("redacted", Cell::Flag(source.redacted)),
        ("bodies_omitted", Cell::Flag(source.bodies_omitted)),
    ]
}

/// The values that a grade shares with others, in the order of [`DIGESTED`].
fn shared_cells(stored: &StoredGrade) -> [(&'static str, Cell<'_>); 13] {
    let StoredGrade { source, grade } = stored;
    let integer = |number: Option<i64>| number.map_or(Cell::Null, Cell::Integer);
    [
        ("channel", text(Some(&grade.channel))),
        ("grader", text(Some(&grade.grader.name))),
        ("version", Cell::Integer(grade.grader.version.into())),
        ("policy", text(Some(&source.policy))),
        ("policy_hash", hash_cell(source.policy_hash.as_ref())),
        ("outcome", text(Some(&grade.outcome))),
        ("verdict", text(grade.verdict.as_deref())),
        ("pass", integer(grade.pass.map(i64::from))),
        ("deterministic", Cell::Flag(grade.deterministic)),
        ("cached", Cell::Flag(grade.cached)),
        ("caller", text(Some(&source.caller))),
        ("step", integer(source.step)),
        ("run", text(source.run.as_deref())),
    ]
}

/// Checksum and size of a grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GradeDigest {
    /// Of its columns and the checksum of its document.
    pub(crate) checksum: i64,
    /// Bytes of the values of its row, without its document.
    pub(crate) bytes: u64,
}

/// The digest of a grade that is to be inserted.
pub(crate) fn digest_new(stored: &StoredGrade, document: i64) -> GradeDigest {
    let mut digest = Digest::of(stored.grade.grade);
    for (name, cell) in own_cells(stored) {
        digest.column(name, &cell);
    }
    let bytes = digest.bytes;
    for (name, cell) in shared_cells(stored) {
        digest.column(name, &cell);
    }
    digest.column(DOCUMENT, &Cell::Integer(document));
    GradeDigest {
        checksum: Checksum::CURRENT.of(&digest.buffer),
        bytes,
    }
}

/// The id of a grade, by the key of its row.
pub(crate) fn grade_id(row: &Row) -> Result<GradeId, DatabaseError> {
    let batch = batch_id(row.try_get("batch")?, "batches")?;
    Ok(batch.grade(position(row.try_get("key")?)))
}

/// Whether a grade as it was read from `row` has the checksum `expected`. Frames of earlier
/// releases have checksums of documents that differ from those that this release computes of rows.
fn has_checksum(row: &Row, document: Option<&str>, expected: i64) -> Result<bool, DatabaseError> {
    let mut columns = Digest::of(grade_id(row)?);
    for name in DIGESTED {
        columns.column(name, &digested(row, name)?);
    }
    let columns = columns.buffer;
    Ok(Checksum::ALL.iter().any(|of_document| {
        let mut digest = Digest {
            buffer: columns.clone(),
            bytes: 0,
        };
        if let Some(document) = document {
            let checksum = of_document.of(document.as_bytes());
            digest.column(DOCUMENT, &Cell::Integer(checksum));
        }
        Checksum::ALL
            .iter()
            .any(|of_row| of_row.of(&digest.buffer) == expected)
    }))
}

/// The encoding of a row for its checksum: the id, then name and value of each column that is not
/// null. A column that a later release adds does not change the checksum of rows without a value
/// in it, so it must be null by default; flags are treated as null if they are 0.
struct Digest {
    buffer: Vec<u8>,
    /// Bytes of the values.
    bytes: u64,
}

/// Bytes of a number in a row, on average.
const NUMBER_BYTES: u64 = 4;

impl Digest {
    fn of(grade: GradeId) -> Self {
        let mut buffer = Vec::with_capacity(512);
        buffer.extend_from_slice(&u128::from(grade).to_be_bytes());
        Self { buffer, bytes: 0 }
    }

    fn column(&mut self, name: &str, cell: &Cell<'_>) {
        if matches!(cell, Cell::Null | Cell::Flag(false)) {
            return;
        }
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.push(0);
        match cell {
            Cell::Null => {}
            Cell::Flag(flag) => self.integer((*flag).into()),
            Cell::Integer(number) => self.integer(*number),
            Cell::Real(number) => {
                self.buffer.push(b'r');
                // SQLite does not store the sign of zero.
                let number = number + 0.0;
                self.buffer.extend_from_slice(&number.to_le_bytes());
                self.bytes += 8;
            }
            Cell::Text(text) => self.text(text.as_bytes()),
            Cell::Bytes(bytes) => self.text(bytes),
        }
    }

    fn integer(&mut self, value: i64) {
        self.buffer.push(b'i');
        self.buffer.extend_from_slice(&value.to_le_bytes());
        self.bytes += NUMBER_BYTES;
    }

    fn text(&mut self, value: &[u8]) {
        self.buffer.push(b't');
        self.buffer
            .extend_from_slice(&(value.len() as u64).to_le_bytes());
        self.buffer.extend_from_slice(value);
        self.bytes += value.len() as u64;
    }
}

/// A row that was read, whether or not it has a grade that can be read.
pub(crate) struct CheckedGrade {
    /// Its id by the key of its row, which its document may contradict.
    pub(crate) id: GradeId,
    pub(crate) position: u32,
    /// The checksum in its row.
    pub(crate) checksum: Option<i64>,
    /// The grade, and whether its columns and document have that checksum, if there is one.
    pub(crate) read: Result<(StoredGrade, bool), DatabaseError>,
}

/// Reads the grades of `rows` with their documents.
pub(crate) async fn read_grades(
    connection: &mut Connection,
    rows: &[Row],
) -> Result<Vec<StoredGrade>, DatabaseError> {
    read_each(connection, rows, |grade| grade).await
}

/// As [`read_grades`], without the checks, which lists do not show and which may be large.
pub(crate) async fn read_listed(
    connection: &mut Connection,
    rows: &[Row],
) -> Result<Vec<StoredGrade>, DatabaseError> {
    read_each(connection, rows, |mut grade| {
        grade.source.checks = None;
        grade
    })
    .await
}

async fn read_each(
    connection: &mut Connection,
    rows: &[Row],
    keep: fn(StoredGrade) -> StoredGrade,
) -> Result<Vec<StoredGrade>, DatabaseError> {
    documents::read_with(connection, rows, |row, document| {
        let grade = document.and_then(|document| read_grade(row, document));
        match grade.map(keep) {
            Err(DatabaseError::Row {
                table,
                column,
                reason,
            }) => Err(DatabaseError::Row {
                table,
                column,
                reason: format!("grade {}: {reason}", grade_id(row)?),
            }),
            grade => grade,
        }
    })
    .await
}

/// As [`read_grades`], compared with their checksums.
pub(crate) async fn read_checked(
    connection: &mut Connection,
    rows: &[Row],
) -> Result<Vec<CheckedGrade>, DatabaseError> {
    documents::read_with(connection, rows, |row, document| {
        let checksum: Option<i64> = row.try_get("checksum")?;
        let read = document.and_then(|document| {
            let intact = match checksum {
                Some(checksum) => has_checksum(row, document, checksum)?,
                None => true,
            };
            Ok((read_grade(row, document)?, intact))
        });
        Ok(CheckedGrade {
            id: grade_id(row)?,
            position: position(row.try_get("key")?),
            checksum,
            read,
        })
    })
    .await
}

fn read_grade(row: &Row, document: Option<&str>) -> Result<StoredGrade, DatabaseError> {
    let Some(document) = document else {
        return Ok(read_legacy(row)?.into());
    };
    let source = GradeSource {
        batch: batch_id(row.try_get("batch")?, "batches")?,
        caller: row.try_get::<Cow<'_, str>>("caller")?.into(),
        run: row.try_get::<Option<Cow<'_, str>>>("run")?.map(Arc::from),
        step: row.try_get("step")?,
        task_hash: hash_of(row, "task_hash")?,
        completion_hash: hash_of(row, "completion_hash")?,
        prompt_hash: optional_hash(row, "prompt_hash")?,
        policy: row.try_get::<Cow<'_, str>>("policy")?.into(),
        policy_hash: optional_hash(row, "policy_hash")?,
        redacted: row.try_get("redacted")?,
        bodies_omitted: row.try_get("bodies_omitted")?,
        meta: None,
        checks: None,
    };
    let stored = StoredGrade::read(source, document)
        .map_err(|error| damaged(DOCUMENT, error.to_string()))?;
    let document_of = (stored.grade.grade, stored.grade.position);
    if document_of != (grade_id(row)?, position(row.try_get("key")?)) {
        let reason = format!("it is that of grade {}", document_of.0);
        return Err(damaged(DOCUMENT, reason));
    }
    Ok(stored)
}

/// Reads a row of an earlier release.
fn read_legacy(row: &Row) -> Result<LegacyGrade, DatabaseError> {
    let batch = batch_id(row.try_get("batch")?, "batches")?;
    let position = position(row.try_get("key")?);
    let appeal: Option<Cow<'_, str>> = row.try_get("appeal")?;
    let appeal: Option<LegacyAppeal> = appeal
        .map(|appeal| serde_json::from_str(&appeal))
        .transpose()
        .map_err(|error| damaged("appeal", error.to_string()))?;
    Ok(LegacyGrade {
        grade: batch.grade(position),
        batch,
        position,
        caller: row.try_get::<Cow<'_, str>>("caller")?.into(),
        run: row.try_get::<Option<Cow<'_, str>>>("run")?.map(Arc::from),
        step: row.try_get("step")?,
        item: row.try_get("item")?,
        group: row.try_get("in_group")?,
        prompt_key: row.try_get("prompt_key")?,
        channel: row.try_get("channel")?,
        grader: row.try_get("grader")?,
        grader_version: row.try_get("version")?,
        _image: None,
        task_hash: hash_of(row, "task_hash")?,
        completion_hash: hash_of(row, "completion_hash")?,
        prompt_hash: optional_hash(row, "prompt_hash")?,
        policy: row.try_get::<Cow<'_, str>>("policy")?.into(),
        policy_hash: optional_hash(row, "policy_hash")?,
        outcome: row.try_get("outcome")?,
        verdict: row.try_get("verdict")?,
        pass: row.try_get("pass")?,
        score: row.try_get("score")?,
        appeal,
        score_after_appeal: row.try_get("score_after")?,
        reward: row.try_get("reward")?,
        advantage: row.try_get("advantage")?,
        components_json: row.try_get("components")?,
        reward_breakdown_json: row.try_get("reward_breakdown")?,
        steps_json: row.try_get("steps")?,
        measures_json: row.try_get("measures")?,
        evidence_json: row.try_get("evidence")?,
        error_json: row.try_get("error")?,
        meta_json: row.try_get("meta")?,
        checks_json: row.try_get("checks")?,
        deterministic: row.try_get("deterministic")?,
        cached: row.try_get("cached")?,
        queue_us: count(row.try_get("queue_us")?),
        grade_us: count(row.try_get("grade_us")?),
        work: count(row.try_get("work")?),
        time_us: row.try_get("time_us")?,
        redacted: row.try_get("redacted")?,
        bodies_omitted: row.try_get("bodies_omitted")?,
    })
}

fn hash_of(row: &Row, column: &'static str) -> Result<Hash, DatabaseError> {
    hash(row.try_get(column)?, "grades", column)
}

fn optional_hash(row: &Row, column: &'static str) -> Result<Option<Hash>, DatabaseError> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    bytes.map(|bytes| hash(bytes, "grades", column)).transpose()
}

fn damaged(column: &'static str, reason: String) -> DatabaseError {
    DatabaseError::Row {
        table: "grades",
        column,
        reason,
    }
}

/// Key of the grade at `position` of the batch `number`.
pub(crate) fn key(number: i64, position: u32) -> i64 {
    number << POSITION_BITS | i64::from(position)
}

/// Position of the grade with this key.
pub(crate) fn position(key: i64) -> u32 {
    u32::try_from(key & ((1 << POSITION_BITS) - 1)).unwrap_or(0)
}

/// Reverses [`Values::add_count`].
pub(crate) fn count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

pub(crate) fn batch_id(bytes: &[u8], table: &'static str) -> Result<BatchId, DatabaseError> {
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| DatabaseError::Row {
        table,
        column: "id",
        reason: format!("an id has 16 bytes, this has {}", bytes.len()),
    })?;
    Ok(u128::from_be_bytes(bytes).into())
}

pub(crate) fn hash(
    bytes: &[u8],
    table: &'static str,
    column: &'static str,
) -> Result<Hash, DatabaseError> {
    Hash::from_bytes(bytes).ok_or_else(|| DatabaseError::Row {
        table,
        column,
        reason: format!("a hash has 32 bytes, this has {}", bytes.len()),
    })
}

/// Encodes an id as it is stored: big-endian, so that bytes sort like numbers.
pub(crate) fn id_bytes(id: impl Into<u128>) -> Vec<u8> {
    id.into().to_be_bytes().to_vec()
}

/// Bits of a position in a batch. The key of a grade is the number of its batch shifted by this
/// many bits, plus its position.
pub(crate) const POSITION_BITS: u32 = 24;
