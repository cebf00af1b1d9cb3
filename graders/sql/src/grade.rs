//! Completions: their statements found, run on every database, and what they gave compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_cell::query::End;
use assay_core::extraction::reasoning;
use assay_core::{
    BoxFuture, ErrorCode, Evidence, Fault, Grade, GradeContext, Item, Measure, Outcome, Prepared, Score, Verdict,
};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::compare::{Difference, Rule, compare_all};
use crate::extract::{Found, extract};
use crate::partial::Parts;
use crate::queries::{Attempt, Queries, Terms};
use crate::ready::{Ready, how, prepare};
use crate::task::{Columns, Dialect, SqlTask};
use crate::{efficiency, evidence, verdict};

/// A task ready for completions.
pub(crate) struct PreparedSql {
    task: SqlTask,
    seed: u64,
    queries: Queries,
    /// Made when the first completion comes: it needs cells.
    ready: OnceCell<Result<Ready, Fault>>,
}

/// A statement on its way through the databases.
struct Trial {
    found: Found,
    /// Golds that gave the same so far.
    agreeing: Vec<usize>,
    /// One for each database it was run on.
    attempts: Vec<Attempt>,
    /// Why it is wrong, once it is.
    wrong: Option<Wrong>,
}

/// Where a statement was found wrong: how it ended on the last database it was run on, and what is different from a gold there.
struct Wrong {
    end: End,
    difference: Option<(Difference, usize)>,
}

impl Prepared for PreparedSql {
    fn grade<'a>(&'a self, items: &'a [&'a Item], cx: &'a GradeContext) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(
            async move { self.grade_all(items, cx).await.unwrap_or_else(|fault| vec![at_fault(&fault); items.len()]) },
        )
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.task.bytes()
    }
}

impl PreparedSql {
    pub(crate) fn new(task: SqlTask, seed: u64, queries: Queries) -> Self {
        Self { task, seed, queries, ready: OnceCell::new() }
    }

    /// All statements on the base, then those that are right there on the other databases.
    async fn grade_all(&self, items: &[&Item], cx: &GradeContext) -> Result<Vec<Outcome>, Fault> {
        let ready = self.ready().await?;
        let golds: Vec<usize> = (0..self.task.golds.len()).collect();
        let mut trials: Vec<Option<Trial>> = items
            .iter()
            .map(|item| {
                let text = item.completion.text();
                let found = extract(&reasoning::visible_text(&text, item.meta.think_open))?;
                Some(Trial { found, agreeing: golds.clone(), attempts: Vec::new(), wrong: None })
            })
            .collect();
        let (base, others) = ready.stages.split_at(1.min(ready.stages.len()));
        for stages in [base, others].into_iter().filter(|stages| !stages.is_empty()) {
            if cx.cancel.is_cancelled() {
                return Err(Fault::passing(ErrorCode::Cancelled, "the client went away; send the item again"));
            }
            let mut open: Vec<&mut Trial> = trials.iter_mut().flatten().filter(|trial| trial.wrong.is_none()).collect();
            let statements: Vec<&str> = open.iter().map(|trial| trial.found.text.as_str()).collect();
            let terms = Terms { limits: ready.limits, reverse: false };
            let on: Vec<_> = stages.iter().map(|stage| (&stage.database, stage.steps)).collect();
            let answered = self.queries.run(&statements, terms, &on).await?;
            for (trial, attempts) in open.iter_mut().zip(answered) {
                self.judge(trial, ready, attempts);
            }
        }
        Ok(trials.iter().map(|trial| self.graded(ready, trial.as_ref())).collect())
    }

    /// Compares what a statement gave on some databases with what the golds give there.
    fn judge(&self, trial: &mut Trial, ready: &Ready, attempts: Vec<Attempt>) {
        for attempt in attempts {
            let ran = Arc::clone(&attempt.ran);
            trial.attempts.push(attempt);
            if ran.end != End::Rows {
                trial.wrong = Some(Wrong { end: ran.end.clone(), difference: None });
                return;
            }
            let mut first = None;
            let golds = std::mem::take(&mut trial.agreeing);
            for gold in golds {
                match self.compare(trial, ready, gold) {
                    Ok(()) => trial.agreeing.push(gold),
                    Err(difference) => {
                        first.get_or_insert((difference, gold));
                    }
                }
            }
            if trial.agreeing.is_empty() {
                trial.wrong = Some(Wrong { end: End::Rows, difference: first });
                return;
            }
        }
    }

    /// Compares what a statement gave on the last database with what a gold gives there; on all so far where columns are chosen.
    fn compare(&self, trial: &Trial, ready: &Ready, gold: usize) -> Result<(), Difference> {
        let rule = Rule { columns: self.task.columns, tolerance: self.task.tolerance };
        let seen = ready.stages.iter().zip(&trial.attempts);
        let parts: Vec<_> = seen.map(|(stage, attempt)| (&stage.golds[gold].sheet, &attempt.ran.rows)).collect();
        let from = if rule.columns == Columns::Strict { parts.len().saturating_sub(1) } else { 0 };
        compare_all(&parts[from..], rule)
    }

    /// The databases and golds, or why there are none. A fault of ours is not kept.
    async fn ready(&self) -> Result<&Ready, Fault> {
        let prepared = self.ready.get_or_try_init(|| async {
            match prepare(&self.task, self.seed, &self.queries).await {
                Err(fault) if fault.retryable => Err(fault),
                settled => Ok(settled),
            }
        });
        prepared.await?.as_ref().map_err(Clone::clone)
    }

    fn graded(&self, ready: &Ready, trial: Option<&Trial>) -> Outcome {
        let Some(trial) = trial else { return Outcome::Graded(Grade::new(verdict::NO_SQL, Score::ZERO)) };
        let mut evidence = evidence::of_statement(&trial.found)
            .value("databases", ready.stages.len())
            .text("base", ready.stages[0].database.name());
        let (mut verdict, mut score) = (Verdict::CORRECT, Score::ONE);
        if let Some(wrong) = &trial.wrong {
            (verdict, score) = (verdict_of(&wrong.end), Score::ZERO);
            evidence = self.with_reason(evidence, ready, trial, wrong);
            if let Some(weights) = self.task.partial {
                let parts =
                    Parts::of(&trial.found.text, &wrong.end, &self.task.golds, &ready.tables, self.task.dialect);
                let Parts { syntax, executes, schema, tokens } = parts;
                let told = json!({"syntax": syntax, "executes": executes, "schema": schema, "tokens": tokens});
                evidence = evidence.value("parts", told);
                score = Score::new(parts.score(weights)).unwrap_or(Score::ZERO);
                if score > Score::ZERO {
                    evidence = evidence.text("reason", verdict.as_str());
                    verdict = Verdict::PARTIAL;
                }
            }
        }
        let steps = trial.attempts.iter().fold(0u64, |sum, attempt| sum.saturating_add(attempt.ran.steps));
        let mut grade = Grade::new(verdict, score).with_evidence(evidence).with_work(steps);
        grade.deterministic = trial.attempts.iter().all(|attempt| attempt.deterministic);
        grade.measures = self.measures(ready, trial);
        Outcome::Graded(grade)
    }

    fn with_reason(&self, evidence: Evidence, ready: &Ready, trial: &Trial, wrong: &Wrong) -> Evidence {
        let database = trial.attempts.len().saturating_sub(1);
        let evidence = evidence.value("database", database);
        if wrong.end != End::Rows {
            return evidence.text("message", &how(&wrong.end));
        }
        let (Some((difference, gold)), Some(attempt)) = (&wrong.difference, trial.attempts.last()) else {
            return evidence;
        };
        let sheet = &ready.stages[database].golds[*gold].sheet;
        let told = evidence::of_difference(difference, sheet, &attempt.ran.rows);
        evidence.value("difference", told).text("gold", &self.task.golds[*gold])
    }

    fn measures(&self, ready: &Ready, trial: &Trial) -> BTreeMap<&'static str, Measure> {
        let Some(base) = trial.attempts.first().map(|attempt| &attempt.ran) else { return BTreeMap::new() };
        let gold = ready.stages[0].golds.iter().map(|gold| gold.steps).min().unwrap_or_default();
        // Servers count no steps.
        let counts = self.task.dialect == Dialect::Sqlite;
        let gives_rows = base.end == End::Rows;
        let ratio = (gives_rows && counts).then(|| efficiency::ratio(gold, base.steps));
        let is_right = trial.wrong.is_none();
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
        let numbers = [
            ("steps", counts.then_some(base.steps as f64)),
            ("rows", gives_rows.then_some(base.rows.len() as f64)),
            ("efficiency", ratio.filter(|_| is_right)),
            ("r_ves", counts.then(|| ratio.filter(|_| is_right).map_or(0.0, efficiency::bucket))),
        ];
        numbers.into_iter().filter_map(|(name, number)| Some((name, Measure::new(number?).ok()?))).collect()
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

/// A fault of the task, or of ours.
fn at_fault(fault: &Fault) -> Outcome {
    let fault = fault.clone();
    if fault.code == ErrorCode::TaskAtFault { Outcome::Ungradable(fault) } else { Outcome::Failed(fault) }
}
