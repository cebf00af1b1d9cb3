//! Access of the pages to the record.

use assay_record::Record;
use assay_review::Review;
use http::StatusCode;

use crate::failure::{Failure, Result};

/// The record of the node.
pub(crate) fn record_of(review: &Review) -> Result<&Record> {
    let message = "the node has no record; start it with a database";
    review
        .engine()
        .record()
        .ok_or_else(|| Failure::new(StatusCode::SERVICE_UNAVAILABLE, message))
}
