//! Waits for a job: shows its progress, and writes its results.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use assay_client::Client;
use assay_wire::jobs::JobBody;

use crate::exit::CommandStatus;
use crate::process::stop_signal;
use crate::progress::Progress;
use crate::terminal;

/// Time between two looks at a job.
const POLL: Duration = Duration::from_millis(500);

/// Results that are read at once.
pub(crate) const RESULTS: u32 = 10_000;

/// Shows the progress of a job until it has ended. An interrupt does not cancel it.
pub(crate) async fn watch(client: &Client, id: &str) -> anyhow::Result<CommandStatus> {
    let mut stop = pin!(stop_signal());
    let first = client.job(id).await?;
    let mut progress = Progress::new(Some(first.items), "lines");
    let (mut job, mut shown) = (first, 0);
    loop {
        progress.advance(job.finished.saturating_sub(shown));
        shown = job.finished;
        if job.is_final() {
            break;
        }
        tokio::select! {
            () = tokio::time::sleep(POLL) => job = client.job(id).await?,
            () = &mut stop => {
                progress.finish();
                return Ok(CommandStatus::Interrupted);
            }
        }
    }
    progress.finish();
    summarize(&job);
    Ok(status(&job))
}

/// Writes the results of a job to a file. With `follow`, waits for those that are missing.
pub(crate) async fn write_results(
    client: &Client,
    id: &str,
    output: &Path,
    follow: bool,
) -> anyhow::Result<CommandStatus> {
    let mut out: Box<dyn Write> = if output.as_os_str() == "-" {
        Box::new(terminal::raw_results())
    } else {
        Box::new(BufWriter::new(std::fs::File::create(output)?))
    };
    let mut stop = pin!(stop_signal());
    let total = client.job(id).await?.items;
    let mut progress = Progress::new(Some(total), "lines");
    let mut after = 0;
    loop {
        let page = tokio::select! {
            page = client.job_results(id, after, RESULTS) => page?,
            () = &mut stop => {
                out.flush()?;
                progress.finish();
                return Ok(CommandStatus::Interrupted);
            }
        };
        out.write_all(&page.lines)?;
        progress.advance(page.lines.iter().filter(|byte| **byte == b'\n').count() as u64);
        let Some(next) = page.next else { break };
        if page.lines.is_empty() {
            if !follow {
                break;
            }
            tokio::time::sleep(POLL).await;
        }
        after = next;
    }
    out.flush()?;
    progress.finish();
    let job = client.job(id).await?;
    if !job.is_final() {
        tracing::warn!(
            finished = job.finished,
            lines = job.items,
            "the job has not ended; `--follow` waits for the other results"
        );
    }
    Ok(status(&job))
}

/// Whether all lines have been graded.
fn status(job: &JobBody) -> CommandStatus {
    let is_complete = job.invalid + job.set_aside + job.failed == 0 && job.state != "cancelled";
    if is_complete {
        CommandStatus::Done
    } else {
        CommandStatus::Findings
    }
}

fn summarize(job: &JobBody) {
    // If stderr is closed, only the exit code reports the result.
    let _ = writeln!(
        terminal::stderr(),
        "{}: {} of {} lines graded, {} passed; {} ungradable, {} failed, {} invalid, {} set aside",
        job.state,
        job.graded,
        job.items,
        job.passed,
        job.ungradable,
        job.failed,
        job.invalid,
        job.set_aside
    );
}
