//! Reads of the names that callers chose.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::database::DatabaseError;
use crate::database::retention::{DELETED_RUN, deleted_runs_end};
use crate::database::sql::{self, Connection};
use crate::names::{DeletedNames, UsedNames};
use crate::{Record, RecordError};

impl Record {
    /// Returns the channels and runs of all grades. Lacks what is not applied within a second.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn used_names(&self) -> Result<UsedNames, RecordError> {
        self.read(async {
            let mut snapshot = self.snapshot_for_batch(|digest| digest.grades > 0).await?;
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

async fn read(connection: &mut Connection) -> Result<UsedNames, DatabaseError> {
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
    for row in sql::query("select channel, caller from channel_uses")
        .fetch_all(connection)
        .await?
    {
        let (channel, caller): (Cow<'_, str>, Cow<'_, str>) =
            (row.try_get("channel")?, row.try_get("caller")?);
        names.channels.insert(channel.into(), shared(&caller));
    }
    let runs = "select name, caller from runs where name < $1 or name >= $2";
    for row in sql::query(runs)
        .bind(DELETED_RUN)
        .bind(deleted_runs_end())
        .fetch_all(connection)
        .await?
    {
        let (run, caller): (Cow<'_, str>, Cow<'_, str>) =
            (row.try_get("name")?, row.try_get("caller")?);
        names.runs.insert(run.into(), shared(&caller));
    }
    Ok(names)
}
