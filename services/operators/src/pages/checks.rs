//! The list of dataset checks.

use askama::Template;
use assay_core::BatchId;
use assay_record::dataset_check::DatasetCheck;

use crate::display::{cell, count, name, time};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::query::{Pairs, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Checks per page.
const PAGE: u32 = 100;

/// Maximum number of datasets that are named.
const MAX_NAMES: usize = 4;

/// A check as a row.
struct CheckRow {
    address: String,
    time: String,
    datasets: String,
    checked: String,
    errors: String,
    warnings: String,
    unclean: bool,
    caller: String,
}

impl From<&DatasetCheck> for CheckRow {
    fn from(check: &DatasetCheck) -> Self {
        Self {
            address: address(check.id),
            time: time(check.time_us),
            datasets: names(&check.datasets),
            checked: count(check.checked),
            errors: count(check.errors),
            warnings: count(check.warnings),
            unclean: check.errors > 0,
            caller: cell(&check.caller),
        }
    }
}

#[derive(Template)]
#[template(path = "checks.html")]
pub(crate) struct Checks {
    menu: Menu,
    rows: Vec<CheckRow>,
    first: Option<&'static str>,
    next: Option<String>,
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    pairs: Pairs,
) -> Result<Page<Checks>> {
    pairs.reject_unknown(&["before"])?;
    let before: Option<BatchId> = pairs.parse("before", "the id of a check")?;
    // One more than a page, to know whether there is a next page.
    let mut checks = record_of(&review)?.dataset_checks(before, PAGE + 1).await?;
    let more = checks.len() > PAGE as usize;
    checks.truncate(PAGE as usize);
    let last = checks
        .last()
        .filter(|_| more)
        .map(|last| last.id.to_string());
    Ok(Page(Checks {
        menu: menu.at(Section::Checks),
        rows: checks.iter().map(CheckRow::from).collect(),
        first: before.map(|_| "/ui/checks"),
        next: last.map(|last| link("/ui/checks", &[("before", Some(&last))])),
    }))
}

/// The names of the datasets of a check, at most [`MAX_NAMES`].
pub(crate) fn names(datasets: &[String]) -> String {
    let shown: Vec<String> = datasets
        .iter()
        .take(MAX_NAMES)
        .map(|dataset| name(dataset))
        .collect();
    match datasets.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The path of the page of a check.
pub(crate) fn address(id: BatchId) -> String {
    format!("/ui/checks/{id}")
}
