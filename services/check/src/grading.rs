//! Makes the probes of a chunk of rows and grades those whose results no earlier check kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_core::{GraderTable, Item, Meta};
use assay_engine::{Batch, BatchItem, Engine};
use serde_json::Value;

use crate::cache::{self, ResultCache, RowKey, RowResults};
use crate::error::CheckError;
use crate::graded_row::{GradedRow, ProbeOutcome, ProbeResult};
use crate::options::Options;
use crate::probes::{self, Probe, Purpose};
use crate::row::{DatasetRow, RowLocation, SourceRow};
use crate::shingles;
use crate::sketch::Sketch;
use crate::subject::{self, Subject, SubjectReader};

/// Maximum number of completions per batch. The results of a batch are kept when it is graded, so a
/// check that is stopped loses little.
const BATCH: usize = 1_024;

/// Maximum distance of a row whose answer is tried.
const MAX_DISTANCE: usize = 8;

/// The location of an unreadable row and the reason.
pub(crate) type UnreadableRow = (RowLocation, String);

/// The graded rows of a chunk.
pub(crate) struct GradedChunk {
    pub(crate) rows: Vec<Result<GradedRow, UnreadableRow>>,
    /// Number of probes that were graded.
    pub(crate) graded: u64,
    /// Number of probes whose results an earlier check kept.
    pub(crate) reused: u64,
}

/// A chunk whose rows get the results of their probes.
struct Chunk {
    rows: Vec<Result<GradedRow, UnreadableRow>>,
    /// What the cache contains of each row.
    entries: Vec<CacheEntry>,
    /// The results of the current probes of each row, in their order; `None` until they are graded.
    results: Vec<Vec<Option<ProbeResult>>>,
    graded: u64,
    reused: u64,
}

/// What the cache contains of a row.
#[derive(Default)]
struct CacheEntry {
    /// `None` without a cache, or if verdicts of the grader vary.
    key: Option<RowKey>,
    known: RowResults,
}

/// A probe to grade.
struct QueuedProbe {
    /// Index of its row in the chunk.
    row: usize,
    /// Index of its result among those of the row.
    at: usize,
    purpose: Purpose,
    hash: Option<u64>,
    item: BatchItem,
}

/// Grades the probes of a chunk.
///
/// # Errors
/// [`CheckError`]: the engine rejects a batch, or a thread panicked.
pub(crate) async fn grade(
    engine: Engine,
    options: Arc<Options>,
    rows: Vec<SourceRow>,
) -> Result<GradedChunk, CheckError> {
    let (of_thread, of_prepare) = (engine.clone(), Arc::clone(&options));
    let prepared =
        tokio::task::spawn_blocking(move || Chunk::prepare(&of_thread, &of_prepare, rows));
    let (mut chunk, queued) = prepared.await.map_err(|_| CheckError::Thread)?;
    chunk.grade(&engine, &options, queued).await?;
    let compared = tokio::task::spawn_blocking(move || {
        let queued = chunk.comparisons();
        (chunk, queued)
    });
    let (mut chunk, queued) = compared.await.map_err(|_| CheckError::Thread)?;
    chunk.grade(&engine, &options, queued).await?;
    let Chunk {
        rows,
        graded,
        reused,
        ..
    } = chunk;
    Ok(GradedChunk {
        rows,
        graded,
        reused,
    })
}

impl Chunk {
    /// Reads the tasks of rows and makes their probes. Returns those without a known result.
    fn prepare(
        engine: &Engine,
        options: &Options,
        rows: Vec<SourceRow>,
    ) -> (Self, Vec<QueuedProbe>) {
        let reader = SubjectReader {
            template: options.template.as_ref(),
            solution: options.solution.as_ref(),
            prompt: options.prompt.as_ref(),
            rollouts: options.rollout_column.as_deref(),
            graders: engine.graders(),
        };
        let rows: Vec<Result<GradedRow, UnreadableRow>> = rows
            .into_iter()
            .map(|row| read_row(&reader, options, row))
            .collect();
        let cache = options.cache.as_ref();
        let entries = cache.map(|cache| known_results(cache, engine.graders(), &rows));
        let subjects: Vec<Option<&Subject>> = rows.iter().map(subject_of).collect();
        let probes = (0..subjects.len()).map(|at| {
            subjects[at].map_or_else(Vec::new, |subject| {
                probes::of(subject, neighbour(&subjects, at), options.repeats)
            })
        });
        let probes: Vec<Vec<Probe>> = probes.collect();
        let count = rows.len();
        let mut chunk = Self {
            rows,
            entries: entries.unwrap_or_else(|| (0..count).map(|_| CacheEntry::default()).collect()),
            results: (0..count).map(|_| Vec::new()).collect(),
            graded: 0,
            reused: 0,
        };
        let queued = chunk.add_probes(probes);
        (chunk, queued)
    }

    /// The probes that follow from the results of the first ones, without a known result.
    fn comparisons(&mut self) -> Vec<QueuedProbe> {
        let of = |row: &Result<GradedRow, UnreadableRow>| {
            let passed = row.iter().flat_map(GradedRow::undetected);
            subject_of(row).map_or_else(Vec::new, |subject| probes::comparisons(subject, passed))
        };
        let probes = self.rows.iter().map(of).collect();
        self.add_probes(probes)
    }

    /// Adds the known results of the probes of each row, and returns the probes without one.
    fn add_probes(&mut self, probes: Vec<Vec<Probe>>) -> Vec<QueuedProbe> {
        let mut queued = Vec::new();
        for (row, probes) in probes.into_iter().enumerate() {
            let Some(task) = subject_of(&self.rows[row]).map(|subject| subject.task.clone()) else {
                continue;
            };
            let (entry, results) = (&mut self.entries[row], &mut self.results[row]);
            for probe in probes {
                let hash = entry.key.map(|_| cache::probe_hash(&probe));
                let Probe {
                    purpose,
                    completion,
                    task: own_task,
                } = probe;
                if let Some(outcome) = hash.and_then(|hash| entry.take(hash)) {
                    self.reused += 1;
                    let result = ProbeResult::from_outcome(purpose, &completion, outcome, hash);
                    results.push(Some(result));
                    continue;
                }
                let item = Item {
                    prompt: None,
                    completion,
                    meta: Meta::default(),
                };
                queued.push(QueuedProbe {
                    row,
                    at: results.len(),
                    purpose,
                    hash,
                    item: BatchItem::new(item, own_task.unwrap_or_else(|| task.clone())),
                });
                results.push(None);
            }
        }
        queued
    }

    /// Grades probes and adds all results to their rows.
    async fn grade(
        &mut self,
        engine: &Engine,
        options: &Arc<Options>,
        mut queued: Vec<QueuedProbe>,
    ) -> Result<(), CheckError> {
        while !queued.is_empty() {
            let rest = queued.split_off(queued.len().min(BATCH));
            let (owners, items): (Vec<_>, Vec<_>) = queued
                .into_iter()
                .map(|probe| {
                    let owner = (probe.row, probe.at, probe.purpose, probe.hash);
                    (owner, probe.item)
                })
                .unzip();
            self.graded += items.len() as u64;
            let reply = engine.grade_unrecorded(Batch::new("check", items)).await?;
            for grade in reply.grades() {
                let (row, at, purpose, hash) = owners[grade.position as usize];
                let completion = &reply.item(grade).item.completion;
                self.results[row][at] = Some(ProbeResult::new(purpose, completion, grade, hash));
            }
            let rows: BTreeSet<usize> = owners.iter().map(|(row, ..)| *row).collect();
            self.keep(&rows, options).await?;
            queued = rest;
        }
        for (row, results) in self.rows.iter_mut().zip(&mut self.results) {
            if let Ok(row) = row {
                row.probes.extend(results.drain(..).flatten());
            }
        }
        Ok(())
    }

    /// Writes the results of rows to the cache.
    async fn keep(&self, rows: &BTreeSet<usize>, options: &Arc<Options>) -> Result<(), CheckError> {
        if options.cache.is_none() {
            return Ok(());
        }
        let value = |row: &usize| {
            let key = self.entries[*row].key?;
            let earlier = self.rows[*row].iter().flat_map(|row| &row.probes);
            let results = earlier.chain(self.results[*row].iter().flatten());
            Some((key, cache::encode(results)))
        };
        let values: Vec<(RowKey, Vec<u8>)> = rows.iter().filter_map(value).collect();
        let options = Arc::clone(options);
        let written = tokio::task::spawn_blocking(move || {
            if let Some(cache) = &options.cache {
                cache.write(&values);
            }
        });
        written.await.map_err(|_| CheckError::Thread)
    }
}

impl CacheEntry {
    /// Takes the known result of a probe. Equal probes have a result each.
    fn take(&mut self, hash: u64) -> Option<ProbeOutcome> {
        let at = self.known.iter().position(|(known, _)| *known == hash)?;
        Some(self.known.swap_remove(at).1)
    }
}

/// What the cache contains of each row.
fn known_results(
    cache: &ResultCache,
    graders: &GraderTable,
    rows: &[Result<GradedRow, UnreadableRow>],
) -> Vec<CacheEntry> {
    let keys = rows.iter().map(subject_of);
    let keys: Vec<Option<RowKey>> = keys.map(|subject| cache.key(subject?, graders)).collect();
    let mut known = cache.read(keys.iter().flatten()).into_iter();
    let entry = |key: Option<RowKey>| CacheEntry {
        key,
        known: key.and_then(|_| known.next()).unwrap_or_default(),
    };
    keys.into_iter().map(entry).collect()
}

fn subject_of(row: &Result<GradedRow, UnreadableRow>) -> Option<&Subject> {
    row.as_ref().ok()?.subject.as_ref().ok()
}

/// Reads the task of a row.
fn read_row(
    reader: &SubjectReader<'_>,
    options: &Options,
    row: SourceRow,
) -> Result<GradedRow, UnreadableRow> {
    let mut row = match row {
        SourceRow::Unreadable { location, message } => return Err((location, message)),
        SourceRow::Row(row) => row,
    };
    let (id, content) = (reader.id(&row), row.hash());
    let hash = shingles::hash(content.as_bytes());
    let lacks_id = reader.lacks_id(&row);
    let subject = reader.read(&mut row);
    let key = subject::key(id, content, subject.as_ref());
    let sketch = Sketch::new(subject.as_ref().ok(), hash);
    let DatasetRow {
        location, columns, ..
    } = row;
    Ok(GradedRow {
        own_findings: options
            .own_rules
            .find(&columns, &key, subject.as_ref().ok()),
        ignored: ignored_codes(columns.get(&options.ignore_column)),
        location,
        key,
        lacks_id,
        subject,
        probes: Vec::new(),
        sketch,
    })
}

/// The names of codes in a column: a list of texts, or a text with commas.
fn ignored_codes(column: Option<&Value>) -> Vec<String> {
    let texts: Vec<&str> = match column {
        Some(Value::String(text)) => text.split(',').collect(),
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let names = texts.into_iter().map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

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
