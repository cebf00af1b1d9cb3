//! Rules over whole datasets, and texts that several rules share.

use super::Sink;
use crate::graded_row::{GradedRow, ProbeGrade};

/// Checks a row against the other rows.
pub(crate) trait DatasetRule {
    /// Receives the next row.
    fn add_row(&mut self, row: &GradedRow, sink: &mut Sink<'_>);

    /// Called after the last row.
    fn finish(&mut self, _sink: &mut Sink<'_>) {}
}

/// The verdict and the reason of a grade, for a message.
pub(super) fn describe(grade: &ProbeGrade) -> String {
    match &grade.reason {
        Some(reason) => format!("`{}` ({reason})", grade.verdict),
        None => format!("`{}`", grade.verdict),
    }
}
