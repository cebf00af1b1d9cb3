//! The result of a gold on a database: its rows, which of them tie, and whether they are
//! nondeterministic.

use std::sync::Arc;

use assay_core::Fault;
use assay_worker::compute;
use assay_worker::query::{End, Limits, Ran, Rows, Value};

use crate::compare::{Rule, Sheet, compare};
use crate::evidence::how;
use crate::queries::{Attempt, Database, FOR_GOLDS, LargeResults, Queries, Terms};
use crate::statement::{self, Ordering};
use crate::task::{Columns, Order, SqlTask};

/// Minimum of the step limit of a gold, worth some seconds.
const GOLD_STEPS: u64 = 200_000_000;

/// The result of a gold on one database.
pub(crate) struct Gold {
    pub(crate) sheet: Sheet,
    pub(crate) steps: u64,
    /// Whether its limit omits rows that tie with rows it returns, by keys that are not in the
    /// result.
    pub(crate) cuts_a_tie: bool,
}

impl Gold {
    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let ties = self
            .sheet
            .ties
            .as_ref()
            .map_or(0, |ties| size_of_val(ties.as_slice()));
        size_of::<Self>() + self.sheet.rows.bytes() + ties
    }
}

/// Why a gold cannot be used on a database.
pub(crate) enum Unfit {
    Fault(Fault),
    Fails(String),
    Unsteady,
}

impl From<Fault> for Unfit {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Runs the golds of a task.
pub(crate) struct GoldRuns<'a> {
    pub(crate) task: &'a SqlTask,
    pub(crate) queries: &'a Queries,
    pub(crate) limits: Limits,
    pub(crate) large: &'a mut LargeResults,
}

impl GoldRuns<'_> {
    /// Whether a gold makes values longer than predictions may make by default.
    pub(crate) async fn makes_long_values(&mut self, database: &Database) -> Result<bool, Fault> {
        let golds: Vec<&str> = self.task.golds.iter().map(String::as_str).collect();
        let on = [(database, self.steps())];
        let mut found = false;
        let mut each = |_: usize, attempt: Attempt| {
            found |= attempt.ran.end == End::TooLong;
            true
        };
        self.queries
            .run(&golds, self.terms(false), &on, self.large, &mut each)
            .await?;
        Ok(found)
    }

    /// Runs a gold forwards and backwards, and finds which of its rows tie.
    pub(crate) async fn gold(&mut self, database: &Database, sql: &str) -> Result<Gold, Unfit> {
        let task = self.task;
        if statement::is_random(sql, task.dialect) {
            return Err(Unfit::Unsteady);
        }
        let forwards = complete(self.run(database, sql, false).await?)?;
        let steps = forwards.steps;
        if let Some(work) = task.work.filter(|work| *work < steps) {
            return Err(Unfit::Fails(format!(
                "it takes {steps} steps, and `limits.work` allows {work}"
            )));
        }
        let (mut sheet, cuts_a_tie) = self.with_ties(database, sql, forwards).await?;
        if task.order == Order::Strict {
            if has_telling_tie(&sheet) {
                return Err(Unfit::Unsteady);
            }
            sheet.ties = Some(each_its_own(&sheet.rows));
        }
        let rule = Rule {
            columns: Columns::Strict,
            tolerance: task.tolerance,
        };
        let backwards = complete(self.run(database, sql, true).await?)?;
        let is_same = |rows: &Rows| compute(rows.bytes(), || compare(&sheet, rows, rule)).is_ok();
        if !is_same(&backwards.rows) {
            return Err(Unfit::Unsteady);
        }
        drop(backwards);
        for shuffled in statement::shuffled(sql, task.dialect).into_iter().flatten() {
            let ran = self.run(database, &shuffled, false).await?.ran;
            // If ties cannot be shuffled, as in a UNION, the statement is accepted as it is.
            if ran.end == End::Rows && !is_same(&ran.rows) {
                return Err(Unfit::Unsteady);
            }
        }
        Ok(Gold {
            sheet,
            steps,
            cuts_a_tie,
        })
    }

    /// The rows of a gold with their ties, and whether its limit cuts through one.
    async fn with_ties(
        &mut self,
        database: &Database,
        sql: &str,
        plain: Ran,
    ) -> Result<(Sheet, bool), Fault> {
        let ordering = match self.task.order {
            Order::Auto | Order::Strict => statement::ordering(sql, self.task.dialect),
            Order::Ignore => None,
        };
        let Some(ordering) = ordering else {
            return Ok((
                Sheet {
                    rows: plain.rows,
                    ties: None,
                },
                false,
            ));
        };
        for (at, ranked) in ordering.ranked.iter().enumerate() {
            let ran = self.run(database, ranked, false).await?.ran;
            let ranked = compute(plain.rows.bytes(), || by_rank(&plain, &ran));
            let Some(sheet) = ranked else { continue };
            // If the keys are in the result, it shows which rows tie.
            let hidden = ordering.key_columns(&plain.columns).is_none();
            let whole = ordering.unlimited.get(at).filter(|_| hidden);
            let cuts_a_tie = match whole {
                Some(whole) => cuts(&ran, &self.run(database, whole, false).await?.ran),
                None => false,
            };
            return Ok((sheet, cuts_a_tie));
        }
        Ok((by_columns(plain, &ordering), false))
    }

    async fn run(
        &mut self,
        database: &Database,
        sql: &str,
        reverse: bool,
    ) -> Result<Attempt, Fault> {
        let on = (database, self.steps());
        self.queries
            .run_one(sql, self.terms(reverse), on, self.large)
            .await
    }

    fn terms(&self, reverse: bool) -> Terms {
        Terms {
            limits: self.limits,
            reverse,
            longest: FOR_GOLDS,
        }
    }

    fn steps(&self) -> u64 {
        GOLD_STEPS.max(self.task.work.unwrap_or_default())
    }
}

/// The run of a gold if it ended with all its rows.
fn complete(attempt: Attempt) -> Result<Ran, Unfit> {
    let ran = Arc::unwrap_or_clone(attempt.ran);
    match &ran.end {
        End::Rows => Ok(ran),
        end => Err(Unfit::Fails(how(end))),
    }
}

/// The rows with their ties, from a run with a rank after the columns; `None` if it does not match
/// the run without the rank.
fn by_rank(plain: &Ran, ranked: &Ran) -> Option<Sheet> {
    let width = plain.rows.width();
    if ranked.end != End::Rows
        || ranked.rows.width() != width + 1
        || ranked.rows.len() != plain.rows.len()
    {
        return None;
    }
    let mut rows = Rows::new(width);
    let mut ranks = Vec::with_capacity(plain.rows.len());
    for row in ranked.rows.rows() {
        let Some(Value::Integer(rank)) = row.last() else {
            return None;
        };
        ranks.push(*rank);
        rows.push(row.iter().take(width).copied());
    }
    let exact = Rule {
        columns: Columns::Strict,
        tolerance: 0.0,
    };
    let same = compare(
        &Sheet {
            rows: rows.clone(),
            ties: None,
        },
        &plain.rows,
        exact,
    )
    .is_ok();
    (same && ranks.is_sorted()).then(|| Sheet {
        rows,
        ties: Some(numbered(ranks.into_iter())),
    })
}

/// Whether a limit cuts through a tie: the first or last rank has more rows without the limit.
fn cuts(limited: &Ran, whole: &Ran) -> bool {
    let ranks = |ran: &Ran| -> Vec<String> {
        ran.rows
            .rows()
            .filter_map(|row| row.last().map(ToString::to_string))
            .collect()
    };
    let (limited, whole) = (ranks(limited), ranks(whole));
    let count =
        |ranks: &[String], rank: &String| ranks.iter().filter(|other| *other == rank).count();
    let ends = [limited.first(), limited.last()];
    ends.into_iter()
        .flatten()
        .any(|rank| count(&limited, rank) < count(&whole, rank))
}

/// The rows with their ties, from the columns that are keys of the order. Without such columns no
/// two rows tie.
fn by_columns(plain: Ran, ordering: &Ordering) -> Sheet {
    let ties = match ordering.key_columns(&plain.columns) {
        Some(keys) => {
            let key =
                |row: Vec<Value<'_>>| keys.iter().map(|key| as_key(row[*key])).collect::<Vec<_>>();
            numbered(plain.rows.rows().map(key))
        }
        None => each_its_own(&plain.rows),
    };
    Sheet {
        rows: plain.rows,
        ties: Some(ties),
    }
}

/// A cell as a key of an order: a number by its value.
fn as_key(value: Value<'_>) -> String {
    #[expect(
        clippy::cast_precision_loss,
        reason = "integers that far up do not meet reals in one column"
    )]
    match value {
        Value::Integer(integer) if integer.unsigned_abs() < 1 << 53 => {
            Value::Real(integer as f64).to_string()
        }
        other => other.to_string(),
    }
}

/// Whether rows that tie differ, so that their order is visible.
fn has_telling_tie(sheet: &Sheet) -> bool {
    let Some(ties) = &sheet.ties else {
        return false;
    };
    let pairs = sheet.rows.rows().zip(sheet.rows.rows().skip(1));
    pairs
        .zip(ties.windows(2))
        .any(|((row, next), ties)| ties[0] == ties[1] && row != next)
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
