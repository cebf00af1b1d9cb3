//! Texts of statements for many rows.
//!
//! sqlx passes each statement to the thread of a connection to SQLite and back, which takes some
//! 20 µs. With 64 rows per statement that is a third of a microsecond per row. Larger statements
//! are not faster there, because their programs exceed the cache of the processor. A statement on
//! PostgreSQL is a round trip over a network, so more rows share one.
//!
//! Parameters are `?` here, not `$1`, which SQLite considers a name: the driver looks up the name
//! of each parameter, in time that grows with their number. With names, an insert of 64 rows of 19
//! columns takes 2 ms instead of 50 µs.

use super::connection::Connection;

/// Numbers of rows per statement, largest first. There are few, so that few statements are prepared
/// and all of them stay in the cache of the connection.
const SQLITE_SIZES: &[usize] = &[64, 16, 4, 1];

/// The same for PostgreSQL, which has at most 65,535 parameters in a statement.
const POSTGRES_SIZES: &[usize] = &[1_024, 128, 16, 4, 1];

/// Number of keys per lookup or deletion. It is constant and the values of unused ones are null, so
/// that one prepared statement serves any number of keys: a comparison with null is never true.
pub(crate) const KEYS: usize = 64;

/// Numbers of rows per statement on this connection, largest first.
pub(crate) fn sizes(connection: &Connection) -> &'static [usize] {
    match connection {
        Connection::Sqlite(_) => SQLITE_SIZES,
        Connection::Postgres(_) => POSTGRES_SIZES,
    }
}

/// A statement that inserts this number of rows, with `values` and the rows between `prefix` and
/// `suffix`.
pub(crate) fn insert(prefix: &str, columns: usize, suffix: &str, rows: usize) -> String {
    let row = format!("({})", list(columns));
    let rows = vec![row.as_str(); rows].join(", ");
    format!("{prefix} values {rows} {suffix}")
}

/// A statement that selects the rows with [`KEYS`] keys. `select` ends with `in`.
pub(crate) fn look_up(select: &str) -> String {
    format!("{select} ({})", list(KEYS))
}

/// The same, of rows whose `column` is less than the last parameter.
pub(crate) fn look_up_below(select: &str, column: &str) -> String {
    format!("{} and {column} < {}", look_up(select), list(1))
}

/// A statement that deletes the rows with [`KEYS`] keys, whose columns are `key`. `prefix` ends
/// with `where`.
pub(crate) fn delete(prefix: &str, key: &[&str]) -> String {
    let columns: Vec<String> = key.iter().map(|name| format!("{name} = ?")).collect();
    let row = format!("({})", columns.join(" and "));
    format!("{prefix} {}", vec![row; KEYS].join(" or "))
}

/// `?, ?, ?`
fn list(parameters: usize) -> String {
    vec!["?"; parameters].join(", ")
}
