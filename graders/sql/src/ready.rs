//! What is done once for all completions of a task: databases are made, golds run on them, and golds that decide nothing refused.

use assay_cell::query::{End, Limits, Ran, Rows, Table, Value};
use assay_core::{ErrorCode, Fault};

use crate::compare::{Rule, Sheet, compare};
use crate::queries::{Attempt, Database, Queries, Terms, Unbuilt};
use crate::statement::{self, Ordering};
use crate::task::{Columns, Order, SqlTask, Variants};
use crate::variants::{self, Manner};

/// Steps a gold may take at the least: some seconds.
const GOLD_STEPS: u64 = 200_000_000;

/// Steps a prediction may take, where the task says nothing: this many, or this many times the gold's.
const LEAST_STEPS: u64 = 2_000_000;
const TIMES_GOLD: u64 = 50;

/// Bytes of all databases of a task: what a cell keeps open at once, and one request can bring.
const MOST_BYTES: usize = 192 << 20;

/// Databases tried for one that is generated.
const TRIES: usize = 4;

/// A task with everything that its completions share.
pub(crate) struct Ready {
    /// The base first.
    pub(crate) stages: Vec<Stage>,
    /// What a statement may use: long values as well, where a gold makes them.
    pub(crate) limits: Limits,
    /// What the base is made of, where parts are scored.
    pub(crate) tables: Vec<Table>,
}

/// One database with what the golds give there.
pub(crate) struct Stage {
    pub(crate) database: Database,
    /// Steps a prediction may take.
    pub(crate) steps: u64,
    /// In the order of the task.
    pub(crate) golds: Vec<Gold>,
}

/// What a gold gives on one database.
pub(crate) struct Gold {
    pub(crate) sheet: Sheet,
    pub(crate) steps: u64,
    /// Whether its limit leaves out rows that tie with those it shows, by keys it does not show.
    cuts_a_tie: bool,
}

/// Why a gold cannot be used on a database.
enum Unfit {
    Fault(Fault),
    Fails(String),
    Unsteady,
}

impl From<Fault> for Unfit {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Prepares a task. `seed` decides what is generated.
pub(crate) async fn prepare(task: &SqlTask, seed: u64, queries: &Queries) -> Result<Ready, Fault> {
    let base = queries.build(task.dialect, &task.base).await.map_err(|unbuilt| told(unbuilt, "the database"))?;
    let limits = Limits { long_values: needs_long_values(task, queries, &base).await?, ..task.limits };
    let task = &SqlTask { limits, ..task.clone() };
    let mut stages = vec![stage(task, queries, base.clone(), "the database").await?];
    let wants_variants = matches!(task.variants, Variants::Generated(1..));
    let tables = if wants_variants || task.partial.is_some() { queries.describe(&base).await? } else { Vec::new() };
    match &task.variants {
        Variants::Given(sources) => {
            for (index, source) in sources.iter().enumerate() {
                let name = format!("variant {index}");
                let database = queries.build(task.dialect, source).await.map_err(|unbuilt| told(unbuilt, &name))?;
                stages.push(stage(task, queries, database, &name).await?);
            }
        }
        Variants::Generated(count) => stages.extend(generated(task, queries, &base, &tables, *count, seed).await?),
    }
    let bytes: usize = stages.iter().map(|stage| stage.database.bytes()).sum();
    if bytes > MOST_BYTES {
        return Err(at_fault(format!("the databases have {bytes} bytes together; at most {MOST_BYTES} are taken")));
    }
    for (index, gold) in task.golds.iter().enumerate() {
        if stages.iter().all(|stage| stage.golds[index].sheet.rows.is_empty()) {
            let what = if stages.len() == 1 { "the database" } else { "every database" };
            let message = format!(
                "{} gives no row on {what}, so that any query without rows would pass; add rows or a variant: `{}`",
                gold_name(task, index),
                shortened(gold)
            );
            return Err(at_fault(message));
        }
    }
    Ok(Ready { stages, limits, tables })
}

/// Whether a gold makes values that are long even on the base.
async fn needs_long_values(task: &SqlTask, queries: &Queries, base: &Database) -> Result<bool, Fault> {
    let golds: Vec<&str> = task.golds.iter().map(String::as_str).collect();
    let terms = Terms { limits: task.limits, reverse: false };
    let attempts = queries.run(&golds, terms, &[(base, gold_steps(task))]).await?;
    Ok(attempts.iter().flatten().any(|attempt| attempt.ran.end == End::TooLong))
}

fn gold_steps(task: &SqlTask) -> u64 {
    GOLD_STEPS.max(task.work.unwrap_or_default())
}

fn told(unbuilt: Unbuilt, name: &str) -> Fault {
    match unbuilt {
        Unbuilt::Task(message) => at_fault(format!("{name} cannot be made: {message}")),
        Unbuilt::Ours(fault) => fault,
    }
}

/// A database that the task gives: golds must be fit for it.
async fn stage(task: &SqlTask, queries: &Queries, database: Database, name: &str) -> Result<Stage, Fault> {
    let mut golds = Vec::with_capacity(task.golds.len());
    for (index, sql) in task.golds.iter().enumerate() {
        let gold = gold(task, queries, &database, sql).await.map_err(|unfit| match unfit {
            Unfit::Fault(fault) => fault,
            Unfit::Fails(how) => at_fault(format!("{} fails on {name}: {how}", gold_name(task, index))),
            Unfit::Unsteady => at_fault(format!(
                "{} gives other rows on {name} when tables are read in reverse, rows that tie change places or numbers are drawn \
                 again: its result is left to chance, as by a LIMIT through a tie; order it fully",
                gold_name(task, index)
            )),
        })?;
        golds.push(gold);
    }
    Ok(staged(task, database, golds))
}

fn staged(task: &SqlTask, database: Database, golds: Vec<Gold>) -> Stage {
    let longest = golds.iter().map(|gold| gold.steps).max().unwrap_or_default();
    let steps = task.work.unwrap_or_else(|| LEAST_STEPS.max(longest.saturating_mul(TIMES_GOLD)));
    Stage { database, steps, golds }
}

/// Databases made up for the task. Those on which a gold is left to chance, or fails, decide nothing and are passed over; those on
/// which all golds give rows come first.
async fn generated(
    task: &SqlTask,
    queries: &Queries,
    base: &Database,
    tables: &[Table],
    count: usize,
    seed: u64,
) -> Result<Vec<Stage>, Fault> {
    let constants = variants::mine(task.golds.iter().map(String::as_str), task.dialect);
    let (mut telling, mut silent) = (Vec::new(), Vec::new());
    for attempt in 0..count * TRIES {
        if telling.len() == count {
            break;
        }
        // Later tries have fewer ties.
        let spread = 100 * attempt / (count * TRIES);
        let manner = Manner { spread, flat: attempt % 4 == 3, loose: attempt % 4 == 1 };
        let rows = variants::generate(tables, &constants, seed.wrapping_add(attempt as u64), manner);
        let database = match queries.with_rows(base, rows).await {
            Ok(database) => database,
            Err(unbuilt) => return Err(told(unbuilt, "a generated variant")),
        };
        let mut golds = Vec::with_capacity(task.golds.len());
        for sql in &task.golds {
            match gold(task, queries, &database, sql).await {
                // Equal rows that tie at the limit: whoever shows all of them is not wrong.
                Ok(gold) if gold.cuts_a_tie => break,
                Ok(gold) => golds.push(gold),
                Err(Unfit::Fault(fault)) => return Err(fault),
                Err(Unfit::Fails(_) | Unfit::Unsteady) => break,
            }
        }
        if golds.len() < task.golds.len() {
            continue;
        }
        let tells = golds.iter().all(|gold| !gold.sheet.rows.is_empty());
        let to = if tells { &mut telling } else { &mut silent };
        to.push(staged(task, database, golds));
    }
    let missing = count - telling.len();
    telling.extend(silent.into_iter().take(missing));
    Ok(telling)
}

/// Runs a gold forwards and backwards, and finds which of its rows tie.
async fn gold(task: &SqlTask, queries: &Queries, database: &Database, sql: &str) -> Result<Gold, Unfit> {
    let steps = gold_steps(task);
    if statement::is_random(sql, task.dialect) {
        return Err(Unfit::Unsteady);
    }
    let run = |sql: String, reverse: bool| async move {
        let terms = Terms { limits: task.limits, reverse };
        let attempts = queries.run(&[sql.as_str()], terms, &[(database, steps)]).await?;
        attempts
            .into_iter()
            .flatten()
            .next()
            .ok_or_else(|| Fault::passing(ErrorCode::SandboxFailed, "a cell gave no answer"))
    };
    let forwards = complete(&run(sql.to_owned(), false).await?)?;
    if let Some(work) = task.work.filter(|work| *work < forwards.steps) {
        return Err(Unfit::Fails(format!("it takes {} steps, and `limits.work` allows {work}", forwards.steps)));
    }
    let backwards = complete(&run(sql.to_owned(), true).await?)?;
    let ordering = match task.order {
        Order::Auto | Order::Strict => statement::ordering(sql, task.dialect),
        Order::Ignore => None,
    };
    let mut sheet = Sheet { rows: forwards.rows.clone(), ties: None };
    let mut cuts_a_tie = false;
    if let Some(ordering) = ordering {
        let mut ranked = None;
        for (at, statement) in ordering.ranked.iter().enumerate() {
            let ran = run(statement.clone(), false).await?.ran;
            ranked = by_rank(&forwards, &ran);
            if ranked.is_some() {
                // Where the keys are shown, rows that tie in them are told by them.
                let hidden = ordering.key_columns(&forwards.columns).is_none();
                if let Some(whole) = ordering.unlimited.get(at).filter(|_| hidden) {
                    cuts_a_tie = cuts(&ran, &run(whole.clone(), false).await?.ran);
                }
                break;
            }
        }
        sheet = ranked.unwrap_or_else(|| by_columns(&forwards, &ordering));
    }
    if task.order == Order::Strict {
        if has_telling_tie(&sheet) {
            return Err(Unfit::Unsteady);
        }
        sheet.ties = Some(each_its_own(&sheet.rows));
    }
    let rule = Rule { columns: Columns::Strict, tolerance: task.tolerance };
    if compare(&sheet, &backwards.rows, rule).is_err() {
        return Err(Unfit::Unsteady);
    }
    for shuffled in statement::shuffled(sql, task.dialect).into_iter().flatten() {
        let ran = run(shuffled, false).await?.ran;
        // Where ties cannot be shuffled, as in a UNION, the statement is believed.
        if ran.end == End::Rows && compare(&sheet, &ran.rows, rule).is_err() {
            return Err(Unfit::Unsteady);
        }
    }
    Ok(Gold { sheet, steps: forwards.steps, cuts_a_tie })
}

/// The run of a gold, when it ended with all its rows.
fn complete(attempt: &Attempt) -> Result<Ran, Unfit> {
    match &attempt.ran.end {
        End::Rows => Ok(attempt.ran.as_ref().clone()),
        end => Err(Unfit::Fails(how(end))),
    }
}

/// How a statement ended, in words.
pub(crate) fn how(end: &End) -> String {
    match end {
        End::Rows => "it gives rows".to_owned(),
        End::Nothing => "there is no statement".to_owned(),
        End::Several => "there is more than one statement".to_owned(),
        End::NotAQuery => "it is no query".to_owned(),
        End::Denied(what) => format!("{what} is not allowed"),
        End::Syntax(message) | End::Error(message) => message.clone(),
        End::OutOfSteps => "it takes too many steps".to_owned(),
        End::OutOfMemory => "it takes too much memory".to_owned(),
        End::TooManyRows => "it gives more rows or bytes than `limits` allow".to_owned(),
        End::TooLong => "it makes a value that is too long".to_owned(),
    }
}

/// The rows with their ties, from a run with a rank behind the columns; `None` when it does not fit the run without.
fn by_rank(plain: &Ran, ranked: &Ran) -> Option<Sheet> {
    let width = plain.rows.width();
    if ranked.end != End::Rows || ranked.rows.width() != width + 1 || ranked.rows.len() != plain.rows.len() {
        return None;
    }
    let mut rows = Rows::new(width);
    let mut ranks = Vec::with_capacity(plain.rows.len());
    for row in ranked.rows.rows() {
        let Some(Value::Integer(rank)) = row.last() else { return None };
        ranks.push(*rank);
        rows.push(row.iter().take(width).copied());
    }
    let exact = Rule { columns: Columns::Strict, tolerance: 0.0 };
    let same = compare(&Sheet { rows: rows.clone(), ties: None }, &plain.rows, exact).is_ok();
    (same && ranks.is_sorted()).then(|| Sheet { rows, ties: Some(numbered(ranks.iter())) })
}

/// Whether a limit cuts through a tie: the first or last rank has more rows without it.
fn cuts(limited: &Ran, whole: &Ran) -> bool {
    let ranks =
        |ran: &Ran| -> Vec<String> { ran.rows.rows().filter_map(|row| row.last().map(ToString::to_string)).collect() };
    let (limited, whole) = (ranks(limited), ranks(whole));
    let count = |ranks: &[String], rank: &String| ranks.iter().filter(|other| *other == rank).count();
    let ends = [limited.first(), limited.last()];
    ends.into_iter().flatten().any(|rank| count(&limited, rank) < count(&whole, rank))
}

/// The rows with their ties, from the columns that are the keys of the order; without such, no two rows tie.
fn by_columns(plain: &Ran, ordering: &Ordering) -> Sheet {
    let ties = match ordering.key_columns(&plain.columns) {
        Some(keys) => {
            let key = |row: Vec<Value<'_>>| keys.iter().map(|key| as_key(row[*key])).collect::<Vec<_>>();
            let keys: Vec<_> = plain.rows.rows().map(key).collect();
            numbered(keys.iter())
        }
        None => each_its_own(&plain.rows),
    };
    Sheet { rows: plain.rows.clone(), ties: Some(ties) }
}

/// A cell as a key of an order: a number by its value.
fn as_key(value: Value<'_>) -> String {
    #[expect(clippy::cast_precision_loss, reason = "integers that far up do not meet reals in one column")]
    match value {
        Value::Integer(integer) if integer.unsigned_abs() < 1 << 53 => Value::Real(integer as f64).to_string(),
        other => other.to_string(),
    }
}

/// Whether rows that tie are not all alike, so that their order is seen.
fn has_telling_tie(sheet: &Sheet) -> bool {
    let Some(ties) = &sheet.ties else { return false };
    let rows: Vec<_> = sheet.rows.rows().collect();
    rows.windows(2).zip(ties.windows(2)).any(|(rows, ties)| ties[0] == ties[1] && rows[0] != rows[1])
}

fn each_its_own(rows: &Rows) -> Vec<u32> {
    (0..u32::try_from(rows.len()).unwrap_or(u32::MAX)).collect()
}

/// Numbers runs of equal keys from 0.
fn numbered<K: PartialEq>(keys: impl Iterator<Item = K>) -> Vec<u32> {
    let mut last: Option<K> = None;
    let mut number = 0;
    keys.map(|key| {
        if last.as_ref().is_some_and(|last| *last != key) {
            number += 1;
        }
        last = Some(key);
        number
    })
    .collect()
}

fn gold_name(task: &SqlTask, index: usize) -> String {
    if task.golds.len() == 1 { "the gold".to_owned() } else { format!("gold {index}") }
}

fn at_fault(message: String) -> Fault {
    Fault::lasting(ErrorCode::TaskAtFault, message)
}

fn shortened(sql: &str) -> String {
    match sql.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &sql[..end]),
        None => sql.to_owned(),
    }
}
