//! The columns of a grade: their names, and how a row is bound and read.

use std::sync::Arc;

use assay_core::{BatchId, Hash};
use assay_record::{Appeal, GradeRecord};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::insert::{Insert, Values};
use crate::database::DatabaseError;

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
                "insert into grades (key, kind", $(", ", stringify!($column),)* ")"
            ),
            columns: 2 + [$(stringify!($column)),*].len(),
            suffix: "",
        };

        /// Selects a grade `g` with its kind `k` and batch `b`, for [`read_grade`].
        pub(super) const SELECT_GRADE: &str = concat!(
            "select g.key, b.id as batch",
            $(", g.", stringify!($column),)*
            $(", ", $source, " as ", stringify!($name),)*
        );

        pub(super) fn bind_grade(values: &mut Values, key: i64, kind: i64, grade: &GradeRecord) {
            values.add(key).add(kind);
            $(grade.$field.bind(values);)*
        }

        pub(super) fn read_grade(row: &SqliteRow) -> Result<GradeRecord, DatabaseError> {
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

/// A type of the fields of a grade, as a column contains it.
trait Field: Sized {
    fn bind(&self, values: &mut Values);

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError>;
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
        }
    )*};
}

plain_fields!(
    bool,
    i64,
    u32,
    String,
    Option<bool>,
    Option<f64>,
    Option<i64>
);

impl Field for Option<String> {
    fn bind(&self, values: &mut Values) {
        values.add_text(self.as_deref());
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        Ok(row.try_get(column)?)
    }
}

impl Field for Arc<str> {
    fn bind(&self, values: &mut Values) {
        values.add(Self::clone(self));
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        Ok(row.try_get::<&str, _>(column)?.into())
    }
}

impl Field for Option<Arc<str>> {
    fn bind(&self, values: &mut Values) {
        values.add(self.clone());
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        Ok(row.try_get::<Option<&str>, _>(column)?.map(Arc::from))
    }
}

impl Field for u64 {
    fn bind(&self, values: &mut Values) {
        values.add_count(*self);
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        Ok(count(row.try_get(column)?))
    }
}

impl Field for Hash {
    fn bind(&self, values: &mut Values) {
        values.add(&self.as_bytes()[..]);
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        let bytes: &[u8] = row.try_get(column)?;
        Self::from_bytes(bytes).ok_or_else(|| {
            damaged(
                column,
                format!("a hash has 32 bytes, this has {}", bytes.len()),
            )
        })
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
}

/// JSON.
impl Field for Option<Appeal> {
    fn bind(&self, values: &mut Values) {
        let json = self
            .as_ref()
            .and_then(|appeal| serde_json::to_string(appeal).ok());
        json.bind(values);
    }

    fn read(row: &SqliteRow, column: &'static str) -> Result<Self, DatabaseError> {
        let json: Option<&str> = row.try_get(column)?;
        json.map(serde_json::from_str)
            .transpose()
            .map_err(|error| damaged(column, error.to_string()))
    }
}

fn damaged(column: &'static str, reason: String) -> DatabaseError {
    DatabaseError::Row {
        table: "grades",
        column,
        reason,
    }
}

/// Key of the grade at `position` of the batch `number`.
pub(super) fn key(number: i64, position: u32) -> i64 {
    number << POSITION_BITS | i64::from(position)
}

/// Position of the grade with this key.
pub(super) fn position(key: i64) -> u32 {
    u32::try_from(key & ((1 << POSITION_BITS) - 1)).unwrap_or(0)
}

/// Reverses [`Values::add_count`].
pub(super) fn count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

pub(super) fn batch_id(bytes: &[u8], table: &'static str) -> Result<BatchId, DatabaseError> {
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| DatabaseError::Row {
        table,
        column: "id",
        reason: format!("an id has 16 bytes, this has {}", bytes.len()),
    })?;
    Ok(u128::from_be_bytes(bytes).into())
}

/// Encodes an id as it is stored: big-endian, so that bytes sort like numbers.
pub(super) fn id_bytes(id: impl Into<u128>) -> Vec<u8> {
    id.into().to_be_bytes().to_vec()
}

/// Bits of a position in a batch. The key of a grade is the number of its batch shifted by this
/// many bits, plus its position.
pub(crate) const POSITION_BITS: u32 = 24;
