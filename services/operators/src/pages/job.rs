//! A job: its progress, its shards, those that fail, and the form that cancels it.

use askama::Template;
use assay_core::BatchId;
use assay_wire::jobs::{FailingShardBody, JobBody};
use axum::extract::Path;
use axum::response::Redirect;
use serde_json::json;

use crate::display::{count, text, time};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::pages::jobs::{JobRow, address};
use crate::pages::replayed::{self, Replayed};
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

#[derive(Template)]
#[template(path = "job.html")]
pub(crate) struct JobPage {
    menu: Menu,
    job: JobRow,
    amounts: Vec<Amount>,
    replayed: Replayed,
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
    Ok(Page(JobPage {
        menu: viewer.menu.at(Section::Jobs),
        amounts: amounts(&job),
        replayed: Replayed::from(&replay),
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
        amounts.push(amount("options", replayed::fields(options)));
    }
    amounts.extend(job.step.map(|step| amount("step", step.to_string())));
    amounts.extend(job.started_us.map(|at| amount("started", time(at))));
    amounts.extend(job.ended_us.map(|at| amount("ended", time(at))));
    amounts
}
