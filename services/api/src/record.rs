//! Reads of the record in the wire's words, for the routes and for the command line, which reads a record without a server.

use std::collections::BTreeMap;

use assay_core::store::{Store, StoreError};
use assay_wire::runs::RunDetail;

/// One run with its highest `steps` steps; `None` if nothing was graded under its name.
///
/// # Errors
/// [`StoreError`] when the record cannot be read.
pub async fn run_detail(store: &dyn Store, run: &str, steps: usize) -> Result<Option<RunDetail>, StoreError> {
    let Some(summary) = store.run(run).await? else { return Ok(None) };
    let rollups = store.run_series(run).await?;
    Ok(Some(RunDetail::new(summary, &rollups, BTreeMap::new(), steps)))
}
