//! The storage that the record uses, and what retention deletes next.

use askama::Template;
use assay_record::storage::{PruneProgress, PruneState, RetentionLimits, StorageReport};

use crate::display::{bytes, cell, count, middle, time};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::query::{NoQuery, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Maximum number of runs listed.
const MAX_HOLDINGS: u32 = 200;

/// Microseconds of a day.
const DAY_US: i64 = 24 * 3_600 * 1_000_000;

/// Storage used by one run and caller.
struct HoldingRow {
    run: String,
    /// Empty for batches without a run.
    address: String,
    caller: String,
    batches: String,
    grades: String,
    grade_bytes: String,
    body_bytes: String,
}

struct ReplyRow {
    caller: String,
    replies: String,
    bytes: String,
}

/// A name and a value.
struct Amount {
    name: &'static str,
    value: String,
}

#[derive(Template)]
#[template(path = "storage.html")]
pub(crate) struct StoragePage {
    menu: Menu,
    sizes: Vec<Amount>,
    shrinks: bool,
    uncounted: Option<String>,
    limits: Vec<Amount>,
    prune: Vec<Amount>,
    holdings: Vec<HoldingRow>,
    /// Number of all pairs of run and caller, if not all are listed.
    all_holdings: Option<String>,
    replies: Vec<ReplyRow>,
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    _: NoQuery,
) -> Result<Page<StoragePage>> {
    let report = record_of(&review)?.storage(MAX_HOLDINGS).await?;
    Ok(Page(StoragePage::new(menu, &report)))
}

fn size(number: u64) -> String {
    bytes(number as f64)
}

fn amount(name: &'static str, value: String) -> Amount {
    Amount { name, value }
}

impl StoragePage {
    fn new(menu: Menu, report: &StorageReport) -> Self {
        let holdings = report.holdings.iter().map(|held| HoldingRow {
            run: held.run.as_deref().map_or_else(|| "–".to_owned(), middle),
            address: held
                .run
                .as_deref()
                .map_or_else(String::new, |run| link("/ui/run", &[("name", Some(run))])),
            caller: cell(&held.caller),
            batches: count(held.batches),
            grades: count(held.grades),
            grade_bytes: size(held.grade_bytes),
            body_bytes: size(held.body_bytes),
        });
        let replies = report.replies.iter().map(|held| ReplyRow {
            caller: cell(&held.caller),
            replies: count(held.replies),
            bytes: size(held.bytes),
        });
        let (all, listed) = (report.total.holdings, report.holdings.len() as u64);
        Self {
            menu: menu.at(Section::Storage),
            sizes: sizes(report),
            shrinks: report.shrinks,
            uncounted: (report.uncounted_batches > 0).then(|| count(report.uncounted_batches)),
            limits: limits(report),
            prune: report.prune.as_ref().map(prune).unwrap_or_default(),
            holdings: holdings.collect(),
            all_holdings: (all > listed).then(|| count(all)),
            replies: replies.collect(),
        }
    }
}

fn sizes(report: &StorageReport) -> Vec<Amount> {
    let texts = report.text_bytes;
    let texts = texts.map(|bytes| amount("index of texts", size(bytes)));
    let sizes = vec![
        amount("grades", count(report.total.grades)),
        amount("batches", count(report.total.batches)),
        amount("values of grades", size(report.total.grade_bytes)),
        amount("bodies, compressed", size(report.total.body_bytes)),
        amount("policies, pairs and reports", size(report.permanent_bytes)),
        amount("database file", size(report.file_bytes)),
        amount("free space in it", size(report.free_bytes)),
        amount("write-ahead log", size(report.log_bytes)),
        amount("spool", size(report.spool_bytes)),
    ];
    sizes.into_iter().chain(texts).collect()
}

/// The limits, each with what it deletes next.
fn limits(report: &StorageReport) -> Vec<Amount> {
    let RetentionLimits {
        body_age_us,
        grade_age_us,
        max_bytes,
        keep_runs,
        channel_age_us,
    } = &report.limits;
    let by_age = |age_us: i64, oldest_us: Option<i64>| {
        let due = oldest_us.map_or_else(
            || "there are none".to_owned(),
            |oldest| {
                let due = time(oldest.saturating_add(age_us));
                format!("the oldest are due at {due}")
            },
        );
        format!("after {} days; {due}", age_us / DAY_US)
    };
    let mut limits = Vec::new();
    if *body_age_us > 0 {
        limits.push(amount(
            "bodies are deleted",
            by_age(*body_age_us, report.oldest_bodies_us),
        ));
    }
    if *grade_age_us > 0 {
        limits.push(amount(
            "grades are deleted",
            by_age(*grade_age_us, report.oldest_us),
        ));
    }
    if *max_bytes > 0 {
        let used = report.limited_bytes();
        limits.push(amount(
            "data is limited",
            format!("to {}; it has {}", size(*max_bytes), size(used)),
        ));
    }
    if *channel_age_us > 0 {
        limits.push(amount(
            "unused channels are deleted",
            format!("after {} days", channel_age_us / DAY_US),
        ));
    }
    if limits.is_empty() {
        return limits;
    }
    if !keep_runs.is_empty() {
        let names: Vec<String> = keep_runs.iter().map(|run| cell(run)).collect();
        limits.push(amount("runs that are kept", names.join(", ")));
    }
    if let Some(next) = report.next_check_us {
        limits.push(amount("next check", time(next)));
    }
    limits
}

fn prune(prune: &PruneProgress) -> Vec<Amount> {
    let state = match prune.state {
        PruneState::Running => format!("running: {}", prune.phase),
        PruneState::Done => "done".to_owned(),
        PruneState::Failed => format!("failed: {}", prune.error.as_deref().unwrap_or("unknown")),
        PruneState::Stopped => "stopped with the node".to_owned(),
    };
    let reason = if prune.automatic {
        "limits of the configuration"
    } else {
        "requested"
    };
    vec![
        amount("state", cell(&state)),
        amount("reason", reason.to_owned()),
        amount("started", time(prune.started_us)),
        amount("batches affected", count(prune.batches)),
        amount("grades deleted", count(prune.grades)),
        amount("bodies deleted", size(prune.body_bytes)),
        amount("runs deleted", count(prune.runs)),
        amount("channels deleted", count(prune.channels)),
    ]
}
