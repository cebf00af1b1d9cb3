//! Writes grades in one format.

use assay_record::StoredGrade;

/// Writes grades in one format.
pub(super) trait GradeWriter {
    fn write(&mut self, grades: &[StoredGrade]) -> anyhow::Result<()>;

    /// Writes the end of the file, if the format has one, and flushes.
    fn finish(self: Box<Self>) -> anyhow::Result<()>;
}
