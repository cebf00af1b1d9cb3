//! The work that all completions of a task share: builds databases, runs golds on them, and rejects
//! golds that cannot distinguish answers.

use std::time::Duration;

use assay_core::{ErrorCode, Fault};
use assay_worker::compute;
use assay_worker::query::{Limits, Table};

use crate::gold::{Chance, Gold, GoldError, GoldRuns};
use crate::memory::MemoryTally;
use crate::partial::Names;
use crate::queries::{
    BuildError, Database, LargeResults, PREDICTION_TIMEOUT, QUICK_PREDICTION_TIMEOUT, Queries,
};
use crate::statement::MAX_STATEMENT_BYTES;
use crate::task::{SqlTask, Variants};
use crate::variants::{self, Constants, GenerationOptions};

/// Default step limit of a prediction: the larger of `MIN_STEPS` and `limits.times_reference` times
/// the steps of the slowest gold, at most `MAX_STEPS`. `MIN_STEPS` takes about 0.3 s, which allows
/// for a correlated subquery over a few thousand rows where the gold groups them.
const MIN_STEPS: u64 = 20_000_000;
const MAX_STEPS: u64 = 1_000_000_000;

/// The same for statements with values of more than 1,000 bytes or JSON, whose steps take up to a
/// hundred times as long.
const MIN_LONG_VALUE_STEPS: u64 = 2_000_000;

/// Step limit up to which a prediction gets little processor time, unless a gold is slow. The steps
/// take about 1.5 s.
const MAX_QUICK_STEPS: u64 = 100_000_000;

/// Bytes that [`compute`] counts for generating the rows of one table. Generating a few dozen
/// tables is slow enough for it to move other tasks to another thread.
const BYTES_PER_TABLE: usize = 1 << 10;

/// Maximum number of attempts for each generated database.
const ATTEMPTS: usize = 4;

/// Number of generated databases on which a gold is run to find whether its result depends on the
/// order of scans in general, and on how many it must do so.
const PROBES: usize = 4;
const MIN_DEPENDENT_PROBES: usize = 3;

/// Everything that the completions of a task share.
pub(crate) struct Ready {
    /// The databases, the base first.
    pub(crate) stages: Vec<Stage>,
    /// Limits of a statement. They allow long values if a gold produces them.
    pub(crate) limits: Limits,
    /// The names of tables and columns of the base; empty unless parts of wrong answers are scored.
    pub(crate) names: Names,
}

impl Ready {
    /// Size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.stages.len() * size_of::<Stage>()
            + self.result_bytes()
            + self.database_bytes()
            + self.names.bytes()
    }

    /// Size of the results of golds, in bytes.
    pub(crate) fn result_bytes(&self) -> usize {
        let golds = self.stages.iter().flat_map(|stage| &stage.golds);
        golds.map(Gold::bytes).sum()
    }

    /// Size of the databases, in bytes.
    pub(crate) fn database_bytes(&self) -> usize {
        self.stages.iter().map(|stage| stage.database.bytes()).sum()
    }
}

/// One database with the results of the golds.
pub(crate) struct Stage {
    pub(crate) database: Database,
    /// Step limit of a prediction.
    pub(crate) steps: u64,
    /// Most processor time of a request that runs predictions.
    pub(crate) timeout: Duration,
    /// In the order of the task.
    pub(crate) golds: Vec<Gold>,
}

/// Prepares a task. Generated databases depend on `seed`.
pub(crate) async fn prepare(
    task: &SqlTask,
    seed: u64,
    queries: &Queries,
    large: &mut LargeResults,
) -> Result<Ready, Fault> {
    let memory = MemoryTally::new(queries.result_bytes());
    let runs = GoldRuns {
        task,
        queries,
        limits: task.limits,
        large,
        is_slow: false,
    };
    Preparation { runs, memory }.prepare(seed).await
}

struct Preparation<'a> {
    runs: GoldRuns<'a>,
    memory: MemoryTally,
}

impl Preparation<'_> {
    async fn prepare(mut self, seed: u64) -> Result<Ready, Fault> {
        let (task, queries) = (self.runs.task, self.runs.queries);
        // Golds are tokenised in this process before a worker could reject them.
        if let Some(index) = task
            .golds
            .iter()
            .position(|gold| gold.len() > MAX_STATEMENT_BYTES)
        {
            return Err(at_fault(format!(
                "{} is longer than {MAX_STATEMENT_BYTES} bytes",
                gold_name(task, index)
            )));
        }
        let base = queries.build(task.dialect, &task.base).await;
        let base = base.map_err(|error| build_fault(error, "cannot build the database"))?;
        self.memory.add_database(&base)?;
        self.runs.limits.long_values = self.runs.makes_long_values(&base).await?;
        let mut stages = vec![self.stage(base.clone(), "the database").await?];
        let has_generated_variants = matches!(task.variants, Variants::Generated(1..));
        let tables = if has_generated_variants || task.partial.is_some() {
            let described = queries.describe(&base).await;
            described.map_err(|error| build_fault(error, "cannot describe the database"))?
        } else {
            Vec::new()
        };
        match &task.variants {
            Variants::Given(sources) => {
                for (index, source) in sources.iter().enumerate() {
                    let name = format!("variant {index}");
                    let database = queries.build(task.dialect, source).await;
                    let database = database
                        .map_err(|error| build_fault(error, &format!("cannot build {name}")))?;
                    self.memory.add_database(&database)?;
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
        let long_value_steps = task
            .work
            .unwrap_or_else(|| steps(task, MIN_LONG_VALUE_STEPS, stages.iter().flat_map(golds_of)));
        Ok(Ready {
            stages,
            limits: Limits {
                long_value_steps,
                ..self.runs.limits
            },
            names,
        })
    }

    /// Counts the result of a gold, and waits until the results of the task may be in memory.
    async fn add_gold(&mut self, gold: &Gold) -> Result<(), Fault> {
        self.memory.add_gold(gold)?;
        let (results, databases) = self.memory.bytes();
        self.runs.large.hold(results, databases).await;
        Ok(())
    }

    /// Rejects golds that return no row on any database.
    fn reject_empty(&self, stages: &[Stage]) -> Result<(), Fault> {
        let task = self.runs.task;
        for (index, gold) in task.golds.iter().enumerate() {
            if stages
                .iter()
                .all(|stage| stage.golds[index].result.rows.is_empty())
            {
                let databases = if stages.len() == 1 {
                    "the database"
                } else {
                    "every database"
                };
                let message = format!(
                    "{} returns no rows on {databases}, so any query without rows would pass; add \
                     rows or a variant: `{}`",
                    gold_name(task, index),
                    shortened(gold)
                );
                return Err(at_fault(message));
            }
        }
        Ok(())
    }

    /// Runs the golds on a database of the task, on which every gold must be usable.
    async fn stage(&mut self, database: Database, name: &str) -> Result<Stage, Fault> {
        let task = self.runs.task;
        let mut golds = Vec::with_capacity(task.golds.len());
        for (index, sql) in task.golds.iter().enumerate() {
            let gold = self.runs.gold(&database, sql).await;
            let gold = gold.map_err(|error| match error {
                GoldError::Fault(fault) => fault,
                GoldError::Fails(end) => {
                    let gold = gold_name(task, index);
                    at_fault(format!("{gold} fails on {name}: {end}"))
                }
                GoldError::Ambiguous(_) => ambiguous(task, index, name),
            })?;
            self.add_gold(&gold).await?;
            golds.push(gold);
        }
        Ok(self.stage_of(database, golds))
    }

    /// Generates databases for the task. Those that cannot be built, and those on which a gold is
    /// nondeterministic or fails are skipped; those on which all golds return rows come first.
    async fn generated(
        &mut self,
        base: &Database,
        tables: &[Table],
        count: usize,
        seed: u64,
    ) -> Result<Vec<Stage>, Fault> {
        let task = self.runs.task;
        let constants = variants::constants_of(task.golds.iter().map(String::as_str), task.dialect);
        let (mut preferred, mut fallback) = (Vec::new(), Vec::new());
        let (mut is_probed, mut is_built, mut unbuilt) = (false, false, None);
        for attempt in 0..count * ATTEMPTS {
            if preferred.len() == count {
                break;
            }
            // Later attempts generate fewer ties.
            let spread = 100 * attempt / (count * ATTEMPTS);
            let options = GenerationOptions {
                spread,
                flat: attempt % 4 == 3,
                loose: attempt % 4 == 1,
                distinct: attempt >= 2 * count,
            };
            let variant_seed = seed.wrapping_add(attempt as u64);
            let database = self
                .variant(base, tables, &constants, variant_seed, options)
                .await?;
            let database = match database {
                Ok(database) => database,
                Err(message) => {
                    unbuilt.get_or_insert(message);
                    continue;
                }
            };
            is_built = true;
            // The database is counted only if it is used.
            let before = self.memory;
            self.memory.add_database(&database)?;
            let golds = match self.golds(&database).await? {
                Ok(golds) => golds,
                Err(unusable) => {
                    self.memory = before;
                    if let Unusable::DependsOnScans(index) = unusable
                        && !std::mem::replace(&mut is_probed, true)
                    {
                        self.reject_dependent(index, base, tables, &constants, seed)
                            .await?;
                    }
                    continue;
                }
            };
            if golds.iter().all(|gold| !gold.result.rows.is_empty()) {
                preferred.push(self.stage_of(database, golds));
            } else if preferred.len() + fallback.len() < count {
                fallback.push(self.stage_of(database, golds));
            } else {
                self.memory = before;
            }
        }
        if let Some(message) = unbuilt.filter(|_| !is_built) {
            return Err(at_fault(format!(
                "cannot build a generated variant: {message}; list the variants instead"
            )));
        }
        let missing = count - preferred.len();
        preferred.extend(fallback.into_iter().take(missing));
        Ok(preferred)
    }

    /// Generates a database, or says why its rows do not fit its schema: the generator does not
    /// know all constraints.
    async fn variant(
        &mut self,
        base: &Database,
        tables: &[Table],
        constants: &Constants,
        seed: u64,
        options: GenerationOptions,
    ) -> Result<Result<Database, String>, Fault> {
        // Slow for schemas of hundreds of tables.
        let rows = compute(tables.len() * BYTES_PER_TABLE, || {
            variants::generate(tables, constants, seed, options)
        });
        let database = self.runs.queries.with_rows(base, rows).await;
        match database {
            Ok(database) => Ok(Ok(database)),
            Err(BuildError::Task(message)) => Ok(Err(message)),
            Err(BuildError::Service(fault)) => Err(fault),
        }
    }

    /// Rejects a gold whose result depends on the order of scans on most databases that resemble
    /// the base. On the base it may be unambiguous only by coincidence, for example because a
    /// subquery returns a single row there.
    async fn reject_dependent(
        &mut self,
        index: usize,
        base: &Database,
        tables: &[Table],
        constants: &Constants,
        seed: u64,
    ) -> Result<(), Fault> {
        let task = self.runs.task;
        let mut dependent = 0;
        for probe in 0..PROBES {
            let options = GenerationOptions {
                spread: 100 * probe / PROBES,
                distinct: true,
                ..GenerationOptions::default()
            };
            // The seeds of variants are larger.
            let probe_seed = seed.wrapping_sub(1 + probe as u64);
            let database = self
                .variant(base, tables, constants, probe_seed, options)
                .await?;
            let Ok(database) = database else { continue };
            match self.runs.gold(&database, &task.golds[index]).await {
                Err(GoldError::Fault(fault)) => return Err(fault),
                Err(GoldError::Ambiguous(Chance::Scans)) => dependent += 1,
                Ok(_) | Err(_) => {}
            }
        }
        if dependent < MIN_DEPENDENT_PROBES {
            return Ok(());
        }
        Err(ambiguous(task, index, "databases with similar rows"))
    }

    /// The results of the golds on a generated database, or why they cannot be used.
    async fn golds(&mut self, database: &Database) -> Result<Result<Vec<Gold>, Unusable>, Fault> {
        let task = self.runs.task;
        let mut golds = Vec::with_capacity(task.golds.len());
        for (index, sql) in task.golds.iter().enumerate() {
            match self.runs.gold(database, sql).await {
                // The limit omits tied rows, and a prediction that returns them instead is not
                // wrong.
                Ok(gold) if gold.limit_splits_tie => return Ok(Err(Unusable::Other)),
                Ok(gold) => {
                    self.add_gold(&gold).await?;
                    golds.push(gold);
                }
                Err(GoldError::Fault(fault)) => return Err(fault),
                Err(GoldError::Ambiguous(Chance::Scans)) => {
                    return Ok(Err(Unusable::DependsOnScans(index)));
                }
                Err(GoldError::Fails(_) | GoldError::Ambiguous(Chance::Ties)) => {
                    return Ok(Err(Unusable::Other));
                }
            }
        }
        Ok(Ok(golds))
    }

    fn stage_of(&self, database: Database, golds: Vec<Gold>) -> Stage {
        let task = self.runs.task;
        let steps = task
            .work
            .unwrap_or_else(|| steps(task, MIN_STEPS, golds.iter()));
        let timeout = if self.runs.is_slow || steps > MAX_QUICK_STEPS {
            PREDICTION_TIMEOUT
        } else {
            QUICK_PREDICTION_TIMEOUT
        };
        Stage {
            database,
            steps,
            timeout,
            golds,
        }
    }
}

/// Why a generated database cannot be used.
enum Unusable {
    /// The result of this gold depends on the order of scans there.
    DependsOnScans(usize),
    /// A gold fails, or its result depends on ties.
    Other,
}

fn golds_of(stage: &Stage) -> &[Gold] {
    &stage.golds
}

/// The step limit of a prediction that depends on the steps of the golds.
fn steps<'a>(task: &SqlTask, least: u64, golds: impl Iterator<Item = &'a Gold>) -> u64 {
    let longest = golds.map(|gold| gold.steps).max().unwrap_or_default();
    longest
        .saturating_mul(task.times_reference)
        .clamp(least, MAX_STEPS)
}

/// The fault of a gold whose result on a database is not defined.
fn ambiguous(task: &SqlTask, index: usize, name: &str) -> Fault {
    at_fault(format!(
        "{} is ambiguous: it returns different rows on {name} when tables are read in reverse, \
         ties are reordered or random numbers are drawn again; its result is left to chance, for \
         example by a LIMIT that splits a tie, a column that is not in GROUP BY, a subquery with \
         several rows, or `group_concat` without an order; add an ORDER BY without ties, or remove \
         random functions",
        gold_name(task, index)
    ))
}

/// The fault for an error, with its context.
fn build_fault(error: BuildError, context: &str) -> Fault {
    match error {
        BuildError::Task(message) => at_fault(format!("{context}: {message}")),
        BuildError::Service(fault) => fault,
    }
}

fn gold_name(task: &SqlTask, index: usize) -> String {
    if task.golds.len() == 1 {
        "the gold".to_owned()
    } else {
        format!("gold {index}")
    }
}

/// A fault of the task.
fn at_fault(message: String) -> Fault {
    Fault::permanent(ErrorCode::TaskAtFault, message)
}

fn shortened(sql: &str) -> String {
    match sql.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &sql[..end]),
        None => sql.to_owned(),
    }
}
