//! `duplicate-id`: two rows have the same id, so their rollouts and findings are mixed up.

use std::collections::HashSet;

use super::Sink;
use super::code::{Code, code};
use super::duplicates::MAX_ROWS;
use super::rule::DatasetRule;
use crate::graded_row::GradedRow;
use crate::shingles::hash;

pub(super) const CODE: Code = code!("duplicate-id", Error);

/// Ids of the rows so far.
#[derive(Default)]
pub(super) struct Ids(HashSet<u64>);

impl DatasetRule for Ids {
    fn add_row(&mut self, row: &GradedRow, sink: &mut Sink<'_>) {
        // Keys made of the content are equal for duplicate rows, which are reported as such.
        if row.key.starts_with('#') {
            return;
        }
        let id = hash(row.key.as_bytes()) ^ hash(row.location.dataset.as_bytes()).rotate_left(1);
        if self.0.contains(&id) {
            sink.add(
                &CODE,
                &row.location,
                &row.key,
                format!(
                    "an earlier row has the id `{}` too; give each row its own id",
                    row.key
                ),
            );
        } else if self.0.len() < MAX_ROWS {
            self.0.insert(id);
        }
    }
}
