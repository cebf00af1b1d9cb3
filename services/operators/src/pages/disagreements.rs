//! Disagreements: of judges and operators with graders, and of checks with their tasks.

use std::collections::BTreeMap;

use askama::Template;
use assay_record::{GradeFilter, Record, StoredGrade};
use assay_review::Review;
use assay_rewards::channel::counts::{Checked, OPERATOR};

use crate::bar::Bar;
use crate::contradicted::{CONTRADICTED, contradicted_verdicts, side};
use crate::display::{cell, count, percent};
use crate::failure::{Failure, Result};
use crate::page::{Menu, Page, Section};
use crate::pages::NEWEST_GRADES;
use crate::query::Pairs;
use crate::record::record_of;
use crate::row::Row;
use crate::site::Viewer;
use crate::verifier::{Head, Tab};

/// Maximum number of rows per list.
const ROWS: u32 = 25;

/// Maximum number of rows of judges; those with the most checks are listed.
const JUDGES: usize = 256;

/// Results of a judge for passing or other verdicts of a channel.
struct JudgeRow {
    channel: String,
    judge: String,
    side: &'static str,
    checks: String,
    disagreed: String,
    share: String,
    address: Option<String>,
}

/// Number of grades by whether the task and a check pass.
struct CheckAgreement {
    grader: String,
    check: String,
    both: String,
    neither: String,
    task_only: String,
    check_only: String,
}

#[derive(Template)]
#[template(path = "disagreements.html")]
pub(crate) struct Disagreements {
    menu: Menu,
    head: Head,
    bar: Bar,
    judges: Vec<JudgeRow>,
    checks: Vec<CheckAgreement>,
    grades_read: String,
    rows: Vec<Row>,
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    pairs: Pairs,
) -> Result<Page<Disagreements>> {
    pairs.reject_unknown(&["run", "step_min", "step_max"])?;
    let record = record_of(&review)?;
    let filter = GradeFilter {
        run: pairs.get("run").map(str::to_owned),
        step_min: pairs.parse("step_min", "a whole number")?,
        step_max: pairs.parse("step_max", "a whole number")?,
        ..GradeFilter::default()
    };
    if let Some(run) = &filter.run
        && record.run(run).await?.is_none()
    {
        return Err(Failure::not_found(review.unknown_run(run).await?));
    }
    let newest = async { Ok(record.grades(&filter, None, NEWEST_GRADES).await?.grades) };
    let (newest, judges, rows) = futures::try_join!(
        newest,
        judges(&review, record),
        contradicted(record, &filter)
    )?;
    let menu = menu.at(Section::Verifier);
    Ok(Page(Disagreements {
        head: Head::new(&menu, Tab::Disagreements),
        bar: Bar::new(&menu, "/ui/disagreements", &pairs, None),
        menu,
        judges,
        checks: checks(&newest),
        grades_read: count(newest.len() as u64),
        rows,
    }))
}

/// The newest grades of a filter with which a judge disagrees, overturned or not.
async fn contradicted(record: &Record, filter: &GradeFilter) -> Result<Vec<Row>> {
    let filter = GradeFilter {
        appeals: CONTRADICTED.map(str::to_owned).into(),
        ..filter.clone()
    };
    let page = record.grades(&filter, None, ROWS).await?;
    Row::list(record, &page.grades).await
}

/// Results of judges and operators, by channel, judge and side.
async fn judges(review: &Review, record: &Record) -> Result<Vec<JudgeRow>> {
    let mut sums: BTreeMap<(String, u32, String, bool), Checked> = BTreeMap::new();
    for (channel, list) in record.channels().await?.checked {
        for (checker, checked) in list {
            let key = (
                channel.channel.clone(),
                channel.version,
                checker.judge,
                checker.passes,
            );
            sums.entry(key).or_default().add(&checked);
        }
    }
    let row =
        |((channel, version, judge, passes), checked): ((String, u32, String, bool), Checked)| {
            let disagreed = u64::try_from(checked.disagreed).unwrap_or(0);
            let appeals = contradicted_verdicts(review, &channel, passes);
            JudgeRow {
                channel: cell(&format!("{channel}@{version}")),
                address: (judge != OPERATOR).then_some(appeals),
                judge: cell(&judge),
                side: side(passes),
                checks: count(checked.checks),
                disagreed: count(disagreed),
                share: percent(disagreed, checked.checks),
            }
        };
    let mut sums: Vec<_> = sums.into_iter().collect();
    if sums.len() > JUDGES {
        sums.sort_by_key(|(_, checked)| std::cmp::Reverse(checked.checks));
        sums.truncate(JUDGES);
    }
    Ok(sums.into_iter().map(row).collect())
}

/// How often each check passes where the task passes, and where it does not.
fn checks(grades: &[StoredGrade]) -> Vec<CheckAgreement> {
    let mut sums: BTreeMap<(String, String), [u64; 4]> = BTreeMap::new();
    for StoredGrade { grade, .. } in grades {
        let Some(pass) = grade.pass else { continue };
        for component in &grade.components {
            let Some(score) = component.score else {
                continue;
            };
            let cells = sums
                .entry((grade.grader.name.to_string(), component.name.clone()))
                .or_default();
            cells[usize::from(!pass) * 2 + usize::from(score <= 0.5)] += 1;
        }
    }
    let row = |((grader, check), [both, task_only, check_only, neither]): (
        (String, String),
        [u64; 4],
    )| CheckAgreement {
        grader: cell(&grader),
        check: cell(&check),
        both: count(both),
        neither: count(neither),
        task_only: count(task_only),
        check_only: count(check_only),
    };
    sums.into_iter().map(row).collect()
}
