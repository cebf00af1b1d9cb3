//! Deletes channels with their counts and the results of their checks. Grades keep the names of
//! their channels.

use super::super::rows::count;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection, QueryBuilder};
use crate::names::DeletedNames;
use crate::retention_step::StepOutcome;
use crate::storage::ChannelFilter;

/// Number of channels that are looked up at once.
const CHANNELS: i64 = 64;

/// Channels with grades, and those that only have a calibration.
const FROM: &str = "from (\
     select channel, caller, last_us from channel_uses union all \
     select channel, '' as caller, max(time_us) as last_us from calibrations \
     where channel not in (select channel from channel_uses) group by channel) as named where true";

const IS_CALIBRATED: &str = "channel in (select channel from calibrations)";

const DELETES: [&str; 7] = [
    "delete from channels where channel = $1",
    "delete from channel_checks where channel = $1",
    "delete from channel_sources where channel = $1",
    "delete from channel_source_checks where channel = $1",
    "delete from judges where channel = $1",
    "delete from calibrations where channel = $1",
    "delete from channel_uses where channel = $1",
];

fn conditions(query: &mut QueryBuilder, filter: &ChannelFilter) {
    if !filter.names.is_empty() {
        query.push(" and channel in (");
        query.push_list(filter.names.iter().cloned());
        query.push(")");
    }
    if let Some(prefix) = filter.prefix.as_ref().filter(|prefix| !prefix.is_empty()) {
        // No text in UTF-8 sorts after the last character.
        query.push(" and channel >= ").push_bind(prefix.clone());
        query
            .push(" and channel < ")
            .push_bind(format!("{prefix}{}", char::MAX));
    }
    if let Some(caller) = &filter.caller {
        query.push(" and caller = ").push_bind(caller.clone());
    }
    if let Some(before) = filter.unused_since_us {
        query.push(" and last_us < ").push_bind(before);
    }
}

/// Whether calibrated channels match as well.
fn takes_calibrated(filter: &ChannelFilter) -> bool {
    !filter.names.is_empty()
}

/// Numbers of channels that a filter deletes, and that it keeps because they have a calibration.
pub(crate) async fn estimate(
    connection: &mut Connection,
    filter: &ChannelFilter,
) -> Result<(u64, u64), DatabaseError> {
    let mut query = QueryBuilder::new(format!(
        "select count(*) as found, count(*) filter (where {IS_CALIBRATED}) as calibrated {FROM}"
    ));
    conditions(&mut query, filter);
    let row = query
        .build()
        .persistent(false)
        .fetch_one(connection)
        .await?;
    let (all, calibrated): (i64, i64) = (row.try_get("found")?, row.try_get("calibrated")?);
    let kept = if takes_calibrated(filter) {
        0
    } else {
        count(calibrated)
    };
    Ok((count(all) - kept, kept))
}

/// Deletes channels until about `limit` rows are deleted; `done` if none is left. A channel is
/// deleted as a whole, because the rates of a part of its counts would be wrong.
pub(super) async fn delete(
    connection: &mut Connection,
    filter: &ChannelFilter,
    limit: u32,
) -> Result<StepOutcome, DatabaseError> {
    let mut query = QueryBuilder::new(format!("select channel {FROM}"));
    conditions(&mut query, filter);
    if !takes_calibrated(filter) {
        query.push(format_args!(" and not {IS_CALIBRATED}"));
    }
    query.push(format_args!(" limit {CHANNELS}"));
    let found: Vec<String> = query
        .build()
        .persistent(false)
        .scalar()
        .fetch_all(connection)
        .await?;
    let (mut rows, mut deleted) = (0, Vec::new());
    for channel in found {
        if rows >= u64::from(limit) {
            break;
        }
        for delete in DELETES {
            rows += sql::query(delete)
                .bind(channel.as_str())
                .execute(connection)
                .await?;
        }
        deleted.push(channel);
    }
    Ok(StepOutcome {
        done: deleted.is_empty(),
        channels: deleted.len() as u64,
        names: DeletedNames {
            channels: deleted,
            runs: Vec::new(),
        },
        ..StepOutcome::MORE
    })
}
