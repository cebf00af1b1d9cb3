//! Grades completions: extracts their statements, runs them on every database and compares the
//! results.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_core::{
    BoxFuture, ErrorCode, Evidence, Fault, Grade, GradeContext, Hash, Item, Measure, Outcome,
    Prepared, Score, Verdict,
};
use assay_extraction::reasoning;
use assay_worker::compute;
use assay_worker::query::{End, ReadOrder, Rows};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::compare::{Difference, Rule, compare_all};
use crate::evidence::describe_end;
use crate::extract::{Extracted, extract};
use crate::partial::Parts;
use crate::queries::{Attempt, LargeResults, Queries, RunOptions};
use crate::ready::{Ready, prepare};
use crate::task::{Columns, Dialect, SqlTask};
use crate::{efficiency, evidence, verdict};

/// A task and what its completions share.
pub(crate) struct PreparedSql {
    task: SqlTask,
    seed: u64,
    queries: Queries,
    /// Created for the first completion, because creating it needs workers.
    ready: OnceCell<Result<Ready, Fault>>,
}

/// A statement and its progress through the databases.
struct Trial {
    /// The golds, by index, whose results it matched so far.
    matching_golds: Vec<usize>,
    /// One for each database on which it ran.
    runs: Vec<RunSummary>,
    /// Its rows on all databases so far if columns may be chosen, because one choice must fit all
    /// databases; else on the last one.
    rows: Vec<Rows>,
    /// Why it is wrong; `None` while it is correct.
    mismatch: Option<Mismatch>,
}

/// The part of a run that is retained.
struct RunSummary {
    steps: u64,
    /// Number of rows returned; `None` if it did not return rows.
    rows: Option<usize>,
    deterministic: bool,
}

/// Why a statement is wrong on the last database on which it ran.
enum Mismatch {
    /// It did not return rows.
    Ended(End),
    /// Its rows match no gold; `difference` compares them with this one.
    Differs { gold: usize, difference: Value },
}

impl Mismatch {
    fn end(&self) -> &End {
        match self {
            Self::Ended(end) => end,
            Self::Differs { .. } => &End::Rows,
        }
    }
}

impl Trial {
    fn new(golds: usize) -> Self {
        Self {
            matching_golds: (0..golds).collect(),
            runs: Vec::new(),
            rows: Vec::new(),
            mismatch: None,
        }
    }
}

impl Prepared for PreparedSql {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(async move {
            self.grade_all(items, cx)
                .await
                .unwrap_or_else(|fault| vec![outcome_of_fault(&fault); items.len()])
        })
    }

    fn bytes(&self) -> usize {
        let ready = match self.ready.get() {
            Some(Ok(ready)) => ready.bytes(),
            Some(Err(fault)) => fault.message.len(),
            None => 0,
        };
        size_of::<Self>() + self.task.bytes() + ready
    }
}

impl PreparedSql {
    pub(crate) fn new(task: SqlTask, seed: u64, queries: Queries) -> Self {
        Self {
            task,
            seed,
            queries,
            ready: OnceCell::new(),
        }
    }

    /// Runs all statements on the base, then the ones that are correct there on the other
    /// databases.
    async fn grade_all(&self, items: &[&Item], cx: &GradeContext) -> Result<Vec<Outcome>, Fault> {
        let mut large = self.queries.call();
        let ready = self.ready(&mut large).await?;
        large
            .hold(ready.result_bytes() as u64, ready.database_bytes() as u64)
            .await;
        let found: Vec<Option<Extracted>> = items
            .iter()
            .map(|item| {
                extract(&reasoning::visible_text(
                    &item.completion.text(),
                    item.meta.think_open,
                ))
            })
            .collect();
        let mut trials: Vec<Option<Trial>> = found
            .iter()
            .map(|found| found.as_ref().map(|_| Trial::new(self.task.golds.len())))
            .collect();
        let base = 1.min(ready.stages.len());
        self.run(ready, 0..base, &found, &mut trials, &mut large, cx)
            .await?;
        if base < ready.stages.len() {
            if cx.cancel.is_cancelled() {
                return Err(Fault::transient(
                    ErrorCode::Cancelled,
                    "the client disconnected; send the item again",
                ));
            }
            let others = if self.task.columns == Columns::Strict {
                base
            } else {
                // The rows on the base are needed again. Retaining them for all statements could
                // take too much memory, so the statements run again.
                let correct = trials
                    .iter_mut()
                    .flatten()
                    .filter(|trial| trial.mismatch.is_none());
                correct.for_each(|trial| *trial = Trial::new(self.task.golds.len()));
                0
            };
            self.run(
                ready,
                others..ready.stages.len(),
                &found,
                &mut trials,
                &mut large,
                cx,
            )
            .await?;
        }
        let graded = found
            .iter()
            .zip(&trials)
            .map(|(found, trial)| match (found, trial) {
                (Some(found), Some(trial)) => self.graded(ready, found, trial),
                _ => Outcome::Graded(Grade::new(verdict::NO_SQL, Score::ZERO)),
            });
        Ok(graded.collect())
    }

    /// Runs the statements that are correct so far on the databases of these stages.
    async fn run(
        &self,
        ready: &Ready,
        stages: Range<usize>,
        found: &[Option<Extracted>],
        trials: &mut [Option<Trial>],
        large: &mut LargeResults,
        cx: &GradeContext,
    ) -> Result<(), Fault> {
        let is_open = |at: &usize| {
            trials[*at]
                .as_ref()
                .is_some_and(|trial| trial.mismatch.is_none())
        };
        let open: Vec<usize> = (0..trials.len()).filter(is_open).collect();
        let statements: Vec<&str> = open
            .iter()
            .filter_map(|at| found[*at].as_ref())
            .map(|found| found.text.as_str())
            .collect();
        let run_on = &ready.stages[stages.clone()];
        let timeouts = run_on.iter().map(|stage| stage.timeout);
        let options = RunOptions {
            limits: ready.limits,
            order: ReadOrder::Stored,
            timeout: timeouts.max().unwrap_or_default(),
            cache: cx
                .use_cache
                .then(|| Hash::of_parts(&[b"caller", cx.caller.as_bytes()])),
        };
        let on: Vec<_> = run_on
            .iter()
            .map(|stage| (&stage.database, stage.steps))
            .collect();
        let mut each = |index: usize, attempt: Attempt| {
            let Some(trial) = &mut trials[open[index]] else {
                return false;
            };
            compute(attempt.ran.rows.bytes(), || {
                self.judge(trial, ready, &attempt);
            });
            // Compared rows are needed again only on further databases.
            if trial.mismatch.is_some() || trial.runs.len() == stages.end {
                trial.rows = Vec::new();
            }
            trial.mismatch.is_none()
        };
        self.queries
            .run(&statements, options, &on, large, &mut each)
            .await
    }

    /// Compares the result of a statement on the next database with the results of the golds.
    fn judge(&self, trial: &mut Trial, ready: &Ready, attempt: &Attempt) {
        let ran = &attempt.ran;
        let returned_rows = ran.end == End::Rows;
        let rows = returned_rows.then(|| ran.rows.len());
        trial.runs.push(RunSummary {
            steps: ran.steps,
            rows,
            deterministic: attempt.deterministic,
        });
        if !returned_rows {
            trial.mismatch = Some(Mismatch::Ended(ran.end.clone()));
            return;
        }
        if self.task.columns == Columns::Strict {
            trial.rows.clear();
        }
        trial.rows.push(ran.rows.clone());
        let bytes: u64 = trial.rows.iter().map(|rows| rows.bytes() as u64).sum();
        if bytes > self.queries.result_bytes() {
            trial.mismatch = Some(Mismatch::Ended(End::TooManyRows));
            return;
        }
        let mut first = None;
        for gold in std::mem::take(&mut trial.matching_golds) {
            match self.compare(trial, ready, gold) {
                Ok(()) => trial.matching_golds.push(gold),
                Err(difference) => {
                    first.get_or_insert((gold, difference));
                }
            }
        }
        if let Some((gold, difference)) = first.filter(|_| trial.matching_golds.is_empty()) {
            let result = &ready.stages[trial.runs.len() - 1].golds[gold].result;
            let difference = evidence::of_difference(&difference, result, &ran.rows);
            trial.mismatch = Some(Mismatch::Differs { gold, difference });
        }
    }

    /// Compares the retained rows with those of a gold.
    fn compare(&self, trial: &Trial, ready: &Ready, gold: usize) -> Result<(), Difference> {
        let rule = Rule {
            columns: self.task.columns,
            tolerance: self.task.tolerance,
        };
        let stages = &ready.stages[trial.runs.len() - trial.rows.len()..];
        let parts = stages
            .iter()
            .zip(&trial.rows)
            .map(|(stage, rows)| (&stage.golds[gold].result, rows));
        compare_all(&parts.collect::<Vec<_>>(), rule)
    }

    /// The databases and results of the golds, or why they cannot be used. Retryable faults are not
    /// cached.
    async fn ready(&self, large: &mut LargeResults) -> Result<&Ready, Fault> {
        let prepared = self.ready.get_or_try_init(move || async move {
            match prepare(&self.task, self.seed, &self.queries, large).await {
                Err(fault) if fault.retryable => Err(fault),
                result => Ok(result),
            }
        });
        prepared.await?.as_ref().map_err(Clone::clone)
    }

    fn graded(&self, ready: &Ready, found: &Extracted, trial: &Trial) -> Outcome {
        let mut evidence = evidence::of_statement(found)
            .value("databases", ready.stages.len())
            .text("base", ready.stages[0].database.name());
        let (mut verdict, mut score) = (Verdict::CORRECT, Score::ONE);
        if let Some(mismatch) = &trial.mismatch {
            (verdict, score) = (verdict_of(mismatch.end()), Score::ZERO);
            evidence = self.with_reason(evidence, trial, mismatch);
            if let Some(weights) = self.task.partial {
                let parts = Parts::of(
                    &found.text,
                    mismatch.end(),
                    &self.task.golds,
                    &ready.names,
                    self.task.dialect,
                );
                let Parts {
                    syntax,
                    executes,
                    schema,
                    tokens,
                } = parts;
                let shares = json!({
                    "syntax": syntax, "executes": executes, "schema": schema, "tokens": tokens
                });
                evidence = evidence.value("parts", shares);
                score = Score::new(parts.score(weights)).unwrap_or(Score::ZERO);
                if score > Score::ZERO {
                    evidence = evidence.text("reason", verdict.as_str());
                    verdict = Verdict::PARTIAL;
                }
            }
        }
        let steps = trial
            .runs
            .iter()
            .fold(0u64, |sum, run| sum.saturating_add(run.steps));
        let mut grade = Grade::new(verdict, score)
            .with_evidence(evidence)
            .with_work(steps);
        grade.deterministic = trial.runs.iter().all(|run| run.deterministic);
        grade.measures = self.measures(ready, trial);
        Outcome::Graded(grade)
    }

    fn with_reason(&self, evidence: Evidence, trial: &Trial, mismatch: &Mismatch) -> Evidence {
        let evidence = evidence.value("database", trial.runs.len().saturating_sub(1));
        match mismatch {
            Mismatch::Ended(end) => evidence.text("message", &describe_end(end)),
            Mismatch::Differs { gold, difference } => evidence
                .value("difference", difference.clone())
                .text("gold", &self.task.golds[*gold]),
        }
    }

    fn measures(&self, ready: &Ready, trial: &Trial) -> BTreeMap<&'static str, Measure> {
        let Some(base) = trial.runs.first() else {
            return BTreeMap::new();
        };
        let gold = ready.stages[0]
            .golds
            .iter()
            .map(|gold| gold.steps)
            .min()
            .unwrap_or_default();
        // PostgreSQL does not count steps.
        let counts_steps = self.task.dialect == Dialect::Sqlite;
        let ratio = base
            .rows
            .filter(|_| counts_steps)
            .map(|_| efficiency::ratio(gold, base.steps));
        let is_correct = trial.mismatch.is_none();
        let numbers = [
            ("steps", counts_steps.then_some(base.steps as f64)),
            ("rows", base.rows.map(|rows| rows as f64)),
            ("efficiency", ratio.filter(|_| is_correct)),
            (
                "r_ves",
                counts_steps.then(|| ratio.filter(|_| is_correct).map_or(0.0, efficiency::bucket)),
            ),
        ];
        numbers
            .into_iter()
            .filter_map(|(name, number)| Some((name, Measure::new(number?).ok()?)))
            .collect()
    }
}

fn verdict_of(end: &End) -> Verdict {
    match end {
        End::Rows => Verdict::WRONG_ANSWER,
        End::Nothing => verdict::NO_SQL,
        End::Several => verdict::SEVERAL_STATEMENTS,
        End::NotAQuery => verdict::NOT_A_QUERY,
        End::Denied(_) => verdict::DENIED,
        End::Syntax(_) | End::Error(_) => verdict::SQL_ERROR,
        End::OutOfSteps => verdict::STEP_LIMIT,
        End::OutOfMemory => verdict::MEMORY_LIMIT,
        End::TooManyRows => verdict::ROW_LIMIT,
        End::TooLong => verdict::LENGTH_LIMIT,
    }
}

/// The outcome for a fault of the task or of the service.
fn outcome_of_fault(fault: &Fault) -> Outcome {
    let fault = fault.clone();
    if fault.code == ErrorCode::TaskAtFault {
        Outcome::Ungradable(fault)
    } else {
        Outcome::Failed(fault)
    }
}

#[cfg(test)]
mod tests;
