//! The list of jobs.

use askama::Template;
use assay_core::BatchId;
use assay_wire::jobs::JobBody;

use crate::display::{cell, count, middle, percent, span, time};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::pages::runs;
use crate::query::{Pairs, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Jobs per page.
const PAGE: u32 = 50;

/// How far a job is, in the list and on its page.
pub(crate) struct JobRow {
    pub(crate) id: String,
    pub(crate) address: String,
    pub(crate) state: String,
    pub(crate) caller: String,
    /// The run with its address, if the job has one.
    pub(crate) run: Option<(String, String)>,
    pub(crate) items: String,
    pub(crate) finished: String,
    pub(crate) share: String,
    /// For the bar.
    pub(crate) done: u64,
    pub(crate) total: u64,
    pub(crate) passed: String,
    /// Lines without a score.
    pub(crate) not_graded: String,
    pub(crate) is_bad: bool,
    /// Lines a second.
    pub(crate) rate: String,
    /// Time until the estimated end; empty if it is not known.
    pub(crate) remaining: String,
    pub(crate) submitted: String,
}

impl From<&JobBody> for JobRow {
    fn from(job: &JobBody) -> Self {
        let failed = job.failed + job.invalid + job.set_aside;
        let run = job.run.as_deref();
        let rate = job.items_per_second;
        Self {
            id: job.job.clone(),
            address: address(&job.job),
            state: job.state.clone(),
            caller: cell(&job.caller),
            run: run.map(|run| (middle(run), runs::address(run))),
            items: count(job.items),
            finished: count(job.finished),
            share: percent(job.finished, job.items),
            done: job.finished,
            total: job.items.max(1),
            passed: percent(job.passed, job.graded),
            not_graded: count(failed + job.ungradable),
            is_bad: failed > 0,
            rate: rate.map_or_else(|| "–".to_owned(), |rate| count(rate.round() as u64)),
            remaining: job
                .remaining_seconds
                .map(|seconds| span(seconds * 1e6))
                .unwrap_or_default(),
            submitted: time(job.submitted_us),
        }
    }
}

#[derive(Template)]
#[template(path = "jobs.html")]
pub(crate) struct Jobs {
    menu: Menu,
    rows: Vec<JobRow>,
    first: Option<&'static str>,
    next: Option<String>,
}

pub(crate) async fn page(
    Viewer {
        review, menu, jobs, ..
    }: Viewer,
    pairs: Pairs,
) -> Result<Page<Jobs>> {
    pairs.reject_unknown(&["before"])?;
    let before: Option<BatchId> = pairs.parse("before", "the id of a job")?;
    // One more than a page, to know whether there is a next page.
    let mut found = jobs.list(record_of(&review)?, before, PAGE + 1).await?;
    let more = found.len() > PAGE as usize;
    found.truncate(PAGE as usize);
    let last = found.last().filter(|_| more).map(|last| last.job.clone());
    Ok(Page(Jobs {
        menu: menu.at(Section::Jobs),
        rows: found.iter().map(JobRow::from).collect(),
        first: before.map(|_| "/ui/jobs"),
        next: last.map(|last| link("/ui/jobs", &[("before", Some(&last))])),
    }))
}

/// The path of the page of a job.
pub(crate) fn address(id: &str) -> String {
    format!("/ui/jobs/{id}")
}
