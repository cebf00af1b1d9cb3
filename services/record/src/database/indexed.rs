//! What the index of texts has of grades and batches, and how it is searched.

use std::collections::BTreeMap;

use assay_core::BatchId;

use super::rows::batch_id;
use super::text_words::TextPhrase;
use crate::database::DatabaseError;
use crate::database::sql::Row;

/// The texts of a grade.
pub(crate) struct GradeTexts {
    pub(crate) key: i64,
    pub(crate) completion: String,
    pub(crate) prompt: String,
}

/// A batch as the index notes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexedBatch {
    pub(crate) id: BatchId,
    /// Number of grades; `None` while some are missing.
    pub(crate) grades: Option<i64>,
}

/// Batches by their numbers, from rows with the columns `no`, `id` and `grades`.
pub(crate) fn read_batches(
    rows: &[Row],
    table: &'static str,
) -> Result<BTreeMap<i64, IndexedBatch>, DatabaseError> {
    let batch = |row: &Row| {
        let batch = IndexedBatch {
            id: batch_id(row.try_get("id")?, table)?,
            grades: row.try_get("grades")?,
        };
        Ok((row.try_get("no")?, batch))
    };
    rows.iter().map(batch).collect()
}

/// A search in the form of a database.
pub(crate) struct Expression {
    /// In the syntax of FTS5, or of `tsquery`.
    pub(crate) query: String,
    /// Phrases that the index does not decide.
    pub(crate) phrases: Vec<TextPhrase>,
}

impl Expression {
    /// An expression that the index decides.
    pub(crate) fn exact(query: String) -> Self {
        let phrases = Vec::new();
        Self { query, phrases }
    }
}
