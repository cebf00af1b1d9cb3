//! Grades recorded items again: in this process as one batch, on a server by concurrent requests.

use anyhow::{Context, bail};
use assay_client::ClientError;
use assay_core::GradeId;
use assay_mapping::render::replay_body;
use assay_review::replay::{ReplayError, ReplayOptions};
use assay_wire::replays::ReplayBody;
use futures::{StreamExt, stream};

use super::report::ReplayReport;
use crate::commands::record::Source;
use crate::exit::CommandStatus;

/// Maximum number of concurrent requests to a server.
const CONCURRENT_REQUESTS: usize = 8;

/// The comparison of an item, or the reason why it cannot be graded again.
type Replayed = Result<ReplayBody, String>;

/// Grades items again in the process that has the record.
pub(super) struct Replayer<'s> {
    pub(super) source: &'s Source,
    pub(super) options: &'s ReplayOptions,
}

impl Replayer<'_> {
    /// Replays the given items. Fails if one cannot be graded again.
    pub(super) async fn named(
        &self,
        ids: &[String],
        report: &mut ReplayReport,
    ) -> anyhow::Result<CommandStatus> {
        for (id, replayed) in ids.iter().zip(self.replay(ids).await?) {
            match replayed {
                Ok(replay) => report.add(&replay)?,
                Err(reason) => bail!("cannot replay `{id}`: {reason}"),
            }
        }
        Ok(CommandStatus::Done)
    }

    /// Replays the items and returns the results in the order of `ids`.
    pub(super) async fn replay(&self, ids: &[String]) -> anyhow::Result<Vec<Replayed>> {
        match self.source {
            Source::Server(client) => {
                let calls = stream::iter(ids).map(|id| async move {
                    match client.replay(id).await {
                        Ok(replay) => Ok(Ok(replay)),
                        // These statuses concern this item only. Other errors would repeat for
                        // every item.
                        Err(ClientError::Refused {
                            status: 404 | 422 | 500,
                            problem,
                        }) => Ok(Err(problem.to_string())),
                        Err(error) => Err(error).with_context(|| format!("cannot replay `{id}`")),
                    }
                });
                let replayed: Vec<anyhow::Result<Replayed>> =
                    calls.buffered(CONCURRENT_REQUESTS).collect().await;
                replayed.into_iter().collect()
            }
            Source::Node(node) => {
                let ids: Vec<GradeId> =
                    ids.iter().map(|id| id.parse()).collect::<Result<_, _>>()?;
                let replayed = node.review().replay_all(&ids, self.options, None).await?;
                Ok(replayed.iter().map(body).collect())
            }
        }
    }
}

fn body(replayed: &Result<assay_review::replay::Replay, ReplayError>) -> Replayed {
    replayed
        .as_ref()
        .map(replay_body)
        .map_err(ToString::to_string)
}
