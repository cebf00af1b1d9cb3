//! A dataset check: its findings, compared with the previous check of the same datasets.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use assay_core::BatchId;
use assay_record::Record;
use assay_record::dataset_check::DatasetCheck;
use assay_wire::checks::{CheckFinding, CheckReport, CheckSeverity, CheckedDataset};
use axum::extract::Path;

use super::checks::{address, names};
use crate::display::{cell, count, name, percent, text, time};
use crate::failure::{Failure, Result};
use crate::page::{Menu, Page, Section};
use crate::query::{Pairs, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Findings per page.
const PAGE: usize = 100;

/// Number of earlier checks that are searched for one of the same datasets.
const MAX_EARLIER: u32 = 200;

/// A dataset as a row.
struct DatasetRow {
    name: String,
    revision: String,
    rows: String,
    checked: String,
    tasks: Vec<String>,
    mutants: Vec<String>,
}

impl From<&CheckedDataset> for DatasetRow {
    fn from(dataset: &CheckedDataset) -> Self {
        let tasks = dataset
            .tasks
            .iter()
            .map(|(task, rows)| format!("{} {}", cell(task), count(*rows)));
        let mutants = dataset
            .mutants
            .iter()
            .filter(|(_, mutants)| mutants.tried > 0)
            .map(|(task, mutants)| {
                format!(
                    "{} {} of {}",
                    cell(task),
                    percent(mutants.killed, mutants.tried),
                    count(mutants.tried)
                )
            });
        Self {
            name: name(&dataset.name()),
            revision: dataset.revision.as_deref().map(cell).unwrap_or_default(),
            rows: count(dataset.rows),
            checked: count(dataset.checked),
            tasks: tasks.collect(),
            mutants: mutants.collect(),
        }
    }
}

/// Number of findings with a code, in this check and the previous one.
struct CodeRow {
    code: String,
    address: String,
    before: Option<String>,
    now: String,
    /// Whether only findings with this code are shown.
    current: bool,
}

/// A finding as a row.
struct FindingRow {
    is_error: bool,
    code: String,
    location: String,
    key: String,
    message: String,
}

impl FindingRow {
    /// The row of a finding. `short_names` are the names of the datasets without revisions.
    fn new(finding: &CheckFinding, short_names: &BTreeMap<&str, String>) -> Self {
        let dataset = short_names
            .get(finding.dataset.as_str())
            .unwrap_or(&finding.dataset);
        let row = finding.row.map(|row| format!(":row {row}"));
        let at = finding
            .line
            .map(|line| format!(":{line}"))
            .or(row)
            .unwrap_or_default();
        Self {
            is_error: finding.severity == CheckSeverity::Error,
            code: cell(&finding.code),
            location: format!("{}{at}", name(dataset)),
            key: cell(&finding.key),
            message: text(&finding.message),
        }
    }
}

#[derive(Template)]
#[template(path = "check.html")]
pub(crate) struct Check {
    menu: Menu,
    names: String,
    facts: Vec<(&'static str, String)>,
    failure: Option<String>,
    datasets: Vec<DatasetRow>,
    before: Option<(String, String)>,
    codes: Vec<CodeRow>,
    all: Option<String>,
    findings: Vec<FindingRow>,
    shown: String,
    unlisted: Option<String>,
    clean: bool,
    next: Option<String>,
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    Path(id): Path<String>,
    pairs: Pairs,
) -> Result<Page<Check>> {
    let id: BatchId = id
        .parse()
        .map_err(|error| Failure::parameter("id", format!("{error}")))?;
    pairs.reject_unknown(&["code", "from"])?;
    let (code, from) = (
        pairs.get("code"),
        pairs.parse("from", "a whole number")?.unwrap_or(0_usize),
    );
    let record = record_of(&review)?;
    let unknown = || Failure::not_found(format!("no check has the id `{id}`"));
    let check = record.dataset_check(id).await?.ok_or_else(unknown)?;
    let report = report(record, &check).await?.ok_or_else(unknown)?;
    let earlier = record.dataset_checks(Some(id), MAX_EARLIER).await?;
    let earlier = earlier
        .into_iter()
        .find(|earlier| earlier.datasets == check.datasets);
    let earlier = match earlier {
        Some(earlier) => report_of(record, earlier).await?,
        None => None,
    };
    let path = address(id);
    let at = |code: Option<&str>, from: Option<usize>| {
        let from = from.map(|from| from.to_string());
        link(&path, &[("code", code), ("from", from.as_deref())])
    };

    let matching: Vec<&CheckFinding> = report
        .findings
        .iter()
        .filter(|finding| code.is_none_or(|code| finding.code == code))
        .collect();
    let listed = matching.iter().skip(from).take(PAGE);
    let short_names = report
        .datasets
        .iter()
        .map(|dataset| (dataset.dataset.as_str(), dataset.name()))
        .collect();
    let findings: Vec<FindingRow> = listed
        .map(|finding| FindingRow::new(finding, &short_names))
        .collect();
    let end = from.saturating_add(findings.len());
    // Only shown if there are findings.
    let first = (from as u64).saturating_add(1);
    let shown = format!(
        "{} to {} of {}",
        count(first),
        count(end as u64),
        count(matching.len() as u64)
    );
    Ok(Page(Check {
        menu: menu.at(Section::Checks),
        names: names(&check.datasets),
        facts: facts(&check, &report),
        failure: report.first_failure.as_deref().map(text),
        datasets: report.datasets.iter().map(DatasetRow::from).collect(),
        codes: codes(
            &report.counts,
            earlier.as_ref().map(|(_, report)| &report.counts),
            code,
            |code| at(code, None),
        ),
        before: earlier.map(|(check, _)| (address(check.id), time(check.time_us))),
        all: code.map(|_| at(None, None)),
        shown,
        clean: report.errors + report.warnings + report.known + report.failed == 0,
        unlisted: (report.unlisted > 0).then(|| count(report.unlisted)),
        next: (end < matching.len()).then(|| at(code, Some(end))),
        findings,
    }))
}

fn facts(check: &DatasetCheck, report: &CheckReport) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Checked", time(check.time_us)),
        ("Caller", cell(&check.caller)),
        ("Version", cell(&report.version)),
        ("Errors", count(report.errors)),
        ("Warnings", count(report.warnings)),
    ];
    let more = [
        ("In the baseline", report.known),
        ("Ignored", report.ignored),
        ("Probes not graded", report.failed),
    ];
    facts.extend(
        more.into_iter()
            .filter(|(_, number)| *number > 0)
            .map(|(name, number)| (name, count(number))),
    );
    facts
}

/// The codes with findings in this check or the previous one.
fn codes(
    now: &BTreeMap<String, u64>,
    before: Option<&BTreeMap<String, u64>>,
    chosen: Option<&str>,
    address: impl Fn(Option<&str>) -> String,
) -> Vec<CodeRow> {
    let names: BTreeSet<&String> = now
        .keys()
        .chain(before.into_iter().flat_map(BTreeMap::keys))
        .collect();
    let of = |counts: &BTreeMap<String, u64>, code: &String| {
        count(counts.get(code).copied().unwrap_or(0))
    };
    let row = |code: &String| CodeRow {
        code: cell(code),
        address: address(Some(code)),
        before: before.map(|before| of(before, code)),
        now: of(now, code),
        current: chosen == Some(code.as_str()),
    };
    names.into_iter().map(row).collect()
}

async fn report_of(
    record: &Record,
    check: DatasetCheck,
) -> Result<Option<(DatasetCheck, CheckReport)>> {
    Ok(report(record, &check).await?.map(|report| (check, report)))
}

/// The report of a check; `None` if the record does not have it.
async fn report(record: &Record, check: &DatasetCheck) -> Result<Option<CheckReport>> {
    let Some(body) = record.body(check.report).await? else {
        return Ok(None);
    };
    // On a blocking thread, because a report may have megabytes.
    let read =
        tokio::task::spawn_blocking(move || serde_json::from_slice(&body.content).ok()).await;
    Ok(read.ok().flatten())
}
