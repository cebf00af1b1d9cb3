//! `ignore-invalid`: the row names a code to ignore that does not exist. Also notes the codes that
//! rows ignore.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::{GradedRow, excerpt};

pub(super) const CODE: Code = code!("ignore-invalid", Warning);

/// Runs before the other rules, because it decides which of their findings are left out.
pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let mut known = Vec::new();
    for name in &row.ignored {
        match sink.options().codes.parse(name) {
            Ok(code) => known.push(code.name),
            Err(message) => {
                let message = format!("`{}`: {message}", sink.options().ignore_column);
                sink.add(&CODE, &row.location, &row.key, excerpt(&message));
            }
        }
    }
    sink.row_ignores.add(&row.location, known);
}
