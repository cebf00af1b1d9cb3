//! Events: adjudications, draws, assignments, calibrations, collected pairs, dataset checks and
//! comments, each stored exactly once.

use assay_rewards::channel::ChannelCounts;

use super::insert::Values;
use super::rows::id_bytes;
use super::sources::NewSources;
use super::{assignments, checks, comments, pairs};
use crate::Event;
use crate::channel;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::event::{Adjudication, Draw};

const INSERT_ADJUDICATION: &str = "insert into adjudications (id, grade, channel, version, \
     graded_pass, pass, weight, judge, judged_pass, caller, note, time_us, corrects, corrects_us) \
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) on conflict do nothing";

const INSERT_DRAW: &str = "insert into draws (grade, channel, probability, weight, time_us) \
     values ($1, $2, $3, $4, $5) on conflict do nothing";

/// Inserts events, and adds the new ones to `counts` and `sources`.
pub(super) async fn insert(
    connection: &mut Connection,
    events: &[&Event],
    counts: &mut ChannelCounts,
    sources: &mut NewSources,
) -> Result<(), DatabaseError> {
    for event in events {
        let new = match event {
            Event::Adjudicated(adjudication) => {
                let new = insert_adjudication(connection, adjudication).await?;
                if new {
                    assignments::complete(connection, adjudication.grade).await?;
                    sources.add_adjudication(connection, adjudication).await?;
                }
                new
            }
            Event::Drawn(draw) => insert_draw(connection, draw).await?,
            Event::Assigned(assignment) => assignments::insert(connection, assignment).await?,
            // The later of two calibrations is stored, however often each is written.
            Event::Calibrated(_) => true,
            Event::Collected(pair) => pairs::insert(connection, pair).await?,
            Event::Checked(check) => checks::insert(connection, check).await?,
            Event::Commented(comment) => comments::insert(connection, comment).await?,
            Event::CommentDeleted(grade, id) => comments::delete(connection, *grade, *id).await?,
        };
        if new {
            channel::add_event(counts, event);
        }
    }
    Ok(())
}

async fn insert_adjudication(
    connection: &mut Connection,
    adjudication: &Adjudication,
) -> Result<bool, DatabaseError> {
    let judged = adjudication.judged.as_ref();
    let mut values = Values::with_capacity(14);
    values
        .add(id_bytes(adjudication.id))
        .add(id_bytes(adjudication.grade))
        .add(adjudication.channel.as_str())
        .add(i64::from(adjudication.version))
        .add(adjudication.graded_pass)
        .add(adjudication.pass)
        .add(adjudication.weight)
        .add(judged.map(|(judge, _)| judge.as_str()))
        .add(judged.map(|(_, pass)| *pass))
        .add(adjudication.caller.as_str())
        .add(adjudication.note.as_deref())
        .add(adjudication.time_us)
        .add(adjudication.corrects.map(|(pass, _)| pass))
        .add(adjudication.corrects.map(|(_, time_us)| time_us));
    let done = sql::query(INSERT_ADJUDICATION)
        .with(values.finish())
        .execute(connection)
        .await?;
    Ok(done > 0)
}

async fn insert_draw(connection: &mut Connection, draw: &Draw) -> Result<bool, DatabaseError> {
    let mut values = Values::with_capacity(5);
    values
        .add(id_bytes(draw.grade))
        .add(draw.channel.as_str())
        .add_number(draw.probability)
        .add_number(draw.weight)
        .add(draw.time_us);
    let done = sql::query(INSERT_DRAW)
        .with(values.finish())
        .execute(connection)
        .await?;
    Ok(done > 0)
}
