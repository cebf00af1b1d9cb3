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

#[cfg(test)]
mod tests {
    use assay_worker::query::{Column, Rows};

    use super::*;

    /// A table of integers, of which the first column is the key if `has_key`.
    fn table(name: &str, columns: &[&str], has_key: bool, rows: &[&[i64]]) -> Table {
        let mut sample = Rows::new(columns.len());
        for row in rows {
            sample.push(row.iter().map(|integer| Value::Integer(*integer)));
        }
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            declared: "INTEGER".to_owned(),
            not_null: false,
            has_null: false,
            is_distinct: false,
        };
        Table {
            name: name.to_owned(),
            columns: columns.iter().map(column).collect(),
            keys: if has_key { vec![vec![0]] } else { Vec::new() },
            has_primary_key: has_key,
            foreign_keys: Vec::new(),
            count: rows.len() as u64,
            sample,
        }
    }

    fn users() -> Table {
        table(
            "users",
            &["id", "age"],
            true,
            &[&[1, 30], &[2, 40], &[3, 50]],
        )
    }

    /// The likely references, such as `orders.user_id: users.id`.
    fn references(tables: &[Table]) -> Vec<String> {
        let mut found = Vec::new();
        for table in with_likely_references(tables) {
            for key in &table.foreign_keys {
                let column = &table.columns[key.columns[0]].name;
                let target = format!("{}.{}", key.table, key.references[0]);
                found.push(format!("{}.{column}: {target}", table.name));
            }
        }
        found
    }

    #[test]
    fn columns_of_integers_refer_to_the_table_or_key_in_their_name() {
        let orders = table(
            "orders",
            &["id", "user_id", "amount"],
            true,
            &[&[7, 1, 2], &[8, 2, 2], &[9, 1, 3]],
        );
        assert_eq!(references(&[users(), orders]), ["orders.user_id: users.id"]);
        let books = table("books", &["isbn"], true, &[&[11], &[12], &[13]]);
        let loans = table("loans", &["isbn", "days"], false, &[&[11, 12], &[11, 13]]);
        assert_eq!(references(&[books, loans]), ["loans.isbn: books.isbn"]);
        let notes = table("notes", &["id"], false, &[&[1], &[1]]);
        assert_eq!(references(&[users(), notes]), Vec::<String>::new());
    }

    #[test]
    fn keys_are_not_likely_references() {
        let details = table("details", &["user_id", "size"], true, &[&[1, 70], &[2, 80]]);
        assert_eq!(references(&[users(), details]), Vec::<String>::new());
    }
}
