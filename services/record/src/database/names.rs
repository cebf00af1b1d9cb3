//! Channels and runs with the caller that used each first: adds those of new grades, and reads
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::GradeRecord;
use crate::names::UsedNames;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::insert::Insert;
use super::retention::DELETED_RUN;
use crate::database::DatabaseError;
use crate::names::DeletedNames;
use crate::{Record, RecordError};

const UPSERT: Insert = Insert {
    prefix: "insert into channel_uses (channel, caller, last_us)",
    columns: 3,
    suffix: "on conflict (channel) do update set last_us = max(last_us, excluded.last_us)",
};

/// The uses of channels by new grades: the first caller, and the time of the last grade.
#[derive(Default)]
pub(super) struct ChannelUses<'g>(BTreeMap<&'g str, (&'g str, i64)>);

impl<'g> ChannelUses<'g> {
    /// Adds grades of one entry, after those of earlier entries.
    pub(super) fn add_grades(&mut self, grades: impl IntoIterator<Item = &'g GradeRecord>) {
        for grade in grades {
            let (_, last_us) = self
                .0
                .entry(grade.channel.as_str())
                .or_insert((grade.caller.as_ref(), grade.time_us));
            *last_us = grade.time_us.max(*last_us);
        }
    }

    pub(super) async fn upsert(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<(), DatabaseError> {
        let rows: Vec<_> = self.0.iter().collect();
        UPSERT
            .run(connection, &rows, |values, (channel, (caller, last_us))| {
                values.add(**channel).add(*caller).add(*last_us);
            })
            .await?;
        Ok(())
    }
}

impl Record {
    /// Returns the channels and runs of all grades.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn used_names(&self) -> Result<UsedNames, RecordError> {
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.grades > 0).await?;
            Ok(read(&mut snapshot).await?)
        })
        .await
    }

    /// Takes the names that retention deleted since this was called last.
    #[must_use]
    pub fn take_deleted_names(&self) -> DeletedNames {
        self.shared.retention.take_deleted_names()
    }
}

async fn read(connection: &mut SqliteConnection) -> Result<UsedNames, DatabaseError> {
    // Most names have the same few callers.
    let mut callers: BTreeMap<String, Arc<str>> = BTreeMap::new();
    let mut shared = |caller: &str| -> Arc<str> {
        if let Some(known) = callers.get(caller) {
            return Arc::clone(known);
        }
        let new: Arc<str> = caller.into();
        callers.insert(caller.to_owned(), Arc::clone(&new));
        new
    };
    let mut names = UsedNames::default();
    for row in sqlx::query("select channel, caller from channel_uses")
        .fetch_all(&mut *connection)
        .await?
    {
        let (channel, caller): (&str, &str) = (row.try_get("channel")?, row.try_get("caller")?);
        names.channels.insert(channel.into(), shared(caller));
    }
    let runs = "select name, caller from runs where name < ?1 or name >= ?1 || char(0x10ffff)";
    for row in sqlx::query(runs)
        .bind(DELETED_RUN)
        .fetch_all(connection)
        .await?
    {
        let (run, caller): (&str, &str) = (row.try_get("name")?, row.try_get("caller")?);
        names.runs.insert(run.into(), shared(caller));
    }
    Ok(names)
}
