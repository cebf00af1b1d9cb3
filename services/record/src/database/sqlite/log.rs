//! The write-ahead log.
use crate::database::sql::{self, Connection, Pool};
use sqlx::AssertSqlSafe;

/// How many pages the log may have before a commit copies it to the database.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LogPages {
    /// For applying entries: 64 MiB, so that a page that several transactions change is copied
    /// once.
    Apply,
    /// For a step of retention, whose transactions change many pages: 8 MiB, because the disk syncs
    /// what was copied all at once, and the syncs of the spool, for which replies wait, must not
    /// wait for long.
    Step,
}

impl LogPages {
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Apply => 16_384,
            Self::Step => 2_048,
        }
    }

    /// Sets the number for the next commits of a connection.
    pub(crate) async fn set(self, connection: &mut Connection) -> Result<(), sqlx::Error> {
        let pragma = format!("pragma wal_autocheckpoint = {}", self.number());
        sql::query(AssertSqlSafe(pragma))
            .execute(connection)
            .await?;
        Ok(())
    }
}

/// Copies the log to the database; `false` if a reader prevents that for a part of it.
pub(crate) async fn checkpoint(writer: &Pool) -> Result<bool, sqlx::Error> {
    let row = sql::query("pragma wal_checkpoint(passive)")
        .fetch_one(&mut writer.acquire().await?)
        .await?;
    let (busy, logged, copied): (i64, i64, i64) = (
        row.try_get("busy")?,
        row.try_get("log")?,
        row.try_get("checkpointed")?,
    );
    Ok(busy == 0 && logged == copied)
}

/// Empties the log, unless a reader prevents it.
pub(crate) async fn truncate_log(writer: &Pool) -> Result<(), sqlx::Error> {
    sql::query("pragma wal_checkpoint(truncate)")
        .fetch_one(&mut writer.acquire().await?)
        .await?;
    Ok(())
}
