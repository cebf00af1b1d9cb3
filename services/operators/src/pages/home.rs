//! What is going on now?

use askama::Template;
use assay_core::store::GradeFilter;
use assay_engine::Engine;
use axum::extract::State;

use crate::failure::Result;
use crate::page::{Page, Place};
use crate::pages::runs::RunRow;
use crate::query::link;
use crate::routes::store;
use crate::row::Row;
use crate::show::{cell, count};

/// Rows of each list.
const ROWS: u32 = 8;

/// A channel that wants a look, and why.
struct Concern {
    channel: String,
    queue: String,
    why: String,
}

#[derive(Template)]
#[template(path = "home.html")]
pub(crate) struct Home {
    place: Place,
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
        let why = match &report.uncorrected {
            _ if report.drift.drifting => {
                "its checks disagree more or less often than they did".to_owned()
            }
            Some(reason) => format!("scores are not corrected: {reason}").replace('`', ""),
            None => return None,
        };
        let channel = cell(&format!("{}@{}", report.channel, report.version));
        Some(Concern {
            channel,
            queue: link("/ui/queue", &[("channel", Some(&report.channel))]),
            why,
        })
    });
    Ok(Page(Home {
        place: Place::Home,
        open: engine.admission().is_open(),
        in_flight: count(engine.admission().items_in_flight() as u64),
        graders: engine.graders().iter().count(),
        runs: runs.iter().map(RunRow::from).collect(),
        concerns: concerns.take(ROWS as usize).collect(),
        rows: failed.grades.iter().map(Row::from).collect(),
    }))
}
