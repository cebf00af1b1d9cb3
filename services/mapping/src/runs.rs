//! Queries of the record that return wire types, for the routes and for the command line, which
//! reads a record without a server.

use std::collections::BTreeMap;

use assay_record::chart::Topic;
use assay_record::{Record, RecordError};
use assay_wire::runs::RunDetail;

/// Width of step buckets that puts all steps of a run with the same sign into one bucket.
const ALL_STEPS: i64 = 1 << 40;

/// Returns one run with its highest `steps` steps; `None` if no grade has the name of the run.
///
/// # Errors
/// [`RecordError`] if the record cannot be read.
pub async fn run_detail(
    store: &Record,
    run: &str,
    steps: usize,
) -> Result<Option<RunDetail>, RecordError> {
    let Some(summary) = store.run(run).await? else {
        return Ok(None);
    };
    let rollups = store.run_series(run).await?;
    let mut causes: BTreeMap<String, u64> = BTreeMap::new();
    for counts in store.run_steps(run, ALL_STEPS).await?.values() {
        for (cause, grades) in counts.values_of(Topic::Cause) {
            *causes.entry(cause.to_owned()).or_default() += grades;
        }
    }
    Ok(Some(RunDetail::new(summary, &rollups, causes, steps)))
}
