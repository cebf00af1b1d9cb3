//! Replays the grades of a run as a job of a server.

use std::pin::pin;

use anyhow::{Context, ensure};
use assay_client::Client;
use assay_core::{Ids, SystemClock};
use assay_wire::jobs::ReplayJobRequest;
use assay_wire::replays::{MissingReplay, ReplayBody};
use serde::Deserialize;

use super::report::ReplayReport;
use crate::arguments::Replay;
use crate::commands::jobs::watch::{self, RESULTS};
use crate::commands::record::selection_query;
use crate::exit::CommandStatus;
use crate::process::stop_signal;

/// A line of the results of a replay.
#[derive(Deserialize)]
#[serde(untagged)]
enum JobReplay {
    Replay(Box<ReplayBody>),
    Missing(#[expect(dead_code, reason = "checked to be readable")] MissingReplay),
}

/// Submits a replay, waits for it, and reports it like one in this process.
pub(super) async fn replay(
    arguments: &Replay,
    client: &Client,
    request: ReplayJobRequest,
) -> anyhow::Result<CommandStatus> {
    let key = Ids::random().batch(&SystemClock::new()).to_string();
    let query = selection_query(&arguments.selection);
    let job = client.submit_replay(&query, &request, &key).await?;
    tracing::info!(
        job = job.job,
        "submitted the job; it continues if this command exits"
    );
    let ended = watch::watch(client, &job.job).await?;
    if ended == CommandStatus::Interrupted {
        return Ok(ended);
    }
    let mut report = ReplayReport::new(arguments);
    let mut stop = pin!(stop_signal());
    let mut after = Some(0);
    while let Some(from) = after {
        let page = tokio::select! {
            page = client.job_results(&job.job, from, RESULTS) => page?,
            () = &mut stop => return Ok(CommandStatus::Interrupted),
        };
        for line in page.lines.split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            // Grades that were not graded again are counted in the summary.
            if let JobReplay::Replay(replay) = serde_json::from_slice(line)? {
                report.add_row(&replay)?;
            }
        }
        after = page.next;
    }
    let job = client.job(&job.job).await?;
    ensure!(job.state == "done", "the job `{}` was cancelled", job.job);
    ensure!(
        job.set_aside == 0,
        "{} grades were not replayed, because their shards are set aside; `assay jobs show {}` \
         states why",
        job.set_aside,
        job.job
    );
    let summary = job.replay.context("the server did not send a summary")?;
    report.with_summary(summary).finish()
}
