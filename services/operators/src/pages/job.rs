//! A job: its progress, its shards, those that fail, and the form that cancels it.

use std::collections::BTreeSet;

use askama::Template;
use assay_core::BatchId;
use assay_wire::jobs::{FailingShardBody, JobBody};
use assay_wire::replays::{ReplayedGrader, VerdictPair};
use axum::extract::Path;
use axum::response::Redirect;
use serde_json::json;

use crate::display::{count, text, time};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::pages::jobs::{JobRow, address};
use crate::query::{Pairs, id};
use crate::record::record_of;
use crate::site::Viewer;

/// A number with its name.
struct Amount {
    name: &'static str,
    value: String,
}

/// A shard whose last try failed.
struct Failing {
    shard: u32,
    lines: String,
    state: &'static str,
    tries: u32,
    reason: String,
}

impl From<&FailingShardBody> for Failing {
    fn from(shard: &FailingShardBody) -> Self {
        Self {
            shard: shard.shard,
            lines: format!(
                "{} from line {}",
                count(shard.items.into()),
                shard.first_line
            ),
            state: if shard.set_aside {
                "set aside"
            } else {
                "tried again"
            },
            tries: shard.tries,
            reason: text(&shard.reason),
        }
    }
}

/// New verdicts by stored verdict, of one version of a grader.
struct Matrix {
    graders: String,
    items: String,
    flipped: String,
    /// The new verdicts.
    columns: Vec<String>,
    rows: Vec<MatrixRow>,
}

struct MatrixRow {
    /// The stored verdict.
    name: String,
    cells: Vec<Cell>,
}

/// A number of items.
struct Cell {
    value: String,
    /// Whether the new verdict differs from the stored one.
    is_flip: bool,
}

impl From<&ReplayedGrader> for Matrix {
    fn from(grader: &ReplayedGrader) -> Self {
        let columns: BTreeSet<&str> = grader.verdicts.iter().map(|pair| &*pair.replayed).collect();
        let rows: BTreeSet<&str> = grader.verdicts.iter().map(|pair| &*pair.recorded).collect();
        let cell = |row: &str, column: &str| {
            let pair = |pair: &&VerdictPair| pair.recorded == row && pair.replayed == column;
            let items = grader
                .verdicts
                .iter()
                .find(pair)
                .map_or(0, |pair| pair.items);
            Cell {
                value: if items == 0 {
                    "·".to_owned()
                } else {
                    count(items)
                },
                is_flip: items > 0 && row != column,
            }
        };
        let row = |row: &str| MatrixRow {
            name: text(row),
            cells: columns.iter().map(|column| cell(row, column)).collect(),
        };
        Self {
            graders: if grader.recorded == grader.replayed {
                text(&grader.recorded)
            } else {
                text(&format!("{} → {}", grader.recorded, grader.replayed))
            },
            items: count(grader.items),
            flipped: count(grader.flipped),
            rows: rows.iter().map(|name| row(name)).collect(),
            columns: columns.iter().map(|name| text(name)).collect(),
        }
    }
}

/// Grades that were not graded again for one reason.
struct Missing {
    items: String,
    reason: String,
}

#[derive(Template)]
#[template(path = "job.html")]
pub(crate) struct JobPage {
    menu: Menu,
    job: JobRow,
    amounts: Vec<Amount>,
    matrices: Vec<Matrix>,
    missing: Vec<Missing>,
    failing: Vec<Failing>,
    can_cancel: bool,
}

pub(crate) async fn page(
    viewer: Viewer,
    Path(job): Path<String>,
    pairs: Pairs,
) -> Result<Page<JobPage>> {
    pairs.reject_unknown(&[])?;
    let job: BatchId = id("job", &job)?;
    let record = record_of(&viewer.review)?;
    let job = viewer.jobs.describe(record, job).await?;
    let replay = job.replay.clone().unwrap_or_default();
    let missing = replay.missing.iter().map(|(reason, items)| Missing {
        items: count(*items),
        reason: text(reason),
    });
    Ok(Page(JobPage {
        menu: viewer.menu.at(Section::Jobs),
        amounts: amounts(&job),
        matrices: replay.graders.iter().map(Matrix::from).collect(),
        missing: missing.collect(),
        failing: job.failing.iter().map(Failing::from).collect(),
        can_cancel: !job.is_final(),
        job: JobRow::from(&job),
    }))
}

/// Cancels the job.
pub(crate) async fn cancel(viewer: Viewer, Path(job): Path<String>) -> Result<Redirect> {
    let job: BatchId = id("job", &job)?;
    let record = record_of(&viewer.review)?;
    let cancelled = viewer.jobs.cancel(record, job).await?;
    if cancelled.caller != viewer.caller.name() {
        let details = json!({ "caller": cancelled.caller });
        viewer.audit("job.cancel", &cancelled.job, details).await;
    }
    Ok(Redirect::to(&address(&cancelled.job)))
}

fn amounts(job: &JobBody) -> Vec<Amount> {
    let amount = |name, value| Amount { name, value };
    let number = |name, number| amount(name, count(number));
    let mut amounts = vec![
        number("graded", job.graded),
        number("passed", job.passed),
        number("ungradable", job.ungradable),
        number("failed", job.failed),
        number("invalid lines", job.invalid),
        number("lines set aside", job.set_aside),
        number("shards waiting", job.shards.waiting),
        number("shards running", job.shards.running),
        number("shards done", job.shards.done),
        number("shards set aside", job.shards.set_aside),
    ];
    amounts.extend(
        job.policy
            .as_deref()
            .map(|name| amount("policy", text(name))),
    );
    if let Some(options) = &job.options {
        let set = options
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let set: Vec<_> = set.collect();
        amounts.push(amount("options", text(&set.join(", "))));
    }
    amounts.extend(job.step.map(|step| amount("step", step.to_string())));
    amounts.extend(job.started_us.map(|at| amount("started", time(at))));
    amounts.extend(job.ended_us.map(|at| amount("ended", time(at))));
    amounts
}
