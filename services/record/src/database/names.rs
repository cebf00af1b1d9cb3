//! Adds the channels of new grades, with the caller that used each first.

use std::collections::BTreeMap;

use super::insert::Insert;
use super::sums::greatest;
use crate::StoredGrade;
use crate::database::DatabaseError;
use crate::database::sql::Connection;

const UPSERT: Insert = Insert {
    prefix: "insert into channel_uses (channel, caller, last_us)",
    columns: 3,
    suffix: concat!(
        "on conflict (channel) do update set ",
        greatest!("channel_uses": "last_us")
    ),
};

/// The uses of channels by new grades: the first caller, and the time of the last grade.
#[derive(Default)]
pub(super) struct ChannelUses<'g>(BTreeMap<&'g str, (&'g str, i64)>);

impl<'g> ChannelUses<'g> {
    /// Adds grades of one entry, after those of earlier entries.
    pub(super) fn add_grades(&mut self, grades: impl IntoIterator<Item = &'g StoredGrade>) {
        for stored in grades {
            let (_, last_us) = self
                .0
                .entry(&*stored.grade.channel)
                .or_insert((stored.source.caller.as_ref(), stored.grade.time_us));
            *last_us = stored.grade.time_us.max(*last_us);
        }
    }

    pub(super) async fn upsert(&self, connection: &mut Connection) -> Result<(), DatabaseError> {
        let rows: Vec<_> = self.0.iter().collect();
        UPSERT
            .run(connection, &rows, |values, (channel, (caller, last_us))| {
                values.add(**channel).add(*caller).add(*last_us);
            })
            .await?;
        Ok(())
    }
}
