//! Work done once for all completions of a task: builds databases, runs golds on them, and
//! rejects golds that cannot distinguish answers.

use assay_core::{ErrorCode, Fault};
use assay_worker::compute;
use assay_worker::query::{Limits, Table};

use crate::gold::{Gold, GoldRuns, Unfit};
use crate::partial::Names;
use crate::queries::{Database, LargeResults, Queries, Unbuilt};
use crate::statement::LONGEST;
use crate::tally::Tally;
use crate::task::{SqlTask, Variants};
use crate::variants::{self, Manner};

/// Default step limit of a prediction: this many, or this many times the
/// gold's steps.
const LEAST_STEPS: u64 = 2_000_000;
const TIMES_GOLD: u64 = 50;

/// Most steps that a prediction may take, and that a task may ask for.
const MOST_STEPS: u64 = 1_000_000_000;

/// Bytes of a table above which generating rows is moved off the thread: from a few dozen tables on
/// it takes a while.
const A_TABLE: usize = 1 << 10;

/// Attempts to generate one database.
const TRIES: usize = 4;

/// A task with everything that its completions share.
pub(crate) struct Ready {
    /// The base first.
    pub(crate) stages: Vec<Stage>,
    /// Limits of a statement, which allow long values if a gold produces them.
    pub(crate) limits: Limits,
    /// Names of the base, if parts are scored.
    pub(crate) names: Names,
}

impl Ready {
    /// Its size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.stages.iter().map(Stage::bytes).sum::<usize>() + self.names.bytes()
    }
}

/// One database with the results of the golds.
pub(crate) struct Stage {
    pub(crate) database: Database,
    /// Steps a prediction may take.
    pub(crate) steps: u64,
    /// In the order of the task.
    pub(crate) golds: Vec<Gold>,
}

impl Stage {
    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.database.bytes()
            + self.golds.iter().map(Gold::bytes).sum::<usize>()
    }
}

/// Prepares a task. `seed` decides what is generated.
pub(crate) async fn prepare(
    task: &SqlTask,
    seed: u64,
    queries: &Queries,
    large: &mut LargeResults,
) -> Result<Ready, Fault> {
    let tally = Tally::new(queries.result_bytes());
    let runs = GoldRuns {
        task,
        queries,
        limits: task.limits,
        large,
    };
    Preparation { runs, tally }.prepare(seed).await
}

struct Preparation<'a> {
    runs: GoldRuns<'a>,
    tally: Tally,
}

impl Preparation<'_> {
    async fn prepare(mut self, seed: u64) -> Result<Ready, Fault> {
        let (task, queries) = (self.runs.task, self.runs.queries);
        // Golds are parsed here before a worker could reject them.
        if let Some(index) = task.golds.iter().position(|gold| gold.len() > LONGEST) {
            return Err(at_fault(format!(
                "{} is longer than {LONGEST} bytes",
                gold_name(task, index)
            )));
        }
        let base = queries.build(task.dialect, &task.base).await;
        let base = base.map_err(|unbuilt| build_fault(unbuilt, "the database cannot be made"))?;
        self.tally.add_database(&base)?;
        self.runs.limits.long_values = self.runs.makes_long_values(&base).await?;
        let mut stages = vec![self.stage(base.clone(), "the database").await?];
        let wants_variants = matches!(task.variants, Variants::Generated(1..));
        let tables = if wants_variants || task.partial.is_some() {
            let described = queries.describe(&base).await;
            described.map_err(|unbuilt| build_fault(unbuilt, "cannot describe the database"))?
        } else {
            Vec::new()
        };
        match &task.variants {
            Variants::Given(sources) => {
                for (index, source) in sources.iter().enumerate() {
                    let name = format!("variant {index}");
                    let database = queries.build(task.dialect, source).await;
                    let database = database
                        .map_err(|unbuilt| build_fault(unbuilt, &format!("cannot build {name}")))?;
                    self.tally.add_database(&database)?;
                    stages.push(self.stage(database, &name).await?);
                }
            }
            Variants::Generated(count) => {
                stages.extend(self.generated(&base, &tables, *count, seed).await?);
            }
        }
        self.reject_empty(&stages)?;
        let names = if task.partial.is_some() {
            Names::of(&tables)
        } else {
            Names::default()
        };
        Ok(Ready {
            stages,
            limits: self.runs.limits,
            names,
        })
    }

    /// Rejects golds that return no row on any database.
    fn reject_empty(&self, stages: &[Stage]) -> Result<(), Fault> {
        let task = self.runs.task;
        for (index, gold) in task.golds.iter().enumerate() {
            if stages
                .iter()
                .all(|stage| stage.golds[index].sheet.rows.is_empty())
            {
                let what = if stages.len() == 1 {
                    "the database"
                } else {
                    "every database"
                };
                let message = format!(
                    "{} gives no row on {what}, so that any query without rows would pass; add \
                     rows or a variant: `{}`",
                    gold_name(task, index),
                    shortened(gold)
                );
                return Err(at_fault(message));
            }
        }
        Ok(())
    }

    /// A database of the task, on which every gold must be usable.
    async fn stage(&mut self, database: Database, name: &str) -> Result<Stage, Fault> {
        let task = self.runs.task;
        let mut golds = Vec::with_capacity(task.golds.len());
        for (index, sql) in task.golds.iter().enumerate() {
            let gold = self.runs.gold(&database, sql).await.map_err(|unfit| match unfit {
                Unfit::Fault(fault) => fault,
                Unfit::Fails(how) => at_fault(format!("{} fails on {name}: {how}", gold_name(task, index))),
                Unfit::Unsteady => at_fault(format!(
                    "{} gives other rows on {name} when tables are read in reverse, rows that tie \
                     change places or numbers are drawn again: its result is left to chance, as \
                     by a LIMIT through a tie; order it fully",
                    gold_name(task, index)
                )),
            })?;
            self.tally.add_gold(&gold)?;
            golds.push(gold);
        }
        Ok(staged(task, database, golds))
    }

    /// Generates databases for the task. Those on which a gold is nondeterministic or fails are
    /// skipped; those on which all golds return rows come first.
    async fn generated(
        &mut self,
        base: &Database,
        tables: &[Table],
        count: usize,
        seed: u64,
    ) -> Result<Vec<Stage>, Fault> {
        let (task, queries) = (self.runs.task, self.runs.queries);
        let constants = variants::constants_of(task.golds.iter().map(String::as_str), task.dialect);
        let (mut telling, mut silent) = (Vec::new(), Vec::new());
        for attempt in 0..count * TRIES {
            if telling.len() == count {
                break;
            }
            // Later tries have fewer ties.
            let spread = 100 * attempt / (count * TRIES);
            let manner = Manner {
                spread,
                flat: attempt % 4 == 3,
                loose: attempt % 4 == 1,
            };
            // This is slow for schemas of hundreds of tables.
            let make = || {
                variants::generate(
                    tables,
                    &constants,
                    seed.wrapping_add(attempt as u64),
                    manner,
                )
            };
            let rows = compute(tables.len() * A_TABLE, make);
            let database = queries.with_rows(base, rows).await;
            let database = database
                .map_err(|unbuilt| build_fault(unbuilt, "cannot build a generated variant"))?;
            // Counted only if the database is kept.
            let before = self.tally;
            self.tally.add_database(&database)?;
            let Some(golds) = self.golds(&database).await? else {
                self.tally = before;
                continue;
            };
            if golds.iter().all(|gold| !gold.sheet.rows.is_empty()) {
                telling.push(staged(task, database, golds));
            } else if telling.len() + silent.len() < count {
                silent.push(staged(task, database, golds));
            } else {
                self.tally = before;
            }
        }
        let missing = count - telling.len();
        telling.extend(silent.into_iter().take(missing));
        Ok(telling)
    }

    /// The results of the golds on a generated database; `None` if one cannot be used on it.
    async fn golds(&mut self, database: &Database) -> Result<Option<Vec<Gold>>, Fault> {
        let task = self.runs.task;
        let mut golds = Vec::with_capacity(task.golds.len());
        for sql in &task.golds {
            match self.runs.gold(database, sql).await {
                // Rows that tie at the limit are omitted: a prediction that returns them is not
                // wrong.
                Ok(gold) if gold.cuts_a_tie => return Ok(None),
                Ok(gold) => {
                    self.tally.add_gold(&gold)?;
                    golds.push(gold);
                }
                Err(Unfit::Fault(fault)) => return Err(fault),
                Err(Unfit::Fails(_) | Unfit::Unsteady) => return Ok(None),
            }
        }
        Ok(Some(golds))
    }
}

fn staged(task: &SqlTask, database: Database, golds: Vec<Gold>) -> Stage {
    let longest = golds
        .iter()
        .map(|gold| gold.steps)
        .max()
        .unwrap_or_default();
    let by_gold = || {
        LEAST_STEPS
            .max(longest.saturating_mul(TIMES_GOLD))
            .min(MOST_STEPS)
    };
    Stage {
        database,
        steps: task.work.unwrap_or_else(by_gold),
        golds,
    }
}

/// A fault with its context.
fn build_fault(unbuilt: Unbuilt, what: &str) -> Fault {
    match unbuilt {
        Unbuilt::Task(message) => at_fault(format!("{what}: {message}")),
        Unbuilt::Ours(fault) => fault,
    }
}

fn gold_name(task: &SqlTask, index: usize) -> String {
    if task.golds.len() == 1 {
        "the gold".to_owned()
    } else {
        format!("gold {index}")
    }
}

fn at_fault(message: String) -> Fault {
    Fault::permanent(ErrorCode::TaskAtFault, message)
}

fn shortened(sql: &str) -> String {
    match sql.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &sql[..end]),
        None => sql.to_owned(),
    }
}
