//! `unchecked`: rows of which no right completion was graded. Reported once for each dataset and
//! reason, because a whole dataset is often unchecked.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Sink;
use super::code::{Code, code};
use super::rule::DatasetRule;
use crate::graded_row::{GradedRow, NO_GENERATED_DATABASE};
use crate::row::RowLocation;

pub(super) const CODE: Code = code!("unchecked", Warning);

/// The unchecked rows so far.
#[derive(Default)]
pub(super) struct Unchecked {
    /// Number of rows with a task, by dataset.
    rows: BTreeMap<Arc<str>, u64>,
    /// The unchecked rows by dataset, type of task and reason.
    groups: BTreeMap<(Arc<str>, String, &'static str), Group>,
}

/// The unchecked rows of a dataset, type of task and reason.
struct Group {
    count: u64,
    /// Location and key of the first of them.
    location: RowLocation,
    key: String,
}

impl DatasetRule for Unchecked {
    fn add_row(&mut self, row: &GradedRow, _sink: &mut Sink<'_>) {
        let Some(kind) = row.kind() else { return };
        let dataset = &row.location.dataset;
        *self.rows.entry(Arc::clone(dataset)).or_default() += 1;
        if let Some(reason) = row.unchecked() {
            let group = (Arc::clone(dataset), kind.to_owned(), reason);
            let first = || Group {
                count: 0,
                location: row.location.clone(),
                key: row.key.clone(),
            };
            self.groups.entry(group).or_insert_with(first).count += 1;
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        for ((dataset, kind, reason), group) in &self.groups {
            let Group {
                count,
                location,
                key,
            } = group;
            let all = self.rows.get(dataset).copied().unwrap_or_default();
            let rows = if *count == all {
                format!("all {all} rows")
            } else {
                format!("{count} of {all} rows, from this one on,")
            };
            let hint = if *reason == NO_GENERATED_DATABASE {
                "list variants of the database in the task"
            } else {
                "name right completions with `--solution`"
            };
            let message = format!("{rows} are unchecked: {reason} (`{kind}`); {hint}");
            sink.add(&CODE, location, key, message);
        }
    }
}
