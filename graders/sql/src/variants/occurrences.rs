//! Finds the columns of the base that contain the text constants of golds.

use std::collections::{HashMap, HashSet};

use assay_worker::query::{Table, Value};

use super::constants::Constants;

/// For each text, in lower case, the columns that contain it, by table and column.
pub(super) struct Occurrences(HashMap<Vec<u8>, HashSet<(usize, usize)>>);

impl Occurrences {
    /// Finds the columns that contain each text constant.
    pub(super) fn of(tables: &[Table], constants: &Constants) -> Self {
        let texts = constants.texts.iter().map(|near| {
            (
                near.constant.as_bytes().to_ascii_lowercase(),
                HashSet::new(),
            )
        });
        let mut found: HashMap<Vec<u8>, HashSet<(usize, usize)>> = texts.collect();
        let longest = found.keys().map(Vec::len).max().unwrap_or_default();
        for (at, table) in tables.iter().enumerate() {
            let width = table.columns.len().max(1);
            for (index, cell) in table.sample.cells().enumerate() {
                if let Value::Text(text) = cell
                    && text.len() <= longest
                    && let Some(columns) = found.get_mut(&text.to_ascii_lowercase())
                {
                    columns.insert((at, index % width));
                }
            }
        }
        Self(found)
    }

    /// Whether a text may be used in this column: the column contains the text, or no column does.
    pub(super) fn allows(&self, text: &str, table: usize, column: usize) -> bool {
        let columns = self.0.get(&text.as_bytes().to_ascii_lowercase());
        columns.is_none_or(|columns| columns.is_empty() || columns.contains(&(table, column)))
    }
}
