//! `assay prune`: deletes batches or channels from the record, through a server or by opening the
//! database.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use assay_record::Record;
use assay_record::storage::PruneEstimate;
use assay_wire::storage::{PruneBody, PruneReply, PruneRequest};
use serde_json::json;

use super::record::{Source, open, record_of};
use crate::arguments::PruneArguments;
use crate::exit::CommandStatus;
use crate::process::{block_on, unix_us};
use crate::terminal;

/// Interval at which the progress is read.
const POLL: Duration = Duration::from_millis(250);

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &PruneArguments,
) -> anyhow::Result<CommandStatus> {
    let request = request(arguments);
    ensure!(
        request.clone().filter().is_ok(),
        "name what to delete with `--run`, `--keep-run`, `--caller`, `--older-than`, `--channel`, \
         `--channel-prefix` or `--unused-channels`"
    );
    let reply = block_on(async {
        let source = open(file, &arguments.record).await?;
        let reply = prune_known(&source, &request).await;
        source.close().await;
        reply
    })?;
    let mut out = terminal::results();
    if arguments.output.json {
        writeln!(out, "{}", terminal::pretty(&reply)?)?;
    } else {
        match &reply.prune {
            None if prunes_channels(&request) => write_channels(&mut out, &reply.estimate)?,
            None => write_estimate(&mut out, &reply.estimate, arguments.bodies_only)?,
            Some(prune) if prunes_channels(&request) => {
                writeln!(out, "deleted {} channels", prune.deleted_channels)?;
            }
            Some(prune) => write_result(&mut out, prune)?,
        }
    }
    if let Some(prune) = &reply.prune
        && prune.state != "done"
    {
        let reason = prune.error.as_deref().unwrap_or("the server was stopped");
        bail!("the prune did not finish: {reason}; run it again to continue");
    }
    Ok(CommandStatus::Done)
}

fn prunes_channels(request: &PruneRequest) -> bool {
    let filter = request.clone().filter();
    filter.is_ok_and(|filter| filter.channels.is_some())
}

fn request(arguments: &PruneArguments) -> PruneRequest {
    let before = |seconds| unix_us().saturating_sub_unsigned(1_000_000 * seconds);
    PruneRequest {
        runs: arguments.run.clone(),
        keep_runs: arguments.keep_run.clone(),
        caller: arguments.caller.clone(),
        before_us: arguments.older_than.map(before),
        bodies_only: arguments.bodies_only,
        channels: arguments.channel.clone(),
        channel_prefix: arguments.channel_prefix.clone(),
        channels_unused_since_us: arguments.unused_channels.map(before),
        dry_run: arguments.dry_run,
    }
}

/// Starts the prune and waits until it has ended. Names of runs without grades are errors: a
/// misspelt one would delete nothing, or what should be kept.
async fn prune_known(source: &Source, request: &PruneRequest) -> anyhow::Result<PruneReply> {
    for run in request.runs.iter().chain(&request.keep_runs) {
        source.require_run(run).await?;
    }
    prune(source, request).await
}

/// Starts the prune and waits until it has ended.
async fn prune(source: &Source, request: &PruneRequest) -> anyhow::Result<PruneReply> {
    let mut reply = match source {
        Source::Server(client) => client.prune(request).await?,
        Source::Node(node) => {
            let store = record_of(node)?;
            let reply = start(store, request).await?;
            if reply.prune.is_some() {
                node.gate()
                    .audit_command("record.prune", "record", json!(request))
                    .await;
            }
            reply
        }
    };
    while let Some(prune) = &mut reply.prune
        && prune.state == "running"
    {
        tokio::time::sleep(POLL).await;
        let current = match source {
            Source::Server(client) => client.storage().await?.prune,
            Source::Node(node) => {
                let store = node.engine().record().context("the database was closed")?;
                store.storage(1).await?.prune.map(PruneBody::from)
            }
        };
        // A later prune means that this one has ended, with an unknown result.
        let current = current.filter(|current| current.number == prune.number);
        *prune = current.context("the server started another prune; see `GET /v1/storage`")?;
    }
    Ok(reply)
}

async fn start(store: &Record, request: &PruneRequest) -> anyhow::Result<PruneReply> {
    let filter = request
        .clone()
        .filter()
        .map_err(|(_, reason)| anyhow::Error::msg(reason))?;
    let estimate = store.prune_estimate(&filter).await?.check();
    let estimate = estimate.map_err(anyhow::Error::msg)?;
    let prune = if request.dry_run {
        None
    } else {
        Some(store.prune(filter).await?.into())
    };
    Ok(PruneReply { estimate, prune })
}

fn write_estimate(
    out: &mut impl Write,
    estimate: &PruneEstimate,
    bodies_only: bool,
) -> std::io::Result<()> {
    if bodies_only {
        writeln!(
            out,
            "would delete the bodies of {} batches: {}",
            estimate.batches,
            size(estimate.body_bytes)
        )?;
    } else {
        writeln!(
            out,
            "would delete {} grades in {} batches: {} of grades and {} of bodies",
            estimate.grades,
            estimate.batches,
            size(estimate.grade_bytes),
            size(estimate.body_bytes)
        )?;
    }
    if estimate.uncounted_batches > 0 {
        writeln!(
            out,
            "the numbers do not include {} batches of an earlier release",
            estimate.uncounted_batches
        )?;
    }
    writeln!(out, "bodies that other batches use are kept")
}

fn write_channels(out: &mut impl Write, estimate: &PruneEstimate) -> std::io::Result<()> {
    writeln!(out, "would delete {} channels", estimate.channels)?;
    if estimate.calibrated_channels > 0 {
        writeln!(
            out,
            "{} channels with a calibration are kept; delete them with `--channel`",
            estimate.calibrated_channels
        )?;
    }
    Ok(())
}

fn write_result(out: &mut impl Write, prune: &PruneBody) -> std::io::Result<()> {
    if prune.bodies_only {
        return writeln!(
            out,
            "deleted the bodies of {} batches: {}",
            prune.deleted_batches,
            size(prune.deleted_body_bytes)
        );
    }
    writeln!(
        out,
        "deleted {} grades, {} runs and {} of bodies; {} batches are affected",
        prune.deleted_grades,
        prune.deleted_runs,
        size(prune.deleted_body_bytes),
        prune.deleted_batches
    )
}

/// A size in binary units.
fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, "bytes");
    for next in units {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    if unit == "bytes" {
        format!("{bytes} bytes")
    } else {
        format!("{value:.1} {unit}")
    }
}
