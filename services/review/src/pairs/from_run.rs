//! Chooses pairs from the grades of a run: for each prompt, right and wrong completions whose
//! verdicts are certain enough.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use assay_core::{Completion, ErrorCode, GradeId, Hash};
use assay_record::pair::{Pair, RunPairs};
use assay_record::{
    Appeal, Body, BodyKind, GradeFilter, ItemGrade, Record, RecordError, StoredGrade,
};
use assay_rewards::Rates;
use assay_rewards::channel::Ledger;
use assay_rewards::pairs::{Belief, ChosenPair, Verdicts, beliefs, choose};
use serde_json::json;

use super::NewPair;
use super::reference::reference;
use crate::{Review, ReviewError};

/// Grades that are read from the record at a time.
const PAGE: u32 = 1_000;

/// Bytes of completions after which chosen pairs are stored and dropped.
const CHUNK_BYTES: usize = 8 << 20;

/// Most recent adjudications of operators that are considered.
const ADJUDICATIONS: u32 = 10_000;

/// The grades to choose pairs from, and how many to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct PairsOfRun {
    /// Name of the run.
    pub run: String,
    /// Only grades of this channel, if given.
    pub channel: Option<String>,
    /// Only grades from this time on, in microseconds since the Unix epoch.
    pub since_us: Option<i64>,
    /// Maximum number of grades; the newest are used.
    pub grades: u32,
    /// Maximum number of pairs of a prompt.
    pub per_prompt: usize,
    /// Minimum probability that a completion is right, or wrong; `None` takes verdicts of channels
    /// with unknown error rates as they are.
    pub min_certainty: Option<f64>,
    /// JSON pointer to the gold answer in the task, for models that compare with one.
    pub reference: Option<String>,
}

/// Why no pairs can be chosen.
#[derive(Debug, thiserror::Error)]
pub enum RunPairsError {
    /// The run has no grades.
    #[error("{0}")]
    UnknownRun(String),
    /// The pointer to the reference leads to nothing in any task.
    #[error(
        "no task has a value at `{pointer}`, for example that of grade `{grade}`; set `reference` to a JSON pointer \
         to the gold answer, such as `/answer`"
    )]
    NoReference {
        /// A grade with the task.
        grade: GradeId,
        /// The pointer.
        pointer: String,
    },
    /// The record cannot be read or written.
    #[error(transparent)]
    Record(#[from] ReviewError),
}

impl RunPairsError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownRun(_) => ErrorCode::NotFound,
            Self::NoReference { .. } => ErrorCode::InvalidField,
            Self::Record(error) => error.code(),
        }
    }
}

impl From<RecordError> for RunPairsError {
    fn from(error: RecordError) -> Self {
        Self::Record(ReviewError::Store(error))
    }
}

/// What is needed of a grade, without its evidence.
struct GradedCompletion {
    grade: GradeId,
    completion: Hash,
    step: Option<i64>,
    verdicts: Verdicts,
}

/// Grades of one prompt and task, one for each distinct completion.
type Prompts = BTreeMap<(Hash, Hash), Vec<GradedCompletion>>;

impl Review {
    /// Chooses pairs from the grades of a run and stores them for a reward model. Each pair has the
    /// grades, the step and the certainties as its source. Completions and prompts that the record
    /// no longer contains are skipped.
    ///
    /// # Errors
    /// [`RunPairsError`].
    pub async fn collect_pairs_of_run(
        &self,
        model: &str,
        choice: &PairsOfRun,
        caller: &str,
    ) -> Result<RunPairs, RunPairsError> {
        let record = self.record()?;
        let _lock = self.locks.pair_choice.lock().await;
        let ledger = self.channels().await?;
        let adjudicated: HashMap<GradeId, bool> = record
            .last_adjudications(ADJUDICATIONS)
            .await?
            .into_iter()
            // The newest adjudication of a grade comes first.
            .rev()
            .map(|adjudication| (adjudication.grade, adjudication.pass))
            .collect();
        let mut found = RunPairs {
            total: record.known_pairs(model, &[]).await?.total,
            ..RunPairs::default()
        };
        let prompts = read(record, choice, &ledger, &adjudicated, &mut found).await?;
        if found.grades == 0 && record.run(&choice.run).await?.is_none() {
            return Err(RunPairsError::UnknownRun(
                self.unknown_run(&choice.run).await?,
            ));
        }
        let mut chunk = Chunk::default();
        for ((prompt, task), completions) in &prompts {
            let verdicts: Vec<Verdicts> = completions.iter().map(|one| one.verdicts).collect();
            let beliefs = beliefs(&verdicts);
            if let Some(min) = choice.min_certainty {
                let is_uncertain =
                    |belief: &&Belief| belief.certainty.is_none_or(|certainty| certainty < min);
                found.uncertain += beliefs.iter().filter(is_uncertain).count() as u64;
            }
            let chosen = choose(&beliefs, choice.min_certainty, choice.per_prompt);
            if !chosen.is_empty() {
                let prompt = Prompt {
                    prompt: *prompt,
                    task: *task,
                    completions,
                    beliefs: &beliefs,
                };
                prompt
                    .add_pairs(record, choice, &chosen, &mut chunk)
                    .await?;
            }
            if chunk.bytes >= CHUNK_BYTES {
                self.store_chunk(model, &mut chunk, caller, &mut found)
                    .await?;
            }
        }
        self.store_chunk(model, &mut chunk, caller, &mut found)
            .await?;
        match (chunk.references, &choice.reference) {
            (
                References {
                    found: false,
                    missing: Some(grade),
                },
                Some(pointer),
            ) => Err(RunPairsError::NoReference {
                grade,
                pointer: pointer.clone(),
            }),
            _ => Ok(found),
        }
    }

    async fn store_chunk(
        &self,
        model: &str,
        chunk: &mut Chunk,
        caller: &str,
        found: &mut RunPairs,
    ) -> Result<(), RunPairsError> {
        let pairs = std::mem::take(&mut chunk.pairs);
        chunk.bytes = 0;
        if !pairs.is_empty() {
            let collected = self.collect_pairs(model, pairs, caller).await?;
            found.added += collected.added;
            found.known += collected.known;
            found.total = collected.total;
        }
        Ok(())
    }
}

/// The graded completions of a prompt and a task.
struct Prompt<'a> {
    prompt: Hash,
    task: Hash,
    completions: &'a [GradedCompletion],
    beliefs: &'a [Belief],
}

impl Prompt<'_> {
    /// Adds the chosen pairs of this prompt whose texts the record contains.
    async fn add_pairs(
        &self,
        record: &Record,
        choice: &PairsOfRun,
        chosen: &[ChosenPair],
        chunk: &mut Chunk,
    ) -> Result<(), RunPairsError> {
        let Some(prompt) = completion(record, self.prompt).await? else {
            return Ok(());
        };
        let reference = match &choice.reference {
            None => None,
            Some(pointer) => {
                let grade = self.completions[0].grade;
                let Some(reference) = reference(record, self.task, pointer, grade).await? else {
                    chunk.references.missing.get_or_insert(grade);
                    return Ok(());
                };
                chunk.references.found = true;
                Some(reference)
            }
        };
        let mut texts = HashMap::new();
        for index in chosen
            .iter()
            .flat_map(|pair| [pair.accepted, pair.rejected])
        {
            if let Entry::Vacant(entry) = texts.entry(index) {
                let text = completion(record, self.completions[index].completion).await?;
                entry.insert(text.filter(Completion::has_answer));
            }
        }
        for pair in chosen {
            // Of prompts with very long texts, fewer pairs are used.
            if chunk.bytes >= 2 * CHUNK_BYTES {
                break;
            }
            let text = |index: usize| texts.get(&index).cloned().flatten();
            let (Some(accepted), Some(rejected)) = (text(pair.accepted), text(pair.rejected))
            else {
                continue;
            };
            let [right, wrong] =
                [pair.accepted, pair.rejected].map(|index| &self.completions[index]);
            let source = json!({
                "run": choice.run, "step": right.step,
                "accepted_grade": right.grade.to_string(),
                "rejected_grade": wrong.grade.to_string(),
                "accepted_certainty": self.beliefs[pair.accepted].certainty,
                "rejected_certainty": self.beliefs[pair.rejected].certainty,
            });
            chunk.push(NewPair {
                pair: Pair {
                    prompt: prompt.clone(),
                    accepted,
                    rejected,
                    reference: reference.clone(),
                },
                source_json: Some(source.to_string()),
            });
        }
        Ok(())
    }
}

/// Chosen pairs that are not stored yet.
#[derive(Default)]
struct Chunk {
    pairs: Vec<NewPair>,
    bytes: usize,
    references: References,
}

/// Whether tasks have a reference.
#[derive(Default)]
struct References {
    /// Whether one of them has.
    found: bool,
    /// The grade of a task that has none.
    missing: Option<GradeId>,
}

impl Chunk {
    fn push(&mut self, pair: NewPair) {
        let Pair {
            prompt,
            accepted,
            rejected,
            reference,
        } = &pair.pair;
        let texts = [prompt, accepted, rejected].map(|text| text.to_body().len());
        let reference = reference.as_ref().map_or(0, String::len);
        self.bytes += texts.iter().sum::<usize>() + reference;
        self.pairs.push(pair);
    }
}

/// Reads the newest grades of the run, page by page.
async fn read(
    record: &Record,
    choice: &PairsOfRun,
    ledger: &Ledger,
    adjudicated: &HashMap<GradeId, bool>,
    found: &mut RunPairs,
) -> Result<Prompts, RunPairsError> {
    let filter = GradeFilter {
        run: Some(choice.run.clone()),
        channel: choice.channel.clone(),
        outcomes: vec!["graded".to_owned()],
        since_us: choice.since_us,
        ..GradeFilter::default()
    };
    let mut prompts = Prompts::new();
    let mut seen: HashMap<(Hash, Hash, Hash), usize> = HashMap::new();
    let mut rates: HashMap<(Arc<str>, u32), Option<Rates>> = HashMap::new();
    let (mut before, mut left) = (None, choice.grades);
    while left > 0 {
        let page = record.grades(&filter, before, left.min(PAGE)).await?;
        left -= u32::try_from(page.grades.len()).unwrap_or(left).min(left);
        for StoredGrade { source, grade } in &page.grades {
            found.newest_us = found.newest_us.max(Some(grade.time_us));
            let (Some(pass), Some(prompt)) = (grade.pass, source.prompt_hash) else {
                continue;
            };
            found.grades += 1;
            let completions = prompts.entry((prompt, source.task_hash)).or_default();
            let decided = adjudicated.get(&grade.grade).copied();
            // Of equal completions, the newest grade counts, and every adjudication and judge.
            let key = (prompt, source.task_hash, source.completion_hash);
            if let Some(index) = seen.get(&key) {
                let verdicts: &mut Verdicts = &mut completions[*index].verdicts;
                verdicts.adjudicated = verdicts.adjudicated.or(decided);
                verdicts.judge = verdicts.judge.or_else(|| judge(grade));
                continue;
            }
            seen.insert(key, completions.len());
            let channel = (Arc::clone(&grade.channel), grade.grader.version);
            let rates = *rates
                .entry(channel)
                .or_insert_with_key(|(channel, version)| {
                    let report = ledger.of(channel, *version, None);
                    // Verdicts of a verifier that may be worse than chance say nothing.
                    report.j.filter(|j| j.interval.low > 0.0)?;
                    Rates::new(report.rho0?.shrunk, report.rho1?.shrunk)
                });
            completions.push(GradedCompletion {
                grade: grade.grade,
                completion: source.completion_hash,
                step: source.step,
                verdicts: Verdicts {
                    pass,
                    rates,
                    judge: judge(grade),
                    adjudicated: decided,
                },
            });
        }
        match page.next {
            Some(next) => before = Some(next),
            None => break,
        }
    }
    found.prompts = prompts.len() as u64;
    // The order of hashes is independent of the verdicts, and the same each time.
    for completions in prompts.values_mut() {
        completions.sort_unstable_by_key(|one| one.completion);
    }
    Ok(prompts)
}

/// The verdict of an appeal's judge, with the error rates that the policy declares.
fn judge(grade: &ItemGrade) -> Option<(bool, Rates)> {
    let Appeal {
        pass,
        sensitivity,
        specificity,
        ..
    } = grade.appeal.as_ref()?;
    Some(((*pass)?, Rates::new(1.0 - specificity, 1.0 - sensitivity)?))
}

/// A prompt or completion; `None` if the record no longer contains it.
async fn completion(record: &Record, hash: Hash) -> Result<Option<Completion>, RecordError> {
    let Some(Body { kind, content, .. }) = record.body(hash).await? else {
        return Ok(None);
    };
    let invalid = |reason: String| RecordError::Inconsistent(format!("body `{hash}`: {reason}"));
    match kind {
        BodyKind::Text => {
            let text = String::from_utf8(content).map_err(|error| invalid(error.to_string()))?;
            Ok(Some(Completion::Text(text.into())))
        }
        BodyKind::Messages => serde_json::from_slice(&content)
            .map(Some)
            .map_err(|error| invalid(error.to_string())),
        BodyKind::Task | BodyKind::Policy | BodyKind::Pair | BodyKind::Report => {
            Err(invalid("it is not a text".to_owned()))
        }
    }
}
