//! What pages of lists share.

use assay_core::ErrorCode;

use crate::error::{ApiError, ApiResult};

/// Rows of a page unless the request says otherwise, and at most.
const DEFAULT: u32 = 100;
const MOST: u32 = 1_000;

/// Rows of a page, 1 to 1,000.
pub(crate) fn limit(asked: Option<u32>) -> ApiResult<u32> {
    let limit = asked.unwrap_or(DEFAULT);
    if (1..=MOST).contains(&limit) {
        return Ok(limit);
    }
    Err(ApiError::new(
        ErrorCode::InvalidParameter,
        format!("`limit` is 1 to {MOST}: {limit}"),
    ))
}
