//! `duplicate-id`: two rows have one id, so that rollouts and findings of one are taken for those
//! of the other.

use std::collections::HashSet;

use super::duplicates::MOST_ROWS;
use super::{Code, Severity, Sink, Survey};
use crate::examined::Examined;
use crate::words::hash;

pub(super) const CODE: Code = Code {
    name: "duplicate-id",
    severity: Severity::Error,
    title: "an earlier row of the dataset has the same id",
};

/// Ids of the rows so far.
#[derive(Default)]
pub(super) struct Ids(HashSet<u64>);

impl Survey for Ids {
    fn note(&mut self, row: &Examined, sink: &mut Sink<'_>) {
        // Keys made of content are those of duplicates, which are told as such.
        if row.key.starts_with('#') {
            return;
        }
        let id = hash(row.key.as_bytes()) ^ hash(row.place.dataset.as_bytes()).rotate_left(1);
        if self.0.contains(&id) {
            sink.tell(
                &CODE,
                &row.place,
                &row.key,
                format!("an earlier row has the id `{}` as well", row.key),
            );
        } else if self.0.len() < MOST_ROWS {
            self.0.insert(id);
        }
    }
}
