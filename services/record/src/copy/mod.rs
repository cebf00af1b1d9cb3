//! Copies a record to another database, of either kind, and compares all rows.
//!
//! The rows are read in one state of the source, and inserted and compared in one transaction of
//! the target, in which no node writes: a copy that is interrupted leaves nothing behind and is
//! started again. What nodes have not applied is in their spools and not in the database, so none
//! may use the source, which is checked before the copy and at its end.

mod digest;
mod error;
mod source;

use assay_base::url::redacted;
use futures::TryStreamExt as _;

use self::digest::Digest;
pub use self::digest::TableCopy;
pub use self::error::CopyError;
use self::source::Source;
use crate::RecordOptions;
use crate::database::Location;
use crate::database::copying::{self, CopiedTable, Schema};
use crate::database::sql::{Connection, Value};

/// Rows, and bytes of their values, that are inserted at once.
const MAX_ROWS: usize = 1_024;
const MAX_BYTES: usize = 8 << 20;

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyProgress {
    /// The source has this many rows. Each is copied, and then read again to compare it.
    Total(u64),
    /// This many more rows were copied or compared.
    Rows(u64),
}

/// Copies the record with these options to the database at the URL `target`, which must be new, and
/// compares the rows of both.
///
/// # Errors
/// [`CopyError`]. The target then has no rows of the source.
pub async fn copy(
    options: &RecordOptions,
    target: &str,
    mut progress: impl FnMut(CopyProgress),
) -> Result<Vec<TableCopy>, CopyError> {
    let location = Location::parse(target)
        .filter(|location| !location.is_in_memory())
        .ok_or_else(|| CopyError::NoDatabase(redacted(target)))?;
    let mut source = Source::open(options).await?;
    let failed = CopyError::of_target(target);
    require_new(&location, target).await?;
    let writer = location.connect_writer().await;
    let writer = writer.map_err(|error| failed(&error))?;
    let mut connection = writer
        .begin_writing()
        .await
        .map_err(|error| failed(&error))?;
    // Another command may have written to it since the first check.
    require_empty(&mut connection, target).await?;
    let copied = copy_tables(&mut source, &mut connection, target, &mut progress).await?;
    source.end_reading().await?;
    compare(&mut connection, &copied, target, &mut progress).await?;
    source.require_unchanged(&copied).await?;
    let committed = connection.commit().await;
    committed.map_err(|error| failed(&error))?;
    writer.close().await;
    source.close().await;
    Ok(copied)
}

/// Fails if the target has tables with rows, or other tables, before it is migrated.
async fn require_new(location: &Location, target: &str) -> Result<(), CopyError> {
    if location.path().is_some_and(|path| !path.exists()) {
        return Ok(());
    }
    let failed = CopyError::of_target(target);
    let connected = location.connect_reading().await;
    let mut connection = connected.map_err(|error| failed(&error))?;
    require_empty(&mut connection, target).await?;
    // The connection is not needed any more, whether it can be closed or not.
    let _ = connection.close().await;
    Ok(())
}

/// Fails if the database of this connection, the target, has tables with rows, or other tables.
async fn require_empty(connection: &mut Connection, target: &str) -> Result<(), CopyError> {
    let failed = CopyError::of_target(target);
    let found = async {
        let filled = if copying::schema(connection).await? == Schema::None {
            let is_empty = crate::database::schema::is_empty(connection).await?;
            (!is_empty).then(|| "tables of another program".to_owned())
        } else {
            let tables = copying::tables(connection).await?;
            let filled = copying::filled(connection, &tables).await?;
            filled.map(|table| format!("rows in the table `{table}`"))
        };
        Ok::<_, crate::database::DatabaseError>(filled)
    };
    match found.await.map_err(|error| failed(&error))? {
        Some(found) => Err(CopyError::NotEmpty {
            database: redacted(target),
            found,
        }),
        None => Ok(()),
    }
}

/// Copies all tables in the transaction of the target.
async fn copy_tables(
    source: &mut Source,
    target: &mut Connection,
    target_url: &str,
    progress: &mut impl FnMut(CopyProgress),
) -> Result<Vec<TableCopy>, CopyError> {
    let failed = CopyError::of_target(target_url);
    let read = source.tables().await?;
    let tables = copying::tables(target).await;
    let tables = tables.map_err(|error| failed(&error))?;
    let fit = read.len() == tables.len()
        && read
            .iter()
            .zip(&tables)
            .all(|(read, table)| table.has_columns_of(read));
    if !fit {
        return Err(source.other_schema());
    }
    let mut total = 0;
    for table in &read {
        total += source.rows(table).await?;
    }
    progress(CopyProgress::Total(total));
    let triggers = copying::begin(target, &tables).await;
    let triggers = triggers.map_err(|error| failed(&error))?;
    let mut copied = Vec::new();
    for (from, to) in read.iter().zip(&tables) {
        copied.push(copy_table(source, from, target, to, target_url, progress).await?);
    }
    let ended = copying::end(target, &tables, triggers).await;
    ended.map_err(|error| failed(&error))?;
    Ok(copied)
}

async fn copy_table(
    source: &mut Source,
    from: &CopiedTable,
    target: &mut Connection,
    to: &CopiedTable,
    target_url: &str,
    progress: &mut impl FnMut(CopyProgress),
) -> Result<TableCopy, CopyError> {
    let of_source = source.errors();
    let failed = CopyError::of_target(target_url);
    let mut digest = Digest::default();
    let mut rows = source.read(from);
    let (mut part, mut bytes): (Vec<Vec<Value>>, usize) = (Vec::new(), 0);
    loop {
        let row = rows.try_next().await.map_err(|error| of_source(&error))?;
        let is_last = row.is_none();
        if let Some(row) = row {
            let cells = from.cells(&row).map_err(|error| of_source(&error))?;
            bytes += digest.add(&cells);
            part.push(to.values(cells));
        }
        if part.len() >= MAX_ROWS || bytes >= MAX_BYTES || is_last {
            let inserted = to.insert(target, &part).await;
            inserted.map_err(|error| failed(&error))?;
            progress(CopyProgress::Rows(part.len() as u64));
            part.clear();
            bytes = 0;
        }
        if is_last {
            return Ok(digest.finish(&from.name));
        }
    }
}

/// Reads all rows of the target, and compares them with those that were copied.
async fn compare(
    connection: &mut Connection,
    copied: &[TableCopy],
    target: &str,
    progress: &mut impl FnMut(CopyProgress),
) -> Result<(), CopyError> {
    let failed = CopyError::of_target(target);
    let tables = copying::tables(connection).await;
    for (table, expected) in tables.map_err(|error| failed(&error))?.iter().zip(copied) {
        let mut digest = Digest::default();
        let mut rows = copying::read(connection, table);
        let mut reported = 0;
        while let Some(row) = rows.try_next().await.map_err(|error| failed(&error))? {
            digest.add(&table.cells(&row).map_err(|error| failed(&error))?);
            if digest.rows() - reported >= MAX_ROWS as u64 {
                progress(CopyProgress::Rows(digest.rows() - reported));
                reported = digest.rows();
            }
        }
        progress(CopyProgress::Rows(digest.rows() - reported));
        let found = digest.finish(&table.name);
        if found != *expected {
            return Err(CopyError::Different {
                database: redacted(target),
                table: expected.table.clone(),
                copied: expected.rows,
                found: found.rows,
            });
        }
    }
    Ok(())
}
