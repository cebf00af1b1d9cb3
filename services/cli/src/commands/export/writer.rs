//! The rows of an export, and the trait of its formats.

use assay_record::StoredGrade;
use assay_wire::grades::GradeDetail;
use serde::Serialize;

/// A row of an export.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Row {
    /// A grade.
    Grade(Box<StoredGrade>),
    /// A grade with its texts.
    Detail(Box<GradeDetail>),
}

/// Writes grades in one format.
pub(super) trait GradeWriter {
    fn write(&mut self, rows: &[Row]) -> anyhow::Result<()>;

    /// Writes the end of the file, if the format has one, and flushes.
    fn finish(self: Box<Self>) -> anyhow::Result<()>;
}
