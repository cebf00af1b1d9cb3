//! `id-missing`: the row has a column for its id, which is null or empty.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;

pub(super) const CODE: Code = code!("id-missing", Warning);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if row.lacks_id {
        let message = "the id of the row is null or empty; give each row an id".to_owned();
        sink.add(&CODE, &row.location, &row.key, message);
    }
}
