//! Describes a database: its tables, columns and keys, and a sample of rows.

use assay_worker::query::{
    Column, ForeignKey, Rows, SAMPLE, SAMPLE_BYTES, SAMPLE_CELL, Table, Value,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};

use crate::guard::quoted;
use crate::image;

/// Describes the tables of an image, in the order of creation.
///
/// # Errors
/// If the image is not a database, or reading it exceeds the limits.
pub(crate) fn describe(image: &[u8]) -> Result<Vec<Table>, String> {
    image::read(image, |connection, _| {
        let mut bytes_left = SAMPLE_BYTES;
        image::tables(&connection)?
            .iter()
            .map(|name| table(&connection, name, &mut bytes_left))
            .collect()
    })
}

/// Describes one table. `bytes_left` are the bytes left for samples.
fn table(connection: &Connection, name: &str, bytes_left: &mut usize) -> Result<Table> {
    let table = quoted(name);
    let mut primary = Vec::new();
    let mut columns = Vec::new();
    // `pragma_table_info` omits generated columns.
    let mut info =
        connection.prepare("select name, type, \"notnull\", pk from pragma_table_info(?)")?;
    let mut rows = info.query([name])?;
    while let Some(row) = rows.next()? {
        let position: i64 = row.get(3)?;
        if position > 0 {
            primary.push((position, columns.len()));
        }
        let not_null = row.get::<_, i64>(2)? != 0;
        let (name, declared) = (row.get(0)?, row.get(1)?);
        columns.push(Column {
            name,
            declared,
            not_null,
            has_null: false,
            is_distinct: false,
        });
    }
    let count = inspect_values(connection, &table, &mut columns)?;
    primary.sort_unstable();
    let primary: Vec<usize> = primary.into_iter().map(|(_, column)| column).collect();
    let index = |name: &str| {
        columns
            .iter()
            .position(|column| column.name.eq_ignore_ascii_case(name))
    };
    let has_primary_key = !primary.is_empty();
    let mut keys = Vec::new();
    if has_primary_key {
        keys.push(primary);
    }
    let uniques =
        "select name from pragma_index_list(?) where \"unique\" and not partial order by seq desc";
    let uniques: Vec<String> = connection
        .prepare(uniques)?
        .query_map([name], |row| row.get(0))?
        .collect::<Result<_>>()?;
    for unique in uniques {
        let query = "select name from pragma_index_info(?) order by seqno";
        let names: Vec<Option<String>> = connection
            .prepare(query)?
            .query_map([unique], |row| row.get(0))?
            .collect::<Result<_>>()?;
        // A unique index over an expression is omitted; the database enforces it when rows are
        // inserted.
        let indexed: Option<Vec<usize>> =
            names.iter().map(|name| index(name.as_deref()?)).collect();
        keys.extend(indexed.filter(|key| !keys.contains(key)));
    }
    let foreign_keys = foreign_keys(connection, name, &index)?;
    let sample = sample(connection, &table, &columns, count, bytes_left)?;
    let count = u64::try_from(count).unwrap_or_default();
    Ok(Table {
        name: name.to_owned(),
        columns,
        keys,
        has_primary_key,
        foreign_keys,
        count,
        sample,
    })
}

/// Counts the rows, and determines which columns contain NULL and which have only distinct values.
fn inspect_values(connection: &Connection, table: &str, columns: &mut [Column]) -> Result<i64> {
    // One statement that visits every row: `count(*)` alone is a single instruction, which no limit
    // can interrupt.
    let counts: String = columns
        .iter()
        .map(|column| format!(", count({})", quoted(&column.name)))
        .collect();
    let counts: Vec<i64> = connection.query_row(
        &format!("select count(*){counts} from {table}"),
        [],
        |row| (0..=columns.len()).map(|column| row.get(column)).collect(),
    )?;
    let Some((count, values)) = counts.split_first() else {
        return Ok(0);
    };
    for (column, values) in columns.iter_mut().zip(values) {
        let sql = format!(
            "select count(distinct {}) from {table}",
            quoted(&column.name)
        );
        let distinct: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
        column.has_null = values < count;
        column.is_distinct = distinct == *count;
    }
    Ok(*count)
}

fn foreign_keys(
    connection: &Connection,
    name: &str,
    index: &dyn Fn(&str) -> Option<usize>,
) -> Result<Vec<ForeignKey>> {
    let mut found: Vec<(i64, ForeignKey)> = Vec::new();
    let query =
        "select id, \"table\", \"from\", \"to\" from pragma_foreign_key_list(?) order by id, seq";
    let mut list = connection.prepare(query)?;
    let mut rows = list.query([name])?;
    while let Some(row) = rows.next()? {
        let (id, table, from, to): (i64, String, String, Option<String>) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let Some(column) = index(&from) else { continue };
        if found.last().is_none_or(|(last, _)| *last != id) {
            found.push((
                id,
                ForeignKey {
                    columns: Vec::new(),
                    table,
                    references: Vec::new(),
                },
            ));
        }
        if let Some((_, key)) = found.last_mut() {
            key.columns.push(column);
            // A reference that names no columns refers to the primary key.
            key.references.extend(to);
        }
    }
    Ok(found.into_iter().map(|(_, key)| key).collect())
}

/// A sample of rows, spread evenly over the table, within the bytes left.
fn sample(
    connection: &Connection,
    table: &str,
    columns: &[Column],
    count: i64,
    bytes_left: &mut usize,
) -> Result<Rows> {
    let mut sample = Rows::new(columns.len());
    if columns.is_empty() {
        return Ok(sample);
    }
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    let mut statement = connection.prepare(&format!("select {} from {table}", names.join(",")))?;
    let mut rows = statement.query([])?;
    let every = usize::try_from(count)
        .unwrap_or_default()
        .div_ceil(SAMPLE)
        .max(1);
    let mut at = 0usize;
    while let Some(row) = rows.next()? {
        if at.is_multiple_of(every) {
            let before = sample.bytes();
            sample.push((0..columns.len()).map(|column| match row.get_ref(column) {
                Ok(ValueRef::Integer(integer)) => Value::Integer(integer),
                Ok(ValueRef::Real(real)) => Value::Real(real),
                Ok(ValueRef::Text(text)) => Value::Text(truncated(text)),
                Ok(ValueRef::Blob(bytes)) => Value::Blob(truncated(bytes)),
                Ok(ValueRef::Null) | Err(_) => Value::Null,
            }));
            *bytes_left = bytes_left.saturating_sub(sample.bytes() - before);
            if *bytes_left == 0 {
                break;
            }
        }
        at += 1;
    }
    Ok(sample)
}

/// The first bytes of a long text or blob, up to a boundary of UTF-8 characters.
fn truncated(bytes: &[u8]) -> &[u8] {
    if bytes.len() <= SAMPLE_CELL {
        return bytes;
    }
    let ends = |at: &usize| bytes[*at] & 0b1100_0000 != 0b1000_0000;
    let end = (0..=SAMPLE_CELL).rev().find(ends).unwrap_or(SAMPLE_CELL);
    &bytes[..end]
}
