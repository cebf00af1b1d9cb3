//! The columns of a grade: their names, and how a row is bound and read.

use std::sync::Arc;

use assay_core::{BatchId, Hash};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::insert::{Insert, Values};
use crate::database::DatabaseError;
use crate::{Appeal, GradeRecord};

/// Defines how grades are written and read from one list of columns with their fields: columns of
/// `grades` (`g`), and columns that a grade shares with others in `kinds` (`k`), `batches` (`b`)
/// and `runs`.
macro_rules! columns {
    (
        grades { $($column:ident => $field:ident,)* }
        shared { $($source:literal as $name:ident => $shared:ident,)* }
    ) => {
        pub(super) const INSERT_GRADES: Insert = Insert {
            prefix: concat!(
                "insert into grades (key, kind, checksum", $(", ", stringify!($column),)* ")"
            ),
            columns: 3 + [$(stringify!($column)),*].len(),
            suffix: "",
        };

        /// Selects a grade `g` with its kind `k` and batch `b`, for [`read_grade`].
        pub(crate) const SELECT_GRADE: &str = concat!(
            "select g.key, b.id as batch",
            $(", g.", stringify!($column),)*
            $(", ", $source, " as ", stringify!($name),)*
        );

        pub(super) fn bind_grade(
            values: &mut Values,
            key: i64,
            kind: i64,
            checksum: i64,
            grade: &GradeRecord,
        ) {
            values.add(key).add(kind).add(checksum);
            $(grade.$field.bind(values);)*
        }

        /// The digest of a grade that is to be inserted.
        pub(crate) fn digest_new(grade: &GradeRecord) -> GradeDigest {
            let mut digest = Digest::of(grade);
            $(digest.column(stringify!($column), |digest| grade.$field.digest(digest));)*
            let bytes = digest.bytes;
            $(digest.column(stringify!($name), |digest| grade.$shared.digest(digest));)*
            GradeDigest { checksum: digest.checksum(), bytes }
        }

        /// The checksum of a grade as it was read from `row`.
        pub(crate) fn checksum_of_row(
            grade: &GradeRecord,
            row: &SqliteRow,
        ) -> Result<i64, DatabaseError> {
            let mut digest = Digest::of(grade);
            $(digest.try_column(stringify!($column), |digest| {
                grade.$field.digest_row(row, stringify!($column), digest)
            })?;)*
            $(digest.try_column(stringify!($name), |digest| {
                grade.$shared.digest_row(row, stringify!($name), digest)
            })?;)*
            Ok(digest.checksum())
        }

        pub(crate) fn read_grade(row: &SqliteRow) -> Result<GradeRecord, DatabaseError> {
            let batch = batch_id(row.try_get("batch")?, "batches")?;
            let position = position(row.try_get("key")?);
            Ok(GradeRecord {
                grade: batch.grade(position),
                batch,
                position,
                $($field: Field::read(row, stringify!($column))?,)*
                $($shared: Field::read(row, stringify!($name))?,)*
            })
        }
    };
}

columns! {
    grades {
        item => item,
        in_group => group,
        prompt_key => prompt_key,
        task_hash => task_hash,
        completion_hash => completion_hash,
        prompt_hash => prompt_hash,
        score => score,
        reward => reward,
        components => components_json,
        steps => steps_json,
        measures => measures_json,
        evidence => evidence_json,
        error => error_json,
        meta => meta_json,
        checks => checks_json,
        queue_us => queue_us,
        grade_us => grade_us,
        work => work,
        time_us => time_us,
        appeal => appeal,
        score_after => score_after_appeal,
        advantage => advantage,
        reward_breakdown => reward_breakdown_json,
        redacted => redacted,
        bodies_omitted => bodies_omitted,
    }
    shared {
        "k.channel" as channel => channel,
        "k.grader" as grader => grader,
        "k.version" as version => grader_version,
        "k.image" as image => image,
        "k.policy" as policy => policy,
        "k.policy_hash" as policy_hash => policy_hash,
        "k.outcome" as outcome => outcome,
        "k.verdict" as verdict => verdict,
        "k.pass" as pass => pass,
        "k.deterministic" as deterministic => deterministic,
        "k.cached" as cached => cached,
        "b.caller" as caller => caller,
        "b.step" as step => step,
        "(select name from runs where no = b.run)" as run => run,
    }
}

/// Checksum and size of a grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GradeDigest {
    /// First 8 bytes of the hash of its columns.
    pub(crate) checksum: i64,
    /// Bytes of the values of its row.
    pub(crate) bytes: u64,
}

/// The encoding of a row for its checksum: the id, then name and value of each column that is not
/// null. A column that a later release adds does not change the checksum of rows without a value
/// in it, so it must be null by default; flags are treated as null if they are 0.
pub(crate) struct Digest {
    buffer: Vec<u8>,
    /// Bytes of the values.
    bytes: u64,
}

/// Bytes of a number in a row, on average.
const NUMBER_BYTES: u64 = 4;

impl Digest {
    fn of(grade: &GradeRecord) -> Self {
        let mut buffer = Vec::with_capacity(1_024);
        buffer.extend_from_slice(&u128::from(grade.grade).to_be_bytes());
        Self { buffer, bytes: 0 }
    }

    fn column(&mut self, name: &str, add: impl FnOnce(&mut Self)) {
        let added = self.try_column(name, |digest| {
            add(digest);
            Ok::<_, std::convert::Infallible>(())
        });
        let Ok(()) = added;
    }

    fn try_column<E>(
        &mut self,
        name: &str,
        add: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.push(0);
        let value = self.buffer.len();
        add(self)?;
        if self.buffer.len() == value {
            self.buffer.truncate(start);
        }
        Ok(())
    }

    fn integer(&mut self, value: i64) {
        self.buffer.push(b'i');
        self.buffer.extend_from_slice(&value.to_le_bytes());
        self.bytes += NUMBER_BYTES;
    }

    fn real(&mut self, value: f64) {
        self.buffer.push(b'r');
        // SQLite does not store the sign of zero.
        self.buffer.extend_from_slice(&(value + 0.0).to_le_bytes());
        self.bytes += 8;
    }

    fn text(&mut self, value: &[u8]) {
        self.buffer.push(b't');
        self.buffer
            .extend_from_slice(&(value.len() as u64).to_le_bytes());
        self.buffer.extend_from_slice(value);
        self.bytes += value.len() as u64;
    }

    fn checksum(&self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = *Hash::of(&self.buffer).as_bytes();
        i64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

/// A type of the fields of a grade, as a column contains it.
trait Field: Sized {
    fn bind(&self, values: &mut Values);

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError>;

    /// Adds the value to a digest; nothing if it is null.
    fn digest(&self, digest: &mut Digest);

    /// The same for the value that was read from `row`.
    fn digest_row(
        &self,
        _row: &SqliteRow,
        _column: &'static str,
        digest: &mut Digest,
    ) -> Result<(), DatabaseError> {
        self.digest(digest);
        Ok(())
    }
}

/// Adds a value to a digest.
trait Digestible {
    fn add_to(&self, digest: &mut Digest);
}

impl Digestible for bool {
    fn add_to(&self, digest: &mut Digest) {
        digest.integer(i64::from(*self));
    }
}

impl Digestible for i64 {
    fn add_to(&self, digest: &mut Digest) {
        digest.integer(*self);
    }
}

impl Digestible for u32 {
    fn add_to(&self, digest: &mut Digest) {
        digest.integer(i64::from(*self));
    }
}

impl Digestible for f64 {
    fn add_to(&self, digest: &mut Digest) {
        digest.real(*self);
    }
}

impl Digestible for String {
    fn add_to(&self, digest: &mut Digest) {
        digest.text(self.as_bytes());
    }
}

impl<T: Digestible> Digestible for Option<T> {
    fn add_to(&self, digest: &mut Digest) {
        if let Some(value) = self {
            value.add_to(digest);
        }
    }
}

/// Types that sqlx binds and reads.
macro_rules! plain_fields {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn bind(&self, values: &mut Values) {
                values.add(self.clone());
            }

            fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
                Ok(row.try_get(column)?)
            }

            fn digest(&self, digest: &mut Digest) {
                self.add_to(digest);
            }
        }
    )*};
}

/// A flag; false is stored as 0.
impl Field for bool {
    fn bind(&self, values: &mut Values) {
        values.add(*self);
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        Ok(row.try_get(column)?)
    }

    fn digest(&self, digest: &mut Digest) {
        if *self {
            digest.integer(1);
        }
    }
}

plain_fields!(i64, u32, String, Option<bool>, Option<f64>, Option<i64>);

impl Field for Option<String> {
    fn bind(&self, values: &mut Values) {
        values.add_text(self.as_deref());
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        Ok(row.try_get(column)?)
    }

    fn digest(&self, digest: &mut Digest) {
        self.add_to(digest);
    }
}

impl Field for Arc<str> {
    fn bind(&self, values: &mut Values) {
        values.add(Self::clone(self));
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        Ok(row.try_get::<&str, _>(column)?.into())
    }

    fn digest(&self, digest: &mut Digest) {
        digest.text(self.as_bytes());
    }
}

impl Field for Option<Arc<str>> {
    fn bind(&self, values: &mut Values) {
        values.add(self.clone());
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        Ok(row.try_get::<Option<&str>, _>(column)?.map(Arc::from))
    }

    fn digest(&self, digest: &mut Digest) {
        if let Some(text) = self {
            digest.text(text.as_bytes());
        }
    }
}

impl Field for u64 {
    fn bind(&self, values: &mut Values) {
        values.add_count(*self);
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        Ok(count(row.try_get(column)?))
    }

    fn digest(&self, digest: &mut Digest) {
        digest.integer(i64::try_from(*self).unwrap_or(i64::MAX));
    }
}

impl Field for Hash {
    fn bind(&self, values: &mut Values) {
        values.add(&self.as_bytes()[..]);
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        hash(row.try_get(column)?, "grades", column)
    }

    fn digest(&self, digest: &mut Digest) {
        digest.text(self.as_bytes());
    }
}

impl Field for Option<Hash> {
    fn bind(&self, values: &mut Values) {
        values.add(self.as_ref().map(|hash| &hash.as_bytes()[..]));
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        let bytes: Option<&[u8]> = row.try_get(column)?;
        bytes.map(|_| Hash::read(row, column)).transpose()
    }

    fn digest(&self, digest: &mut Digest) {
        if let Some(hash) = self {
            hash.digest(digest);
        }
    }
}

/// JSON.
impl Field for Option<Appeal> {
    fn bind(&self, values: &mut Values) {
        appeal_json(self).bind(values);
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        let json: Option<&str> = row.try_get(column)?;
        json.map(serde_json::from_str)
            .transpose()
            .map_err(|error| damaged(column, error.to_string()))
    }

    fn digest(&self, digest: &mut Digest) {
        appeal_json(self).add_to(digest);
    }

    /// The stored text, because parsing and serialising a number may change its last digit.
    fn digest_row(
        &self,
        row: &SqliteRow,
        column: &'static str,
        digest: &mut Digest,
    ) -> Result<(), DatabaseError> {
        row.try_get::<Option<String>, _>(column)?.add_to(digest);
        Ok(())
    }
}

/// An appeal as it is stored. It can always be serialised.
fn appeal_json(appeal: &Option<Appeal>) -> Option<String> {
    appeal
        .as_ref()
        .and_then(|appeal| serde_json::to_string(appeal).ok())
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
