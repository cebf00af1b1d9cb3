//! Copies a database.

use std::path::Path;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use super::connect::without_log;
use crate::database::sql::{self, Connection, Handle};

/// Copies the state of a database to a new file. Free pages are not copied, and the copy returns
/// free pages to the file system, whether or not the original does.
pub(crate) async fn copy_into(connection: &mut Connection, copy: &Path) -> Result<(), sqlx::Error> {
    // Sets the mode of the copy. The error for an original that has this mode already, which is
    // that it cannot be written, does not matter.
    let _ = sql::query("pragma auto_vacuum = incremental")
        .execute(connection)
        .await;
    pause_regularly(connection).await?;
    sql::query("vacuum into $1")
        .bind(copy.to_string_lossy().into_owned())
        .execute(connection)
        .await?;
    Ok(())
}

/// Opens a copy, which nothing else uses. No files are created next to it.
pub(crate) async fn open_copy(copy: &Path) -> Result<Connection, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .filename(copy)
        .read_only(true)
        .immutable(true);
    let connection = without_log(options).connect().await?;
    let mut connection = Connection::Sqlite(Handle::Single(Box::new(connection)));
    pause_regularly(&mut connection).await?;
    Ok(connection)
}

/// Instructions of SQLite between two pauses, about 2 ms of work, and the length of a pause. A node
/// that uses the same processors and disk can work in between.
const WORK: i32 = 20_000;
const PAUSE: Duration = Duration::from_millis(2);

/// Makes the statements of a connection pause regularly.
async fn pause_regularly(connection: &mut Connection) -> Result<(), sqlx::Error> {
    let Connection::Sqlite(connection) = connection else {
        return Ok(());
    };
    let mut handle = connection.lock_handle().await?;
    handle.set_progress_handler(WORK, || {
        std::thread::sleep(PAUSE);
        true
    });
    Ok(())
}
