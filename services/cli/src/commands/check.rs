//! `assay check`: validates datasets with the graders that will grade their rollouts.

mod reports;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use anyhow::Context;
use assay_check::reports::Format;
use assay_check::{Baseline, Benchmark, Dataset, Options, Report, Rollouts};
use assay_client::hub::datasets::{self, DatasetName, FetchedDataset};
use assay_client::{Client, Retry};
use assay_node::{Config, Node};
use assay_templates::SolutionTemplate;
use assay_wire::checks::{self, CheckReport};

use super::{block_on, configuration, stop_signal, template};
use crate::arguments::Check;
use crate::exit::Ended;
use crate::progress::Progress;

pub(crate) fn run(file: Option<&Path>, arguments: &Check) -> anyhow::Result<Ended> {
    // Nothing of a check is recorded: its completions are nobody's rollouts.
    let mut settings = vec![("store", "database", String::new().into())];
    if let Some(jobs) = arguments.jobs {
        settings.push(("engine", "workers", i64::try_from(jobs)?.into()));
    }
    let config = configuration(file, settings)?;
    let options = Arc::new(options(arguments)?);
    let reports = reports::Reports::open(arguments)?;
    let record = arguments
        .record
        .as_deref()
        .map(|server| Client::new(server, Retry::default()))
        .transpose()?;
    let Some(report) = block_on(checked(config, arguments, options))? else {
        return Ok(Ended::Interrupted);
    };
    let written = reports.write(&report);
    if let Some(record) = record
        && block_on(sent(&record, &report))? == Ended::Interrupted
    {
        return Ok(Ended::Interrupted);
    }
    written?;
    anyhow::ensure!(
        report.failed == 0,
        "{} probes could not be graded; the first: {}",
        report.failed,
        report.first_failure.as_deref().unwrap_or_default()
    );
    Ok(if report.total() == 0 {
        Ended::Done
    } else {
        Ended::Findings
    })
}

/// Sends the report to the record, as it is written in JSON, with as many findings as the record
/// takes.
async fn sent(record: &Client, report: &Report) -> anyhow::Result<Ended> {
    let mut json = Vec::new();
    Format::Json.write(report, &mut json)?;
    let mut report: CheckReport = serde_json::from_slice(&json)?;
    let more = report.findings.len().saturating_sub(checks::MOST_FINDINGS);
    report.findings.truncate(checks::MOST_FINDINGS);
    report.untold += more as u64;
    tokio::select! {
        biased;
        () = stop_signal() => Ok(Ended::Interrupted),
        sent = record.record_check(&report) => {
            sent.context("the report could not be sent to the record")?;
            Ok(Ended::Done)
        }
    }
}

/// The report; `None` when it was interrupted.
async fn checked(
    config: Config,
    arguments: &Check,
    options: Arc<Options>,
) -> anyhow::Result<Option<Report>> {
    // What is fetched is kept for as long as it is read.
    let fetched = tempfile::tempdir()?;
    let mut datasets = Vec::new();
    for (at, name) in arguments.datasets.iter().enumerate() {
        datasets.extend(
            found(
                name,
                &config.reward_models.hub,
                &fetched.path().join(at.to_string()),
            )
            .await?,
        );
    }
    let node = Node::start(config).await?;
    let mut progress = Progress::new(None, "rows");
    let report = {
        let checking = pin!(assay_check::check(
            node.engine(),
            &datasets,
            options,
            |rows| progress.advance(rows)
        ));
        tokio::select! {
            // First, so that signals are heard before a file is opened.
            biased;
            () = stop_signal() => None,
            report = checking => Some(report?),
        }
    };
    progress.finish();
    node.stop().await;
    Ok(report)
}

/// The files of a dataset: one of this machine, or those of a dataset on the hub.
async fn found(name: &str, hub: &str, folder: &Path) -> anyhow::Result<Vec<Dataset>> {
    let Some(on_hub) = DatasetName::parse(name) else {
        return Ok(vec![Dataset {
            name: name.to_owned(),
            path: PathBuf::from(name),
            revision: None,
        }]);
    };
    let on_hub = on_hub.map_err(anyhow::Error::msg)?;
    anyhow::ensure!(
        !hub.is_empty(),
        "`{name}` is on a hub, and `reward_models.hub` names none"
    );
    let fetched = datasets::fetch(hub, folder, &on_hub)
        .await
        .map_err(anyhow::Error::msg)?;
    let FetchedDataset { revision, files } = fetched;
    let dataset = |(file, path): (String, PathBuf)| Dataset {
        name: format!("{}{}@{revision}/{file}", datasets::SCHEME, on_hub.name),
        path,
        revision: Some(revision.clone()),
    };
    Ok(files.into_iter().map(dataset).collect())
}

fn options(arguments: &Check) -> anyhow::Result<Options> {
    let solution = arguments
        .solution
        .as_deref()
        .map(SolutionTemplate::new)
        .transpose()?;
    let baseline = arguments
        .baseline
        .as_deref()
        .map(Baseline::read)
        .transpose()
        .map_err(anyhow::Error::msg)?
        .unwrap_or_default();
    let of_benchmark = template::maybe(arguments.against_template.as_deref())?;
    let benchmark = arguments
        .against
        .as_deref()
        .map(|path| Benchmark::read(path, of_benchmark.as_ref()))
        .transpose()?;
    let (mut rollouts, mut rollout_column) = (None, None);
    if let Some(named) = &arguments.rollouts {
        if Path::new(named).is_file() {
            rollouts = Some(Rollouts::read(Path::new(named)).map_err(anyhow::Error::msg)?);
        } else {
            rollout_column = Some(named.clone());
        }
    }
    Ok(Options {
        template: template::maybe(arguments.template.as_deref())?,
        solution,
        sample: arguments.sample.map(|rows| rows as usize),
        seed: arguments.seed,
        baseline,
        ignored: arguments.ignore.iter().cloned().collect(),
        most_findings: arguments.max_findings,
        benchmark,
        rollouts,
        rollout_column,
        repeats: arguments.repeats as usize,
    })
}
