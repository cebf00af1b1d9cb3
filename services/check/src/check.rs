//! The way of a dataset: read in chunks, each chunk probed and graded while the next is read,
//! findings made in the order of the rows.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use assay_core::{Item, Meta};
use assay_engine::{Batch, BatchItem, Engine, EngineError};
use futures::{Stream, StreamExt, stream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::examined::{Answer, Examined, NotGraded};
use crate::findings::{Findings, Sink, Sketch, row_not_readable};
use crate::options::Options;
use crate::probes::{self, Probe, Purpose};
use crate::report::{DatasetSummary, Report};
use crate::row::{DatasetRow, Place, Read};
use crate::sources::{self, Rows, SourceError};
use crate::subject::{NotMade, Reader, Subject};
use crate::{sample, words};

/// Rows of a chunk.
const CHUNK: usize = 256;

/// Chunks in hand at once: one graded, one made ready, one waiting.
const AHEAD: usize = 3;

/// Most completions graded in one batch.
const BATCH: usize = 8_192;

/// A check cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A dataset cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The engine refuses a batch.
    #[error("the engine refuses the probes: {0}")]
    Engine(#[from] EngineError),
    /// No row has the column of rollouts.
    #[error("no row has rollouts: there is neither a file nor a column `{0}`")]
    NoRollouts(String),
    /// A thread of ours ended before its time.
    #[error("a thread of the check ended before its time; report it with the dataset")]
    Thread,
}

/// A dataset to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    /// What it is called in findings.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The revision of it, where it has revisions.
    pub revision: Option<String>,
}

/// Checks datasets one after the other; duplicates are found across them. `progress` is told how
/// many rows were done since it was asked last.
///
/// # Errors
/// [`CheckError`]: a file cannot be read at all, or the engine stops.
pub async fn check(
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
    let (mut rows_made, mut rows_rolled) = (0u64, 0u64);
    for dataset in datasets {
        // Opening waits where the file is a pipe.
        let Dataset { name, path, .. } = dataset.clone();
        let opened = tokio::task::spawn_blocking(move || sources::open(&name, &path));
        let rows = opened.await.map_err(|_| CheckError::Thread)??;
        let (chunks, reading) = chunks(rows, &options);
        let mut examined = pin!(
            chunks
                .map(|chunk| examine(engine.clone(), Arc::clone(&options), chunk))
                .buffered(AHEAD)
        );
        let mut summary = DatasetSummary {
            dataset: dataset.name.clone(),
            revision: dataset.revision.clone(),
            ..DatasetSummary::default()
        };
        while let Some(chunk) = examined.next().await {
            let chunk = chunk?;
            progress(chunk.len() as u64);
            for row in chunk {
                match row {
                    Ok(row) => {
                        count(&row, &mut summary, &mut report);
                        if let Ok(subject) = &row.made {
                            rows_made += 1;
                            rows_rolled += u64::from(subject.rollouts.is_some());
                        }
                        findings.note(&row, &mut sink);
                    }
                    Err((place, message)) => {
                        let key = format!("#{}", place.number);
                        sink.tell(&row_not_readable::CODE, &place, &key, message);
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
        .filter(|_| rows_made > 0 && rows_rolled == 0)
    {
        return Err(CheckError::NoRollouts(column.clone()));
    }
    findings.finish(&mut sink);
    let Sink {
        findings,
        counts,
        known,
        ignored,
        untold,
        ..
    } = sink;
    Ok(Report {
        findings,
        counts,
        known,
        ignored,
        untold,
        ..report
    })
}

/// Counts what a row says of its dataset.
fn count(row: &Examined, summary: &mut DatasetSummary, report: &mut Report) {
    let Some(kind) = row.kind() else { return };
    *summary.tasks.entry(kind.to_owned()).or_default() += 1;
    for answer in &row.answers {
        match (&answer.result, answer.purpose) {
            (Ok(graded), Purpose::Mutant(_) | Purpose::Variation(_)) => {
                let mutants = summary.mutants.entry(kind.to_owned()).or_default();
                mutants.tried += 1;
                mutants.killed += u64::from(!graded.pass);
            }
            (Err(NotGraded::Ours(fault)), _) => {
                report.failed += 1;
                report
                    .first_failure
                    .get_or_insert_with(|| format!("{}: {}", row.place, fault.message));
            }
            _ => {}
        }
    }
}

/// Rows in chunks, read on a thread of their own, which says at its end how many there were.
fn chunks(
    rows: Rows,
    options: &Options,
) -> (impl Stream<Item = Vec<Read>> + use<>, JoinHandle<u64>) {
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
            let chunk: Vec<Read> = rows.by_ref().take(CHUNK).collect();
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

/// A row ready to be graded.
struct Ready {
    place: Place,
    key: String,
    made: Result<Subject, NotMade>,
    sketch: Sketch,
    probes: Vec<Probe>,
}

type Unread = (Place, String);

fn ready(engine: &Engine, options: &Options, chunk: Vec<Read>) -> Vec<Result<Ready, Unread>> {
    let reader = Reader {
        template: options.template.as_ref(),
        solution: options.solution.as_ref(),
        rollouts: options.rollout_column.as_deref(),
        graders: engine.graders(),
    };
    let one = |read| match read {
        Read::Unread { place, message } => Err((place, message)),
        Read::Row(mut row) => {
            let key = reader.key(&row);
            let hash = words::hash(row.hash().as_bytes());
            let made = reader.read(&mut row);
            let sketch = Sketch::new(made.as_ref().ok(), hash);
            let probes = made.as_ref().map_or_else(
                |_| Vec::new(),
                |subject| probes::of(subject, options.repeats),
            );
            let DatasetRow { place, .. } = row;
            Ok(Ready {
                place,
                key,
                made,
                sketch,
                probes,
            })
        }
    };
    chunk.into_iter().map(one).collect()
}

async fn examine(
    engine: Engine,
    options: Arc<Options>,
    chunk: Vec<Read>,
) -> Result<Vec<Result<Examined, Unread>>, CheckError> {
    let of_thread = engine.clone();
    let made = tokio::task::spawn_blocking(move || ready(&of_thread, &options, chunk));
    let rows = made.await.map_err(|_| CheckError::Thread)?;
    let (mut examined, mut asked) = (Vec::with_capacity(rows.len()), Vec::new());
    for (at, row) in rows.into_iter().enumerate() {
        examined.push(row.map(
            |Ready {
                 place,
                 key,
                 made,
                 sketch,
                 probes,
             }| {
                if let Ok(subject) = &made {
                    asked.extend(probes.into_iter().map(|probe| (at, item(subject, probe))));
                }
                Examined {
                    place,
                    key,
                    made,
                    answers: Vec::new(),
                    sketch,
                }
            },
        ));
    }
    while !asked.is_empty() {
        let rest = asked.split_off(asked.len().min(BATCH));
        let (owners, items): (Vec<(usize, Purpose)>, Vec<BatchItem>) = asked
            .into_iter()
            .map(|(at, (purpose, item))| ((at, purpose), item))
            .unzip();
        let reply = engine.grade_apart(Batch::new("check", items)).await?;
        for result in reply.results() {
            let (at, purpose) = owners[result.position];
            if let Ok(row) = &mut examined[at] {
                row.answers.push(Answer::new(
                    purpose,
                    &reply.item(result).item.completion.text(),
                    result,
                ));
            }
        }
        asked = rest;
    }
    Ok(examined)
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
