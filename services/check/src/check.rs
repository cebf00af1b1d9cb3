//! The pipeline: reads datasets in chunks, grades the probes of a chunk while the next is read, and
//! reports findings in the order of the rows.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use assay_engine::Engine;
use futures::{Stream, StreamExt, stream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use crate::baseline::Comparison;
use crate::columns::ColumnAdder;
use crate::error::CheckError;
use crate::findings::{Findings, Sink, no_task};
use crate::graded_row::{GradedRow, NotGraded};
use crate::grading;
use crate::options::Options;
use crate::probes::Purpose;
use crate::report::{DatasetSummary, Report};
use crate::row::SourceRow;
use crate::sample;
use crate::sources::{self, Rows, SourceError};

/// Number of rows per chunk.
const CHUNK: usize = 256;

/// Size of the databases of a chunk that completes it, in bytes.
const CHUNK_BYTES: usize = 32 << 20;

/// Number of chunks in progress: one being graded, one being prepared, one waiting.
const CHUNKS_AHEAD: usize = 3;

/// A dataset to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    /// Name of the dataset in findings.
    pub name: String,
    /// Path of the file.
    pub path: PathBuf,
    /// Revision of the dataset, if it has revisions.
    pub revision: Option<String>,
}

/// Checks datasets one after the other. Duplicates are found across datasets. `progress` receives
/// the number of rows completed since its last call.
///
/// # Errors
/// [`CheckError`]: a file cannot be read at all, or the engine rejects a batch.
pub async fn check(
    engine: &Engine,
    datasets: &[Dataset],
    options: Arc<Options>,
    progress: impl FnMut(u64),
) -> Result<Report, CheckError> {
    let span = tracing::info_span!("check", datasets = datasets.len());
    check_all(engine, datasets, options, progress)
        .instrument(span)
        .await
}

async fn check_all(
    engine: &Engine,
    datasets: &[Dataset],
    options: Arc<Options>,
    mut progress: impl FnMut(u64),
) -> Result<Report, CheckError> {
    let (mut findings, mut sink) = (Findings::new(&options), Sink::new(&options));
    let mut report = Report {
        version: env!("CARGO_PKG_VERSION"),
        codes: options.codes.clone(),
        ..Report::default()
    };
    let (mut rows_with_task, mut rows_with_rollouts) = (0u64, 0u64);
    for dataset in datasets {
        // On a blocking thread, because opening a pipe waits for its writer.
        let Dataset { name, path, .. } = dataset.clone();
        let opened = tokio::task::spawn_blocking(move || sources::open(&name, &path));
        let rows = opened.await.map_err(|_| CheckError::Thread)??;
        let (chunks, reading) = chunks(rows, &options);
        let mut graded = pin!(
            chunks
                .map(|chunk| grading::grade(engine.clone(), Arc::clone(&options), chunk))
                .buffered(CHUNKS_AHEAD)
        );
        let mut summary = DatasetSummary {
            dataset: dataset.name.clone(),
            revision: dataset.revision.clone(),
            ..DatasetSummary::default()
        };
        while let Some(chunk) = graded.next().await {
            let chunk = chunk?;
            progress(chunk.rows.len() as u64);
            report.graded += chunk.graded;
            report.reused += chunk.reused;
            for row in chunk.rows {
                match row {
                    Ok(row) => {
                        count(&row, &mut summary, &mut report);
                        if let Ok(subject) = &row.subject {
                            rows_with_task += 1;
                            rows_with_rollouts += u64::from(subject.rollouts.is_some());
                        }
                        findings.add_row(&row, &mut sink);
                    }
                    Err((location, message)) => {
                        let key = format!("#{}", location.number);
                        sink.add(&no_task::ROW_NOT_READABLE, &location, &key, message);
                    }
                }
                summary.checked += 1;
            }
        }
        summary.rows = reading.await.map_err(|_| CheckError::Thread)?;
        if summary.rows == 0 {
            return Err(SourceError::Empty(summary.dataset).into());
        }
        report.datasets.push(summary);
    }
    if let Some(column) = options
        .rollout_column
        .as_ref()
        .filter(|_| rows_with_task > 0 && rows_with_rollouts == 0)
    {
        return Err(CheckError::NoRollouts(column.clone()));
    }
    findings.finish(&mut sink);
    let Sink {
        findings,
        counts,
        known,
        ignored,
        unlisted,
        tests,
        compared,
        flagged,
        ..
    } = sink;
    Ok(Report {
        findings,
        tests,
        compared: compared.map(Comparison::finish),
        flagged,
        counts,
        known,
        ignored,
        unlisted,
        ..report
    })
}

/// Adds the task and the probes of a row to the statistics of its dataset.
fn count(row: &GradedRow, summary: &mut DatasetSummary, report: &mut Report) {
    let Some(kind) = row.kind() else { return };
    *summary.tasks.entry(kind.to_owned()).or_default() += 1;
    if let Some(reason) = row.unchecked() {
        *summary.unchecked.entry(reason).or_default() += 1;
    }
    if let Some(passed) = row.right_passed() {
        let right = summary.right.entry(kind.to_owned()).or_default();
        right.tried += 1;
        right.passed += u64::from(passed);
    }
    for probe in &row.probes {
        if let Ok(graded) = &probe.result {
            *summary.work.entry(kind.to_owned()).or_default() += graded.work;
        }
        match (&probe.result, probe.purpose) {
            (
                Ok(graded),
                Purpose::Mutant(_) | Purpose::Variation(_) | Purpose::Mutation(_) | Purpose::Copy,
            ) => {
                let mutants = summary.mutants.entry(kind.to_owned()).or_default();
                mutants.tried += 1;
                mutants.killed += u64::from(!graded.pass);
            }
            (Err(NotGraded::Service(fault)), _) => {
                report.failed += 1;
                report
                    .first_failure
                    .get_or_insert_with(|| format!("{}: {}", row.location, fault.message));
            }
            _ => {}
        }
    }
}

/// Reads rows in chunks on a separate thread. The thread returns the number of rows.
fn chunks(
    rows: Rows,
    options: &Options,
) -> (impl Stream<Item = Vec<SourceRow>> + use<>, JoinHandle<u64>) {
    let (sender, receiver) = mpsc::channel(1);
    let (sample, seed) = (options.sample, options.seed);
    let mut columns = ColumnAdder::new(Arc::clone(&options.columns));
    let reading = tokio::task::spawn_blocking(move || {
        let mut seen = 0;
        let mut rows: Rows = match sample {
            Some(count) => {
                let (drawn, all) = sample::draw(rows, count, seed);
                seen = all;
                Box::new(drawn.into_iter())
            }
            None => rows,
        };
        loop {
            let (mut chunk, mut bytes) = (Vec::new(), 0);
            while chunk.len() < CHUNK && bytes < CHUNK_BYTES {
                let Some(row) = rows.next() else { break };
                let (row, database) = columns.add(row);
                chunk.push(row);
                bytes += database;
            }
            if sample.is_none() {
                seen += chunk.len() as u64;
            }
            if chunk.is_empty() || sender.blocking_send(chunk).is_err() {
                return seen;
            }
        }
    });
    let chunks = stream::unfold(receiver, |mut receiver| async move {
        Some((receiver.recv().await?, receiver))
    });
    (chunks, reading)
}
