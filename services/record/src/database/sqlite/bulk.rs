//! Statements for many rows.
//!
//! sqlx passes each statement to the thread of its connection and back, which takes some 20 µs.
//! With 64 rows per statement that is a third of a microsecond per row. Larger statements are not
//! faster, because their programs exceed the cache of the processor.
//!
//! Parameters are `?` here, not `$1`, which SQLite considers a name: the driver looks up the name
//! of each parameter, in time that grows with their number. With names, an insert of 64 rows of 19
//! columns takes 2 ms instead of 50 µs.

use crate::database::insert::{Delete, Insert};

/// Numbers of rows per statement, largest first. There are few, so that few statements are prepared
/// and all of them stay in the cache of the connection.
pub(in crate::database) const SIZES: [usize; 4] = [64, 16, 4, 1];

/// Number of keys per lookup or deletion. It is constant and the values of unused ones are null, so
/// that one prepared statement serves any number of keys: a comparison with null is never true.
pub(in crate::database) const KEYS: usize = 64;

/// A statement that inserts this number of rows.
pub(in crate::database) fn insert(insert: &Insert, rows: usize) -> String {
    let row = format!("({})", list(insert.columns));
    let rows = vec![row.as_str(); rows].join(", ");
    format!("{} values {rows} {}", insert.prefix, insert.suffix)
}

/// A statement that selects the rows with [`KEYS`] keys. `select` ends with `in`.
pub(in crate::database) fn look_up(select: &str) -> String {
    format!("{select} ({})", list(KEYS))
}

/// A statement that deletes the rows with [`KEYS`] keys.
pub(in crate::database) fn delete(delete: &Delete) -> String {
    let columns: Vec<String> = delete
        .key
        .iter()
        .map(|name| format!("{name} = ?"))
        .collect();
    let row = format!("({})", columns.join(" and "));
    format!("{} {}", delete.prefix, vec![row; KEYS].join(" or "))
}

/// `?, ?, ?`
fn list(parameters: usize) -> String {
    vec!["?"; parameters].join(", ")
}
