//! Keys and references of a schema, declared and likely, and the order in which tables can be
//! filled.

use assay_worker::query::{ForeignKey, Table, Value};

/// Tables with undeclared references that every row of the base satisfies: to the key of
/// another table, and named like it or made of texts.
pub(super) fn with_likely_references(tables: &[Table]) -> Vec<Table> {
    let likely = |table: &Table, column: usize, parent: &Table| {
        let [key] = parent.keys.first().map_or(&[][..], Vec::as_slice) else {
            return None;
        };
        // The sample of a large table does not have all its rows.
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
    let mut led = tables.to_vec();
    for table in &mut led {
        for column in 0..table.columns.len() {
            let own = keys_of(table).iter().any(|key| key.as_slice() == [column]);
            let declared = table
                .foreign_keys
                .iter()
                .any(|key| key.columns.contains(&column));
            if own || declared {
                continue;
            }
            let parents = keyed.iter().filter(|parent| parent.name != table.name);
            let found = parents
                .filter_map(|parent| likely(table, column, parent))
                .next();
            table.foreign_keys.extend(found);
        }
    }
    led
}

/// Sets of columns that are unique. A table without a key is taken to have its first column that
/// could be one.
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

/// Tables, those that others refer to first, except for cycles.
pub(super) fn in_order(tables: &[Table]) -> Vec<(usize, &Table)> {
    let mut left: Vec<(usize, &Table)> = tables.iter().enumerate().collect();
    let mut ordered = Vec::with_capacity(tables.len());
    while !left.is_empty() {
        let waits = |table: &Table| {
            let refers = |other: &Table| {
                other.name != table.name
                    && table
                        .foreign_keys
                        .iter()
                        .any(|key| key.table.eq_ignore_ascii_case(&other.name))
            };
            left.iter().any(|(_, other)| refers(other))
        };
        let next = left
            .iter()
            .position(|(_, table)| !waits(table))
            .unwrap_or_default();
        ordered.push(left.remove(next));
    }
    ordered
}
