//! Grading stored items again, many at a time: in this process as one batch, through a server a few
//! requests at once.

use anyhow::{Context, bail};
use assay_api::render::replay_body;
use assay_client::ClientError;
use assay_core::GradeId;
use assay_engine::{ReplayError, ReplayOptions};
use assay_wire::grades::ReplayBody;
use futures::{StreamExt, stream};

use super::Report;
use crate::commands::record::Source;
use crate::exit::Ended;

/// Requests to a server at once.
const AT_ONCE: usize = 8;

/// An item graded again, or why it cannot be.
type Replayed = Result<ReplayBody, String>;

/// Grades items again where the record is.
pub(super) struct Replayer<'s> {
    pub(super) source: &'s Source,
    pub(super) options: &'s ReplayOptions,
}

impl Replayer<'_> {
    /// Items that were named: each must be there.
    pub(super) async fn named(&self, ids: &[String], report: &mut Report) -> anyhow::Result<Ended> {
        for (id, replayed) in ids.iter().zip(self.replay(ids).await?) {
            match replayed {
                Ok(replay) => report.add(&replay)?,
                Err(reason) => bail!("cannot replay `{id}`: {reason}"),
            }
        }
        Ok(Ended::Done)
    }

    /// Items in the order of their ids.
    pub(super) async fn replay(&self, ids: &[String]) -> anyhow::Result<Vec<Replayed>> {
        match self.source {
            Source::Server(client) => {
                let calls = stream::iter(ids).map(|id| async move {
                    match client.replay(id).await {
                        Ok(replay) => Ok(Ok(replay)),
                        // What only this item is to blame for; anything else would be so for the
                        // next as well.
                        Err(ClientError::Refused {
                            status: 404 | 422 | 500,
                            problem,
                        }) => Ok(Err(problem.to_string())),
                        Err(error) => Err(error).with_context(|| format!("cannot replay `{id}`")),
                    }
                });
                let replayed: Vec<anyhow::Result<Replayed>> =
                    calls.buffered(AT_ONCE).collect().await;
                replayed.into_iter().collect()
            }
            Source::Node(node) => {
                let ids: Vec<GradeId> =
                    ids.iter().map(|id| id.parse()).collect::<Result<_, _>>()?;
                let replayed = node.engine().replay_all(&ids, self.options).await?;
                Ok(replayed.iter().map(body).collect())
            }
        }
    }
}

fn body(replayed: &Result<assay_engine::Replay, ReplayError>) -> Replayed {
    replayed
        .as_ref()
        .map(replay_body)
        .map_err(ToString::to_string)
}
