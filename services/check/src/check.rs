//! The pipeline: reads datasets in chunks, grades the probes of a chunk while the next is read, and
//! reports findings in the order of the rows.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use assay_core::{Item, Meta};
use assay_engine::{Batch, BatchItem, Engine, EngineError};
use futures::{Stream, StreamExt, stream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::sketch::Sketch;
use crate::baseline::Comparison;
use crate::findings::{Findings, Sink, no_task};
use crate::graded_row::{GradedRow, NotGraded, ProbeResult};
use crate::options::Options;
use crate::probes::{self, Probe, Purpose};
use crate::report::{DatasetSummary, Report};
use crate::row::{DatasetRow, RowLocation, SourceRow};
use crate::sources::{self, Rows, SourceError};
use crate::subject::{Subject, SubjectReader, TaskProblem};
use crate::{sample, shingles, subject};

/// Number of rows per chunk.
const CHUNK: usize = 256;

/// Number of chunks in progress: one being graded, one being prepared, one waiting.
const CHUNKS_AHEAD: usize = 3;

/// Maximum number of completions per batch.
const BATCH: usize = 8_192;

/// Why a check stopped.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A dataset cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The engine rejected a batch.
    #[error("the engine rejected the probes: {0}")]
    Engine(#[from] EngineError),
    /// No row has the column of rollouts.
    #[error("no rollouts found: `{0}` is neither a file nor a column")]
    NoRollouts(String),
    /// A thread of the check panicked.
    #[error("a thread of the check panicked; report this bug with the dataset")]
    Thread,
}

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
                .map(|chunk| grade(engine.clone(), Arc::clone(&options), chunk))
                .buffered(CHUNKS_AHEAD)
        );
        let mut summary = DatasetSummary {
            dataset: dataset.name.clone(),
            revision: dataset.revision.clone(),
            ..DatasetSummary::default()
        };
        while let Some(chunk) = graded.next().await {
            let chunk = chunk?;
            progress(chunk.len() as u64);
            for row in chunk {
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
    for probe in &row.probes {
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
            let chunk: Vec<SourceRow> = rows.by_ref().take(CHUNK).collect();
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

/// A row and its probes, before grading.
struct PreparedRow {
    location: RowLocation,
    key: String,
    lacks_id: bool,
    subject: Result<Subject, TaskProblem>,
    sketch: Sketch,
    probes: Vec<Probe>,
}

/// The location of an unreadable row and the reason.
type UnreadableRow = (RowLocation, String);

fn prepare(
    engine: &Engine,
    options: &Options,
    chunk: Vec<SourceRow>,
) -> Vec<Result<PreparedRow, UnreadableRow>> {
    let reader = SubjectReader {
        template: options.template.as_ref(),
        solution: options.solution.as_ref(),
        rollouts: options.rollout_column.as_deref(),
        graders: engine.graders(),
    };
    let prepare_row = |row| match row {
        SourceRow::Unreadable { location, message } => Err((location, message)),
        SourceRow::Row(mut row) => {
            let (id, content) = (reader.id(&row), row.hash());
            let hash = shingles::hash(content.as_bytes());
            let lacks_id = reader.lacks_id(&row);
            let subject = reader.read(&mut row);
            let key = subject::key(id, content, subject.as_ref());
            let sketch = Sketch::new(subject.as_ref().ok(), hash);
            let DatasetRow { location, .. } = row;
            Ok(PreparedRow {
                location,
                key,
                lacks_id,
                subject,
                sketch,
                probes: Vec::new(),
            })
        }
    };
    let mut rows: Vec<Result<PreparedRow, UnreadableRow>> =
        chunk.into_iter().map(prepare_row).collect();
    let subjects: Vec<Option<&Subject>> = rows
        .iter()
        .map(|row| row.as_ref().ok()?.subject.as_ref().ok())
        .collect();
    let probes: Vec<Vec<Probe>> = (0..subjects.len())
        .map(|at| {
            subjects[at].map_or_else(Vec::new, |subject| {
                probes::of(subject, neighbour(&subjects, at), options.repeats)
            })
        })
        .collect();
    for (row, probes) in rows.iter_mut().zip(probes) {
        if let Ok(row) = row {
            row.probes = probes;
        }
    }
    rows
}

/// Maximum distance of a row whose answer is tried.
const MAX_DISTANCE: usize = 8;

/// A row near the one at `at` with a task of the same type, an earlier one if there is one.
fn neighbour<'a>(subjects: &[Option<&'a Subject>], at: usize) -> Option<&'a Subject> {
    let kind = &subjects[at]?.task.kind;
    let (before, after) = (&subjects[..at], &subjects[at + 1..]);
    let near = before
        .iter()
        .rev()
        .take(MAX_DISTANCE)
        .chain(after.iter().take(MAX_DISTANCE));
    near.flatten()
        .find(|other| other.task.kind == *kind)
        .copied()
}

async fn grade(
    engine: Engine,
    options: Arc<Options>,
    chunk: Vec<SourceRow>,
) -> Result<Vec<Result<GradedRow, UnreadableRow>>, CheckError> {
    let of_thread = engine.clone();
    let prepared = tokio::task::spawn_blocking(move || prepare(&of_thread, &options, chunk));
    let rows = prepared.await.map_err(|_| CheckError::Thread)?;
    let (mut graded, mut queued) = (Vec::with_capacity(rows.len()), Vec::new());
    for (at, row) in rows.into_iter().enumerate() {
        graded.push(row.map(
            |PreparedRow {
                 location,
                 key,
                 lacks_id,
                 subject,
                 sketch,
                 probes,
             }| {
                if let Ok(subject) = &subject {
                    queued.extend(probes.into_iter().map(|probe| (at, item(subject, probe))));
                }
                GradedRow {
                    location,
                    key,
                    lacks_id,
                    subject,
                    probes: Vec::new(),
                    sketch,
                }
            },
        ));
    }
    grade_probes(&engine, &mut graded, queued).await?;
    let comparisons = graded.iter().enumerate().flat_map(|(at, row)| {
        let subject = row.as_ref().ok().and_then(|row| row.subject.as_ref().ok());
        let passed = row.iter().flat_map(GradedRow::undetected);
        let probes = subject.map_or_else(Vec::new, |subject| probes::comparisons(subject, passed));
        probes
            .into_iter()
            .filter_map(move |probe| Some((at, item(subject?, probe))))
    });
    let comparisons: Vec<_> = comparisons.collect();
    grade_probes(&engine, &mut graded, comparisons).await?;
    Ok(graded)
}

/// The index of a row, and what to grade for it.
type QueuedProbe = (usize, (Purpose, BatchItem));

/// Grades probes, and adds the results to their rows.
async fn grade_probes(
    engine: &Engine,
    graded: &mut [Result<GradedRow, UnreadableRow>],
    mut queued: Vec<QueuedProbe>,
) -> Result<(), CheckError> {
    while !queued.is_empty() {
        let rest = queued.split_off(queued.len().min(BATCH));
        let (owners, items): (Vec<(usize, Purpose)>, Vec<BatchItem>) = queued
            .into_iter()
            .map(|(at, (purpose, item))| ((at, purpose), item))
            .unzip();
        let reply = engine.grade_unrecorded(Batch::new("check", items)).await?;
        for grade in reply.grades() {
            let (at, purpose) = owners[grade.position as usize];
            if let Ok(row) = &mut graded[at] {
                row.probes.push(ProbeResult::new(
                    purpose,
                    &reply.item(grade).item.completion,
                    grade,
                ));
            }
        }
        queued = rest;
    }
    Ok(())
}

fn item(subject: &Subject, probe: Probe) -> (Purpose, BatchItem) {
    let Probe {
        purpose,
        completion,
        task,
    } = probe;
    let item = Item {
        prompt: None,
        completion,
        meta: Meta::default(),
    };
    (
        purpose,
        BatchItem::new(item, task.unwrap_or_else(|| subject.task.clone())),
    )
}
