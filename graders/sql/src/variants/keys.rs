//! Declared and likely keys and references of a schema, and the order in which tables can be
//! filled.

use assay_worker::query::{ForeignKey, Table, Value};

/// Adds likely references to the tables. An undeclared reference is likely if every row of the base
/// satisfies it, its target is the key of another table, and the column is named like the target or
/// contains only texts.
pub(super) fn with_likely_references(tables: &[Table]) -> Vec<Table> {
    let likely = |table: &Table, column: usize, parent: &Table| {
        let [key] = parent.keys.first().map_or(&[][..], Vec::as_slice) else {
            return None;
        };
        // The sample of a large table does not contain all its keys.
        if usize::try_from(parent.count) != Ok(parent.sample.len()) {
            return None;
        }
        let known: Vec<Value<'_>> = parent.sample.rows().map(|row| row[*key]).collect();
        let values: Vec<Value<'_>> = table
            .sample
            .rows()
            .map(|row| row[column])
            .filter(|value| *value != Value::Null)
            .collect();
        let name = table.columns[column].name.to_lowercase();
        let key_name = parent.columns[*key].name.to_lowercase();
        let stem = parent.name.to_lowercase().trim_end_matches('s').to_owned();
        let named = name.contains(&stem) || (name == key_name && key_name != "id");
        let fits = values.len() >= 2 && values.iter().all(|value| known.contains(value));
        let is_text = values.iter().all(|value| matches!(value, Value::Text(_)));
        (fits && (named || is_text)).then(|| ForeignKey {
            columns: vec![column],
            table: parent.name.clone(),
            references: vec![parent.columns[*key].name.clone()],
        })
    };
    let keyed: Vec<Table> = tables
        .iter()
        .map(|table| Table {
            keys: keys_of(table),
            ..table.clone()
        })
        .collect();
    let mut with_references = tables.to_vec();
    for table in &mut with_references {
        for column in 0..table.columns.len() {
            let is_key = keys_of(table).iter().any(|key| key.as_slice() == [column]);
            let declared = table
                .foreign_keys
                .iter()
                .any(|key| key.columns.contains(&column));
            if is_key || declared {
                continue;
            }
            let parents = keyed.iter().filter(|parent| parent.name != table.name);
            let found = parents
                .filter_map(|parent| likely(table, column, parent))
                .next();
            table.foreign_keys.extend(found);
        }
    }
    with_references
}

/// Sets of columns that are unique. If a table has no declared key, its first column with distinct
/// values is treated as its key.
pub(super) fn keys_of(table: &Table) -> Vec<Vec<usize>> {
    let mut keys = table.keys.clone();
    if keys.is_empty() && table.count >= 2 {
        let could_be = |column: &usize| {
            let column = &table.columns[*column];
            column.is_distinct && !column.has_null
        };
        keys.extend(
            (0..table.columns.len())
                .find(could_be)
                .map(|column| vec![column]),
        );
    }
    keys
}

/// Sorts tables with their indexes so that references point to earlier tables, except in cycles.
pub(super) fn by_dependency(tables: &[Table]) -> Vec<(usize, &Table)> {
    let mut remaining: Vec<(usize, &Table)> = tables.iter().enumerate().collect();
    let mut ordered = Vec::with_capacity(tables.len());
    while !remaining.is_empty() {
        let has_missing_target = |table: &Table| {
            let refers = |other: &Table| {
                other.name != table.name
                    && table
                        .foreign_keys
                        .iter()
                        .any(|key| key.table.eq_ignore_ascii_case(&other.name))
            };
            remaining.iter().any(|(_, other)| refers(other))
        };
        let next = remaining
            .iter()
            .position(|(_, table)| !has_missing_target(table))
            .unwrap_or_default();
        ordered.push(remaining.remove(next));
    }
    ordered
}
