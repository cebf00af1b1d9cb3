//! Pages of lists.

use assay_core::ErrorCode;

use crate::error::{ApiError, ApiResult};

const DEFAULT: u32 = 100;
const MAX: u32 = 1_000;

/// Validates the requested number of entries on a page, 1 to 1,000; 100 by default.
pub(crate) fn limit(requested: Option<u32>) -> ApiResult<u32> {
    limit_or(requested, DEFAULT)
}

/// As [`limit`], with the largest page as the default: for lists that had no pages before.
pub(crate) fn limit_or_largest(requested: Option<u32>) -> ApiResult<u32> {
    limit_or(requested, MAX)
}

fn limit_or(requested: Option<u32>, default: u32) -> ApiResult<u32> {
    let limit = requested.unwrap_or(default);
    if (1..=MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(ApiError::new(
        ErrorCode::InvalidParameter,
        format!("`limit` is {limit}; it must be between 1 and {MAX}"),
    ))
}

/// The entries of a page and whether another page follows, from up to `limit + 1` entries.
pub(crate) fn split<T>(mut entries: Vec<T>, limit: u32) -> (Vec<T>, bool) {
    let more = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    (entries, more)
}
