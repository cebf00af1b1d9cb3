//! `assay check`: validates datasets with the graders that will grade their rollouts.

mod cache;
mod certificate;
mod options;
mod reports;
mod rows;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use anyhow::{Context, ensure};
use assay_check::findings::Severity;
use assay_check::reports::Format;
use assay_check::{FailOn, Options, Report, findings};
use assay_client::Client;
use assay_node::{Config, Node};
use assay_review::certificate::Certificate;
use assay_wire::checks::{self, CheckReport};

use self::certificate::Certificates;
use super::dataset_files;
use crate::arguments::Check;
use crate::exit::CommandStatus;
use crate::output::OutputFile;
use crate::process::{block_on, client, configuration, stop_signal};
use crate::progress::Progress;
use crate::terminal;

pub(crate) fn run(file: Option<&Path>, arguments: &Check) -> anyhow::Result<CommandStatus> {
    if let Some(code) = arguments.explain.as_deref().and_then(findings::code) {
        write!(terminal::raw_stdout(), "{}", code.page)?;
        return Ok(CommandStatus::Done);
    }
    // A check records no grades, because its completions are probes and not rollouts.
    let mut settings = vec![("store", "database", String::new().into())];
    if let Some(jobs) = arguments.jobs {
        settings.push(("engine", "workers", i64::try_from(jobs)?.into()));
    }
    let config = configuration(file, settings)?;
    let settings = options::settings(&config, arguments)?;
    let fail_on = settings.fail_on.unwrap_or_default();
    let options = options::options(&config.templates()?, settings, arguments)?;
    let reports = reports::Reports::open(arguments)?;
    let node_config = configuration(file, Vec::new())?;
    let certificates = block_on(Certificates::open(&node_config, arguments))?;
    let record = arguments
        .record
        .as_deref()
        .map(|server| client(server, &arguments.key))
        .transpose()?;
    let rows = arguments
        .write_clean
        .as_deref()
        .map(|path| rows::open(arguments, path))
        .transpose()?;
    let tests = arguments
        .write_tests
        .as_deref()
        .map(OutputFile::open)
        .transpose()?;
    let is_certified = certificates.are_requested();
    let check = run_check(config, arguments, options, rows, is_certified);
    let Some((report, certificate)) = block_on(check)? else {
        return Ok(CommandStatus::Interrupted);
    };
    let written = reports.write(&report).and_then(|()| match tests {
        Some(file) => rows::write_tests(file, &report),
        None => Ok(()),
    });
    if let Some(record) = record
        && block_on(send(&record, &report))? == CommandStatus::Interrupted
    {
        return Ok(CommandStatus::Interrupted);
    }
    written?;
    ensure!(
        report.failed == 0,
        "cannot grade {} probes; the first error: {}",
        report.failed,
        report.first_failure.as_deref().unwrap_or_default()
    );
    let is_same = match &certificate {
        Some(certificate) => block_on(certificates.finish(certificate))?,
        None => true,
    };
    let failing = match fail_on {
        FailOn::Warning => report.total(),
        FailOn::Error => report.of(Severity::Error),
        FailOn::Never => 0,
    };
    Ok(if failing == 0 && is_same {
        CommandStatus::Done
    } else {
        CommandStatus::Findings
    })
}

/// Sends the report to the record, with at most as many findings as the record accepts.
async fn send(record: &Client, report: &Report) -> anyhow::Result<CommandStatus> {
    let mut json = Vec::new();
    Format::Json.write(report, &mut json)?;
    let mut report: CheckReport = serde_json::from_slice(&json)?;
    let more = report.findings.len().saturating_sub(checks::MAX_FINDINGS);
    report.findings.truncate(checks::MAX_FINDINGS);
    report.unlisted += more as u64;
    tokio::select! {
        biased;
        () = stop_signal() => Ok(CommandStatus::Interrupted),
        sent = record.record_check(&report) => {
            sent.context("cannot send the report to the server of `--record`")?;
            Ok(CommandStatus::Done)
        }
    }
}

/// Checks the datasets, also for a certificate if it is asked for; `None` if interrupted.
async fn run_check(
    config: Config,
    arguments: &Check,
    options: Options,
    rows: Option<OutputFile>,
    is_certified: bool,
) -> anyhow::Result<Option<(Report, Option<Certificate>)>> {
    // Fetched files are deleted when this is dropped, after the check.
    let fetched = tempfile::tempdir()?;
    let mut datasets = Vec::new();
    for (at, name) in arguments.datasets.iter().enumerate() {
        datasets.extend(
            dataset_files::resolve(
                name,
                config.reward_models.hub.reveal(),
                &fetched.path().join(at.to_string()),
            )
            .await?,
        );
    }
    let read = || certificate::Checked::read(&datasets, &config, arguments);
    let checked = is_certified.then(read).transpose()?;
    let node = Node::start(config.clone()).await?;
    let options = Options {
        cache: cache::open(&config, &node, arguments)?,
        ..options
    };
    let mut progress = Progress::new(None, "rows");
    let report = {
        let check = pin!(assay_check::check(
            node.engine(),
            &datasets,
            Arc::new(options),
            |rows| progress.advance(rows)
        ));
        tokio::select! {
            // Polled first, so that signal handlers are installed before a file is opened.
            biased;
            () = stop_signal() => None,
            report = check => Some(report?),
        }
    };
    progress.finish();
    let Some(report) = report else {
        node.stop().await;
        return Ok(None);
    };
    let certificate = match checked {
        Some(checked) => {
            ensure!(
                read()? == checked,
                "a dataset or option file changed during the check; run it again"
            );
            Some(checked.certificate(&report, node.engine())?)
        }
        None => None,
    };
    node.stop().await;
    show_reused(&report);
    if let Some(rows) = rows {
        rows::write_clean(rows, &datasets, &report.flagged)?;
    }
    Ok(Some((report, certificate)))
}

/// Says that results of an earlier check were used, to a person who watches.
fn show_reused(report: &Report) {
    let Report { graded, reused, .. } = report;
    tracing::debug!(graded, reused, "probes");
    if *reused > 0 && std::io::stderr().is_terminal() {
        // If stderr is closed, nobody watches.
        let _ = writeln!(
            terminal::stderr(),
            "{reused} of {} probes have results of an earlier check; `--no-cache` grades them \
             again",
            graded + reused
        );
    }
}
