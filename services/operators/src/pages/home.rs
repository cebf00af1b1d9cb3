//! The overview: open problems, state of the service, live and recent runs, channels with problems,
//! recent failures.

use askama::Template;
use assay_engine::CallerUse;
use assay_record::GradeFilter;
use assay_record::run_list::{RunFilter, RunKey, RunOrder};
use assay_wire::alerts::{AlertBody, Severity};

use crate::display::{cell, count, time};
use crate::failure::Result;
use crate::live::{LIVE_MINUTES, LiveRun, live_runs};
use crate::page::{Menu, Page, Section};
use crate::pages::runs::{Head, RunRow, heads};
use crate::query::link;
use crate::record::record_of;
use crate::row::Row;
use crate::site::Viewer;

/// Maximum number of rows per list.
const ROWS: u32 = 8;

/// What a caller uses of the node.
struct CallerRow {
    name: String,
    items: String,
    mebibytes: String,
}

impl From<&CallerUse> for CallerRow {
    fn from(used: &CallerUse) -> Self {
        Self {
            name: cell(&used.caller),
            items: count(used.items as u64),
            mebibytes: count(used.bytes.div_ceil(1 << 20) as u64),
        }
    }
}

/// A channel that needs attention.
struct Concern {
    channel: String,
    address: String,
    reason: String,
}

/// An open problem.
struct Problem {
    rule: String,
    /// The run or channel.
    subject: String,
    message: String,
    is_critical: bool,
    since: String,
    grades: String,
    link: Option<String>,
}

impl From<AlertBody> for Problem {
    fn from(alert: AlertBody) -> Self {
        let subject = alert.run.or(alert.channel);
        Self {
            rule: alert.rule.replace('_', " "),
            subject: subject.as_deref().map(cell).unwrap_or_default(),
            message: cell(&alert.message),
            is_critical: alert.severity == Severity::Critical,
            since: time(alert.since_us),
            grades: count(alert.grades),
            link: alert.link,
        }
    }
}

#[derive(Template)]
#[template(path = "home.html")]
pub(crate) struct Home {
    menu: Menu,
    /// Open problems, for operators; `None` if the node evaluates no rules.
    problems: Option<Vec<Problem>>,
    open: bool,
    in_flight: String,
    /// What callers use, for operators.
    callers: Vec<CallerRow>,
    graders: usize,
    live: Vec<LiveRun>,
    live_minutes: i64,
    heads: Vec<Head>,
    runs: Vec<RunRow>,
    /// Whether runs can be chosen.
    selectable: bool,
    concerns: Vec<Concern>,
    rows: Vec<Row>,
    /// Whether it can sign out; a user whom a proxy names cannot.
    has_session: bool,
    /// Whether the node has a record with keys and an audit log.
    has_keys: bool,
}

pub(crate) async fn page(
    Viewer {
        review,
        caller,
        alerts,
        gate,
        menu,
        ..
    }: Viewer,
) -> Result<Page<Home>> {
    let store = record_of(&review)?;
    let recent = RunFilter {
        archived: Some(false),
        ..RunFilter::default()
    };
    let by_use = RunOrder::from(RunKey::LastUsed);
    let runs = store.run_list(&recent, by_use, 0, ROWS).await?;
    let failed = GradeFilter {
        outcomes: vec!["failed".to_owned()],
        ..GradeFilter::default()
    };
    let failed = store.grades(&failed, None, ROWS).await?;
    // Only operators can act on channels, which have the grades of all callers.
    let ledger = if menu.has(Section::Verifier) {
        review.channels().await?
    } else {
        Default::default()
    };
    let concerns = ledger.reports().filter_map(|report| {
        let reason = match &report.uncorrected {
            _ if report.drift.drifting => "the error rates have changed".to_owned(),
            Some(reason) => format!("scores are not corrected: {reason}").replace('`', ""),
            None => return None,
        };
        let channel = format!("{}@{}", report.channel, report.version);
        Some(Concern {
            address: link("/ui/channel", &[("name", Some(&channel))]),
            channel: cell(&channel),
            reason,
        })
    });
    let current = caller.role().sees_all().then(|| alerts.current());
    let current = current.filter(|current| !current.rules.is_empty());
    let problems = current.map(|current| current.alerts.into_iter().map(Problem::from).collect());
    Ok(Page(Home {
        menu: menu.at(Section::Home),
        problems,
        open: review.engine().admission().is_open(),
        in_flight: count(review.engine().admission().items_in_flight() as u64),
        callers: if caller.role().sees_all() {
            let usage = review.engine().admission().usage();
            usage
                .iter()
                .take(ROWS as usize)
                .map(CallerRow::from)
                .collect()
        } else {
            Vec::new()
        },
        graders: review.engine().graders().iter().count(),
        live: live_runs(store, gate.clock().unix_us()).await?,
        live_minutes: LIVE_MINUTES,
        heads: heads(None),
        runs: RunRow::list(store, &runs).await?,
        selectable: false,
        concerns: concerns.take(ROWS as usize).collect(),
        rows: Row::list(store, &failed.grades).await?,
        has_session: caller.meter().is_some(),
        has_keys: gate.store().is_some(),
    }))
}
