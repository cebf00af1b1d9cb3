//! Runs a gold on a database: finds its rows and their ties, and rejects nondeterministic results.

use std::sync::Arc;
use std::time::Duration;

use assay_core::{Fault, Hash};
use assay_worker::compute;
use assay_worker::query::{End, Limits, Ran, ReadOrder, Rows, Value};

use crate::compare::{GoldResult, Rule, compare};
use crate::evidence::describe_end;
use crate::queries::{
    Attempt, Database, GOLD_TIMEOUT, LargeResults, QUICK_GOLD_TIMEOUT, Queries, RunOptions,
};
use crate::statement;
use crate::task::{Columns, Dialect, Order, SqlTask};
use crate::ties::{merged, numbered, without_ties};

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
    /// The rows depend on chance.
    Ambiguous(Chance),
}

/// What the rows of an ambiguous gold depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chance {
    /// Random numbers, or the order of ties.
    Ties,
    /// The order in which tables are scanned.
    Scans,
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
    /// Whether any run was slow. Predictions then get more processor time.
    pub(crate) is_slow: bool,
}

/// The rows of a gold with their ties.
struct Tied {
    result: GoldResult,
    /// Whether a tie may be missing, because a key of the order is not known.
    may_lack_ties: bool,
    limit_splits_tie: bool,
}

/// The orders in which a gold is run to find results that depend on them. PostgreSQL has one other
/// order.
fn other_orders(dialect: Dialect) -> &'static [ReadOrder] {
    match dialect {
        Dialect::Sqlite => &[ReadOrder::ReverseScans, ReadOrder::ReversedRows],
        Dialect::Postgres => &[ReadOrder::ReversedRows],
    }
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
            .run(
                &golds,
                self.options(ReadOrder::Stored, GOLD_TIMEOUT),
                &on,
                self.large,
                &mut each,
            )
            .await?;
        Ok(found)
    }

    /// Runs a gold with rows in several orders, and finds its ties.
    pub(crate) async fn gold(&mut self, database: &Database, sql: &str) -> Result<Gold, GoldError> {
        let task = self.task;
        if statement::is_random(sql, task.dialect) {
            return Err(GoldError::Ambiguous(Chance::Ties));
        }
        let forwards = complete(self.run(database, sql, ReadOrder::Stored).await?)?;
        let steps = forwards.steps;
        if let Some(work) = task.work.filter(|work| *work < steps) {
            return Err(GoldError::Fails(format!(
                "it takes {steps} steps, but `limits.work` allows only {work}"
            )));
        }
        let Tied {
            mut result,
            may_lack_ties,
            limit_splits_tie,
        } = self.with_ties(database, sql, forwards).await?;
        if task.order == Order::Strict {
            if has_visible_tie(&result) {
                return Err(GoldError::Ambiguous(Chance::Ties));
            }
            result.ties = Some(without_ties(&result.rows));
        }
        let rule = Rule {
            columns: Columns::Strict,
            tolerance: task.tolerance,
        };
        let is_same = |result: &GoldResult, rows: &Rows| {
            compute(rows.bytes(), || compare(result, rows, rule)).is_ok()
        };
        let mut depends_on_scans = false;
        for order in other_orders(task.dialect) {
            let ran = self.run(database, sql, *order).await?;
            // The copy has no row ids in the order of keys, so a gold may exceed limits there.
            let is_copy = *order == ReadOrder::ReversedRows && task.dialect == Dialect::Sqlite;
            if is_copy && ran.ran.end != End::Rows {
                continue;
            }
            let rows = complete(ran)?.rows;
            if may_lack_ties && let Some(ties) = &result.ties {
                result.ties = Some(compute(rows.bytes(), || merged(ties, &result.rows, &rows)));
            }
            depends_on_scans |= !is_same(&result, &rows);
        }
        let mut shuffles = true;
        for shuffled in statement::shuffled(sql, task.dialect).into_iter().flatten() {
            let ran = self.run(database, &shuffled, ReadOrder::Stored).await?.ran;
            // Ties of some statements cannot be shuffled, such as those of a UNION.
            shuffles &= ran.end == End::Rows;
            if ran.end == End::Rows && !is_same(&result, &ran.rows) {
                return Err(GoldError::Ambiguous(Chance::Ties));
            }
        }
        if depends_on_scans {
            let chance = if shuffles {
                Chance::Scans
            } else {
                Chance::Ties
            };
            return Err(GoldError::Ambiguous(chance));
        }
        Ok(Gold {
            result,
            steps,
            limit_splits_tie,
        })
    }

    /// The rows of a gold with their ties.
    async fn with_ties(
        &mut self,
        database: &Database,
        sql: &str,
        plain: Ran,
    ) -> Result<Tied, Fault> {
        let ordering = match self.task.order {
            Order::Auto | Order::Strict => statement::ordering(sql, self.task.dialect),
            Order::Ignore => None,
        };
        let Some(ordering) = ordering else {
            return Ok(Tied {
                result: GoldResult {
                    rows: plain.rows,
                    ties: None,
                },
                may_lack_ties: false,
                limit_splits_tie: false,
            });
        };
        for (at, ranked) in ordering.ranked.iter().enumerate() {
            let ran = self.run(database, ranked, ReadOrder::Stored).await?.ran;
            let ranked = compute(plain.rows.bytes(), || by_rank(&plain, &ran));
            let Some(result) = ranked else { continue };
            // If the keys are in the result, they show which rows tie.
            let hidden = ordering.key_columns(&plain.columns).is_none();
            let unlimited = ordering.unlimited.get(at).filter(|_| hidden);
            let limit_splits_tie = match unlimited {
                Some(unlimited) => {
                    let all = self.run(database, unlimited, ReadOrder::Stored).await?;
                    splits_tie(&ran, &all.ran)
                }
                None => false,
            };
            return Ok(Tied {
                result,
                may_lack_ties: false,
                limit_splits_tie,
            });
        }
        let keys = ordering.key_columns(&plain.columns);
        Ok(Tied {
            may_lack_ties: keys.is_none() && self.task.order == Order::Auto,
            result: by_columns(plain, keys),
            limit_splits_tie: false,
        })
    }

    async fn run(
        &mut self,
        database: &Database,
        sql: &str,
        order: ReadOrder,
    ) -> Result<Attempt, Fault> {
        let on = (database, self.steps());
        let options = self.options(order, QUICK_GOLD_TIMEOUT);
        let attempt = self.queries.run_one(sql, options, on, self.large).await?;
        if attempt.deterministic || self.task.dialect == Dialect::Postgres {
            return Ok(attempt);
        }
        self.is_slow = true;
        let options = self.options(order, GOLD_TIMEOUT);
        self.queries.run_one(sql, options, on, self.large).await
    }

    fn options(&self, order: ReadOrder, timeout: Duration) -> RunOptions {
        RunOptions {
            limits: self.limits,
            order,
            timeout,
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

/// Finds ties by the columns that are keys of the order. Without `keys`, no two rows tie.
fn by_columns(plain: Ran, keys: Option<Vec<usize>>) -> GoldResult {
    let ties = match keys {
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
