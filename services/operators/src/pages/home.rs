//! The overview: state of the service, recent runs, channels with problems, recent failures.

use askama::Template;
use assay_engine::Engine;
use assay_record::store::GradeFilter;
use axum::extract::State;

use crate::display::{cell, count};
use crate::failure::Result;
use crate::page::{Page, Section};
use crate::pages::runs::RunRow;
use crate::query::link;
use crate::record::store;
use crate::row::Row;

/// Maximum number of rows per list.
const ROWS: u32 = 8;

/// A channel that needs attention.
struct Concern {
    channel: String,
    queue: String,
    reason: String,
}

#[derive(Template)]
#[template(path = "home.html")]
pub(crate) struct Home {
    section: Section,
    open: bool,
    in_flight: String,
    graders: usize,
    runs: Vec<RunRow>,
    concerns: Vec<Concern>,
    rows: Vec<Row>,
}

pub(crate) async fn page(State(engine): State<Engine>) -> Result<Page<Home>> {
    let store = store(&engine)?;
    let runs = store.runs(ROWS).await?;
    let failed = GradeFilter {
        outcome: Some("failed".to_owned()),
        ..GradeFilter::default()
    };
    let failed = store.grades(&failed, None, ROWS).await?;
    let ledger = engine.channels().await?;
    let concerns = ledger.reports().filter_map(|report| {
        let reason = match &report.uncorrected {
            _ if report.drift.drifting => "the error rates have changed".to_owned(),
            Some(reason) => format!("scores are not corrected: {reason}").replace('`', ""),
            None => return None,
        };
        let channel = cell(&format!("{}@{}", report.channel, report.version));
        Some(Concern {
            channel,
            queue: link("/ui/queue", &[("channel", Some(&report.channel))]),
            reason,
        })
    });
    Ok(Page(Home {
        section: Section::Home,
        open: engine.admission().is_open(),
        in_flight: count(engine.admission().items_in_flight() as u64),
        graders: engine.graders().iter().count(),
        runs: runs.iter().map(RunRow::from).collect(),
        concerns: concerns.take(ROWS as usize).collect(),
        rows: failed.grades.iter().map(Row::from).collect(),
    }))
}
