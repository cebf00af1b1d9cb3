//! Access of the pages to the record.

use std::sync::Arc;

use assay_engine::Engine;
use assay_record::store::Store;
use http::StatusCode;

use crate::failure::{Failure, Result};

/// The store of the record.
pub(crate) fn store(engine: &Engine) -> Result<&Arc<dyn Store>> {
    let message = "the node has no record; start it with a database";
    engine
        .store()
        .ok_or_else(|| Failure::new(StatusCode::SERVICE_UNAVAILABLE, message))
}
