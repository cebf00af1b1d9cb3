//! Copies a database with the rows of every table in reverse order. Scans of the copy return rows
//! in reverse order even where SQLite ignores the setting for reverse scans: in statements that
//! sort or group.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, params_from_iter};

use crate::build::{serialized, with_schema};
use crate::guard::quoted;
use crate::image;
use crate::system::memory;

/// Maximum size of an image that is copied, in bytes. Copying takes about a second for this size.
const MAX_IMAGE_BYTES: usize = 32 << 20;

/// The image with reversed rows; `None` if it cannot be copied.
pub(crate) fn reversed(image: &[u8]) -> Option<Vec<u8>> {
    if image.len() > MAX_IMAGE_BYTES {
        return None;
    }
    let copied = image::read(image, |source, _| {
        source.set_db_config(DbConfig::SQLITE_DBCONFIG_REVERSE_SCANORDER, true)?;
        let copy = with_schema(&source, |copy| {
            image::tables(&source)?
                .iter()
                .try_for_each(|table| copy_rows(&source, copy, table))
        })?;
        Ok(copy)
    });
    memory::with_limit(memory::DATABASE_BYTES, || serialized(copied.ok()?).ok())
}

fn copy_rows(source: &Connection, copy: &Connection, table: &str) -> Result<(), Error> {
    // Generated columns are omitted.
    let names: Vec<String> = source
        .prepare("select name from pragma_table_info(?)")?
        .query_map([table], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let (table, columns) = (quoted(table), names.join(","));
    let mut read = source.prepare(&format!("select {columns} from {table} not indexed"))?;
    let placeholders = vec!["?"; names.len()].join(",");
    let mut insert = copy.prepare(&format!(
        "insert into {table} ({columns}) values ({placeholders})"
    ))?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let cells = (0..names.len()).map(|column| row.get_ref(column));
        let cells: Vec<_> = cells.collect::<Result<_, _>>()?;
        let cells = cells
            .into_iter()
            .map(rusqlite::types::ToSqlOutput::Borrowed);
        insert.execute(params_from_iter(cells))?;
    }
    Ok(())
}
