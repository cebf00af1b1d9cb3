//! Reads of the record in the wire's words, for the routes and for the command line, which reads a
//! record without a server.

use std::collections::BTreeMap;

use assay_core::chart::Topic;
use assay_core::store::{Store, StoreError};
use assay_wire::runs::RunDetail;

/// A bucket of steps that holds those of any run but for their sign.
const ALL_STEPS: i64 = 1 << 40;

/// One run with its highest `steps` steps; `None` if nothing was graded under its name.
///
/// # Errors
/// [`StoreError`] when the record cannot be read.
pub async fn run_detail(
    store: &dyn Store,
    run: &str,
    steps: usize,
) -> Result<Option<RunDetail>, StoreError> {
    let Some(summary) = store.run(run).await? else {
        return Ok(None);
    };
    let rollups = store.run_series(run).await?;
    let mut causes: BTreeMap<String, u64> = BTreeMap::new();
    for counted in store.run_steps(run, ALL_STEPS).await?.values() {
        for ((topic, word), grades) in &counted.words {
            if *topic == Topic::Cause {
                *causes.entry(word.clone()).or_default() += grades;
            }
        }
    }
    Ok(Some(RunDetail::new(summary, &rollups, causes, steps)))
}
