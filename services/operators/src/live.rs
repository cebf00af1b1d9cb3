//! The runs that are graded now, for the overview.

use assay_record::Record;

use crate::display::{count, middle, name, optional_number};
use crate::failure::Result;
use crate::pages::runs::address;
use crate::trend::Lines;

/// Time after its last grade for which a run is live, in minutes.
pub(crate) const LIVE_MINUTES: i64 = 10;

/// Maximum number of live runs listed.
const ROWS: u32 = 8;

/// A run with a recent grade.
pub(crate) struct LiveRun {
    pub(crate) name: String,
    pub(crate) whole_name: String,
    pub(crate) address: String,
    pub(crate) step: String,
    /// Grades a minute.
    pub(crate) rate: String,
    pub(crate) reward: String,
    pub(crate) lines: Lines,
}

/// The runs with a grade in the last minutes, the most recently used first.
pub(crate) async fn live_runs(record: &Record, now_us: i64) -> Result<Vec<LiveRun>> {
    let since_us = now_us.saturating_sub(LIVE_MINUTES * 60_000_000);
    let mut live = Vec::new();
    for run in record.runs(ROWS).await? {
        if run.last_us < since_us {
            break;
        }
        let grades = record.run_grades_since(&run.run, since_us).await?;
        live.push(LiveRun {
            name: middle(&run.run),
            whole_name: name(&run.run),
            address: address(&run.run),
            step: run
                .last_step
                .map_or_else(|| "–".to_owned(), |step| step.to_string()),
            rate: count(grades.div_ceil(LIVE_MINUTES.unsigned_abs())),
            reward: optional_number(run.mean_reward),
            lines: Lines::read(record, &run).await?,
        });
    }
    Ok(live)
}
