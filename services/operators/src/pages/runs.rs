//! The list of runs.

use askama::Template;
use assay_record::RunSummary;

use crate::display::{count, name, optional_number, percent, time};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::query::{NoQuery, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Maximum number of runs listed.
const MAX_RUNS: u32 = 200;

/// A run as a row.
pub(crate) struct RunRow {
    pub(crate) name: String,
    /// The name as the record has it.
    pub(crate) recorded: String,
    pub(crate) address: String,
    pub(crate) step: String,
    pub(crate) grades: String,
    pub(crate) passed: String,
    pub(crate) score: String,
    pub(crate) ungradable: String,
    pub(crate) failed: String,
    pub(crate) failing: bool,
    pub(crate) first: String,
    pub(crate) last: String,
}

impl From<&RunSummary> for RunRow {
    fn from(run: &RunSummary) -> Self {
        Self {
            name: name(&run.run),
            recorded: run.run.clone(),
            address: link("/ui/run", &[("name", Some(&run.run))]),
            step: run
                .last_step
                .map_or_else(|| "–".to_owned(), |step| step.to_string()),
            grades: count(run.grades),
            passed: percent(run.passed, run.graded),
            score: optional_number(run.mean_score),
            ungradable: count(run.ungradable),
            failed: count(run.failed),
            failing: run.failed > 0,
            first: time(run.first_us),
            last: time(run.last_us),
        }
    }
}

#[derive(Template)]
#[template(path = "runs.html")]
pub(crate) struct Runs {
    menu: Menu,
    runs: Vec<RunRow>,
    /// Whether runs can be chosen.
    selectable: bool,
    more: bool,
}

pub(crate) async fn page(Viewer { review, menu, .. }: Viewer, _: NoQuery) -> Result<Page<Runs>> {
    let runs = record_of(&review)?.runs(MAX_RUNS).await?;
    let more = runs.len() == MAX_RUNS as usize;
    Ok(Page(Runs {
        menu: menu.at(Section::Runs),
        runs: runs.iter().map(RunRow::from).collect(),
        selectable: true,
        more,
    }))
}
