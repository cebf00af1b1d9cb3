//! Runs a gold on a database: finds its rows and their ties, and rejects nondeterministic results.

use std::sync::Arc;

use assay_core::{Fault, Hash};
use assay_worker::compute;
use assay_worker::query::{End, Limits, Ran, Rows, Value};

use crate::compare::{GoldResult, Rule, compare};
use crate::evidence::describe_end;
use crate::queries::{Attempt, Database, GOLD_TIMEOUT, LargeResults, Queries, RunOptions};
use crate::statement::{self, Ordering};
use crate::task::{Columns, Order, SqlTask};

/// Minimum step limit of a gold, which takes a few seconds.
const MIN_GOLD_STEPS: u64 = 200_000_000;

/// The result of a gold on one database.
pub(crate) struct Gold {
    pub(crate) result: GoldResult,
    pub(crate) steps: u64,
    /// Whether its limit omits rows that tie with returned rows, and the keys of the order are not
    /// in the result.
    pub(crate) limit_splits_tie: bool,
}

impl Gold {
    /// Size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let ties = self
            .result
            .ties
            .as_ref()
            .map_or(0, |ties| size_of_val(ties.as_slice()));
        size_of::<Self>() + self.result.rows.bytes() + ties
    }
}

/// Why a gold cannot be used on a database.
pub(crate) enum GoldError {
    /// The service failed.
    Fault(Fault),
    /// The gold did not return rows: how it ended.
    Fails(String),
    /// The rows depend on the order of scans or ties, or on random numbers.
    Nondeterministic,
}

impl From<Fault> for GoldError {
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
    /// Whether a gold produces values longer than predictions may produce by default.
    pub(crate) async fn makes_long_values(&mut self, database: &Database) -> Result<bool, Fault> {
        let golds: Vec<&str> = self.task.golds.iter().map(String::as_str).collect();
        let on = [(database, self.steps())];
        let mut found = false;
        let mut each = |_: usize, attempt: Attempt| {
            found |= attempt.ran.end == End::TooLong;
            true
        };
        self.queries
            .run(&golds, self.options(false), &on, self.large, &mut each)
            .await?;
        Ok(found)
    }

    /// Runs a gold with forward and reverse scans, and finds its ties.
    pub(crate) async fn gold(&mut self, database: &Database, sql: &str) -> Result<Gold, GoldError> {
        let task = self.task;
        if statement::is_random(sql, task.dialect) {
            return Err(GoldError::Nondeterministic);
        }
        let forwards = complete(self.run(database, sql, false).await?)?;
        let steps = forwards.steps;
        if let Some(work) = task.work.filter(|work| *work < steps) {
            return Err(GoldError::Fails(format!(
                "it takes {steps} steps, but `limits.work` allows only {work}"
            )));
        }
        let (mut result, limit_splits_tie) = self.with_ties(database, sql, forwards).await?;
        if task.order == Order::Strict {
            if has_visible_tie(&result) {
                return Err(GoldError::Nondeterministic);
            }
            result.ties = Some(without_ties(&result.rows));
        }
        let rule = Rule {
            columns: Columns::Strict,
            tolerance: task.tolerance,
        };
        let backwards = complete(self.run(database, sql, true).await?)?;
        let is_same = |rows: &Rows| compute(rows.bytes(), || compare(&result, rows, rule)).is_ok();
        if !is_same(&backwards.rows) {
            return Err(GoldError::Nondeterministic);
        }
        drop(backwards);
        for shuffled in statement::shuffled(sql, task.dialect).into_iter().flatten() {
            let ran = self.run(database, &shuffled, false).await?.ran;
            // A statement whose ties cannot be shuffled, such as a UNION, is accepted without this
            // check.
            if ran.end == End::Rows && !is_same(&ran.rows) {
                return Err(GoldError::Nondeterministic);
            }
        }
        Ok(Gold {
            result,
            steps,
            limit_splits_tie,
        })
    }

    /// The rows of a gold with their ties, and whether its limit splits a tie.
    async fn with_ties(
        &mut self,
        database: &Database,
        sql: &str,
        plain: Ran,
    ) -> Result<(GoldResult, bool), Fault> {
        let ordering = match self.task.order {
            Order::Auto | Order::Strict => statement::ordering(sql, self.task.dialect),
            Order::Ignore => None,
        };
        let Some(ordering) = ordering else {
            return Ok((
                GoldResult {
                    rows: plain.rows,
                    ties: None,
                },
                false,
            ));
        };
        for (at, ranked) in ordering.ranked.iter().enumerate() {
            let ran = self.run(database, ranked, false).await?.ran;
            let ranked = compute(plain.rows.bytes(), || by_rank(&plain, &ran));
            let Some(result) = ranked else { continue };
            // If the keys are in the result, they show which rows tie.
            let hidden = ordering.key_columns(&plain.columns).is_none();
            let unlimited = ordering.unlimited.get(at).filter(|_| hidden);
            let limit_splits_tie = match unlimited {
                Some(unlimited) => {
                    splits_tie(&ran, &self.run(database, unlimited, false).await?.ran)
                }
                None => false,
            };
            return Ok((result, limit_splits_tie));
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
            .run_one(sql, self.options(reverse), on, self.large)
            .await
    }

    fn options(&self, reverse: bool) -> RunOptions {
        RunOptions {
            limits: self.limits,
            reverse,
            timeout: GOLD_TIMEOUT,
            cache: Some(Hash::of_parts(&[b"gold"])),
        }
    }

    fn steps(&self) -> u64 {
        MIN_GOLD_STEPS.max(self.task.work.unwrap_or_default())
    }
}

/// The run of a gold, if it returned all its rows.
fn complete(attempt: Attempt) -> Result<Ran, GoldError> {
    let ran = Arc::unwrap_or_clone(attempt.ran);
    match &ran.end {
        End::Rows => Ok(ran),
        end => Err(GoldError::Fails(describe_end(end))),
    }
}

/// Finds ties by a run with a rank as its last column; `None` if its rows do not match the run
/// without the rank.
fn by_rank(plain: &Ran, ranked: &Ran) -> Option<GoldResult> {
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
        &GoldResult {
            rows: rows.clone(),
            ties: None,
        },
        &plain.rows,
        exact,
    )
    .is_ok();
    (same && ranks.is_sorted()).then(|| GoldResult {
        rows,
        ties: Some(numbered(ranks.into_iter())),
    })
}

/// Whether a limit splits a tie: the first or last rank has more rows without the limit.
fn splits_tie(limited: &Ran, unlimited: &Ran) -> bool {
    let ranks = |ran: &Ran| -> Vec<String> {
        ran.rows
            .rows()
            .filter_map(|row| row.last().map(ToString::to_string))
            .collect()
    };
    let (limited, unlimited) = (ranks(limited), ranks(unlimited));
    let count =
        |ranks: &[String], rank: &String| ranks.iter().filter(|other| *other == rank).count();
    let ends = [limited.first(), limited.last()];
    ends.into_iter()
        .flatten()
        .any(|rank| count(&limited, rank) < count(&unlimited, rank))
}

/// Finds ties by the columns that are keys of the order. If a key is not a column, no two rows tie.
fn by_columns(plain: Ran, ordering: &Ordering) -> GoldResult {
    let ties = match ordering.key_columns(&plain.columns) {
        Some(keys) => {
            let key =
                |row: Vec<Value<'_>>| keys.iter().map(|key| as_key(row[*key])).collect::<Vec<_>>();
            numbered(plain.rows.rows().map(key))
        }
        None => without_ties(&plain.rows),
    };
    GoldResult {
        rows: plain.rows,
        ties: Some(ties),
    }
}

/// A cell as a key of an order. Numbers are compared by value.
fn as_key(value: Value<'_>) -> String {
    // Exact below 2^53; larger integers are assumed not to share a column with reals.
    match value {
        Value::Integer(integer) if integer.unsigned_abs() < 1 << 53 => {
            Value::Real(integer as f64).to_string()
        }
        other => other.to_string(),
    }
}

/// Whether tied rows differ, so that their order is visible.
fn has_visible_tie(result: &GoldResult) -> bool {
    let Some(ties) = &result.ties else {
        return false;
    };
    let pairs = result.rows.rows().zip(result.rows.rows().skip(1));
    pairs
        .zip(ties.windows(2))
        .any(|((row, next), ties)| ties[0] == ties[1] && row != next)
}

/// Numbers the rows so that no two tie.
fn without_ties(rows: &Rows) -> Vec<u32> {
    (0..u32::try_from(rows.len()).unwrap_or(u32::MAX)).collect()
}

/// Numbers runs of equal keys, from 0.
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
