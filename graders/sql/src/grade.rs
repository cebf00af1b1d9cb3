//! One completion: its statement found, run on every database, and what it gave compared.

use std::collections::BTreeMap;

use assay_cell::query::End;
use assay_core::extraction::reasoning;
use assay_core::{
    BoxFuture, ErrorCode, Evidence, Fault, Grade, GradeContext, Item, Measure, Outcome, Prepared, Score, Verdict,
};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::compare::{Difference, Rule, compare};
use crate::extract::{Found, extract};
use crate::partial::Parts;
use crate::queries::{Attempt, Queries, Query};
use crate::ready::{Ready, Stage, how, prepare};
use crate::task::{Dialect, SqlTask};
use crate::{efficiency, evidence, verdict};

/// A task ready for completions.
pub(crate) struct PreparedSql {
    task: SqlTask,
    seed: u64,
    queries: Queries,
    /// Made when the first completion comes: it needs cells.
    ready: OnceCell<Result<Ready, Fault>>,
}

/// What became of a statement over all databases.
struct Judged {
    verdict: Verdict,
    /// How it ended where that was decided.
    end: End,
    /// Where that was: 0 is the base.
    database: usize,
    difference: Option<(Difference, usize)>,
    /// One for each database it was run on.
    attempts: Vec<Attempt>,
    deterministic: bool,
}

impl Prepared for PreparedSql {
    fn grade<'a>(&'a self, items: &'a [Item], cx: &'a GradeContext) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(async move {
            let mut outcomes = Vec::with_capacity(items.len());
            for item in items {
                outcomes.push(self.grade_one(item, cx).await.unwrap_or_else(at_fault));
            }
            outcomes
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.task.bytes()
    }
}

impl PreparedSql {
    pub(crate) fn new(task: SqlTask, seed: u64, queries: Queries) -> Self {
        Self { task, seed, queries, ready: OnceCell::new() }
    }

    async fn grade_one(&self, item: &Item, cx: &GradeContext) -> Result<Outcome, Fault> {
        let ready = self.ready().await?;
        let text = item.completion.text();
        let visible = reasoning::visible_text(&text, item.meta.think_open);
        let Some(found) = extract(&visible) else {
            return Ok(Outcome::Graded(Grade::new(verdict::NO_SQL, Score::ZERO)));
        };
        let judged = self.judge(ready, &found.text, cx).await?;
        Ok(self.graded(ready, &found, &judged))
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

    /// Runs a statement: on the base, and on the others while some gold agrees.
    async fn judge(&self, ready: &Ready, sql: &str, cx: &GradeContext) -> Result<Judged, Fault> {
        let query = Query { sql, limits: self.task.limits, reverse: false };
        let rule = Rule { columns: self.task.columns, tolerance: self.task.tolerance };
        let mut agreeing: Vec<usize> = (0..self.task.golds.len()).collect();
        let mut attempts: Vec<Attempt> = Vec::with_capacity(ready.stages.len());
        let rest = 1.min(ready.stages.len())..ready.stages.len();
        for stages in [0..rest.start, rest] {
            if cx.cancel.is_cancelled() {
                return Err(Fault::passing(ErrorCode::Cancelled, "the client went away; send the item again"));
            }
            let on: Vec<_> = ready.stages[stages].iter().map(|stage| (&stage.database, stage.steps)).collect();
            if on.is_empty() {
                continue;
            }
            for attempt in self.queries.run(query, &on).await? {
                let database = attempts.len();
                attempts.push(attempt.clone());
                let mut judged = Judged {
                    verdict: Verdict::WRONG_ANSWER,
                    end: attempt.ran.end.clone(),
                    database,
                    difference: None,
                    attempts: Vec::new(),
                    deterministic: attempt.deterministic,
                };
                if attempt.ran.end != End::Rows {
                    judged.verdict = verdict_of(&attempt.ran.end);
                    return Ok(Judged { attempts, ..judged });
                }
                let stage: &Stage = &ready.stages[database];
                let mut first = None;
                agreeing.retain(|gold| match compare(&stage.golds[*gold].sheet, &attempt.ran.rows, rule) {
                    Ok(()) => true,
                    Err(difference) => {
                        first.get_or_insert((difference, *gold));
                        false
                    }
                });
                if agreeing.is_empty() {
                    return Ok(Judged { attempts, difference: first, ..judged });
                }
            }
        }
        Ok(Judged {
            verdict: Verdict::CORRECT,
            end: End::Rows,
            database: 0,
            difference: None,
            deterministic: attempts.iter().all(|attempt| attempt.deterministic),
            attempts,
        })
    }

    fn graded(&self, ready: &Ready, found: &Found, judged: &Judged) -> Outcome {
        let mut evidence = evidence::of_statement(found)
            .value("databases", ready.stages.len())
            .text("base", &ready.stages[0].database.name());
        if judged.verdict != Verdict::CORRECT {
            evidence = self.with_reason(evidence, ready, judged);
        }
        let (mut verdict, mut score) = (judged.verdict, Score::ZERO);
        if verdict == Verdict::CORRECT {
            score = Score::ONE;
        } else if let Some(weights) = self.task.partial {
            let parts = Parts::of(&found.text, &judged.end, &self.task.golds, &ready.tables, self.task.dialect);
            score = Score::new(parts.score(weights)).unwrap_or(Score::ZERO);
            let Parts { syntax, executes, schema, tokens } = parts;
            evidence = evidence
                .value("parts", json!({"syntax": syntax, "executes": executes, "schema": schema, "tokens": tokens}));
            if score > Score::ZERO {
                evidence = evidence.text("reason", verdict.as_str());
                verdict = Verdict::PARTIAL;
            }
        }
        let steps: u64 = judged.attempts.iter().fold(0, |sum, attempt| sum.saturating_add(attempt.ran.steps));
        let mut grade = Grade::new(verdict, score).with_evidence(evidence).with_work(steps);
        grade.deterministic = judged.deterministic;
        grade.measures = self.measures(ready, judged, verdict);
        Outcome::Graded(grade)
    }

    fn with_reason(&self, evidence: Evidence, ready: &Ready, judged: &Judged) -> Evidence {
        let mut evidence = evidence.value("database", judged.database);
        if judged.end != End::Rows {
            evidence = evidence.text("message", &how(&judged.end));
        }
        let attempt = judged.attempts.get(judged.database);
        if let (Some((difference, gold)), Some(attempt)) = (&judged.difference, attempt) {
            let sheet = &ready.stages[judged.database].golds[*gold].sheet;
            let told = evidence::of_difference(difference, sheet, &attempt.ran.rows);
            evidence = evidence.value("difference", told).value("gold", self.task.golds[*gold].as_str());
        }
        evidence
    }

    fn measures(&self, ready: &Ready, judged: &Judged, verdict: Verdict) -> BTreeMap<&'static str, Measure> {
        let Some(base) = judged.attempts.first().map(|attempt| &attempt.ran) else { return BTreeMap::new() };
        let gold = ready.stages[0].golds.iter().map(|gold| gold.steps).min().unwrap_or_default();
        // Servers count no steps.
        let counts = self.task.dialect == Dialect::Sqlite;
        let ratio = (base.end == End::Rows && counts).then(|| efficiency::ratio(gold, base.steps));
        let is_correct = verdict == Verdict::CORRECT;
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
        let numbers = [
            ("steps", counts.then_some(base.steps as f64)),
            ("rows", (base.end == End::Rows).then_some(base.rows.len() as f64)),
            ("efficiency", ratio.filter(|_| is_correct)),
            ("r_ves", ratio.map(|ratio| if is_correct { efficiency::bucket(ratio) } else { 0.0 })),
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
fn at_fault(fault: Fault) -> Outcome {
    if fault.code == ErrorCode::TaskAtFault { Outcome::Ungradable(fault) } else { Outcome::Failed(fault) }
}
