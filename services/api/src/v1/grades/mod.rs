//! `/v1/grades`: the recorded grades.

pub(crate) mod adjudicate;
pub(crate) mod comments;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod receipt;
pub(crate) mod replay;

use assay_core::ErrorCode;
use assay_record::Record;

use crate::Api;
use crate::error::{ApiError, ApiResult};

/// The record, or an error if the node has none.
pub(crate) fn record_of(api: &Api) -> ApiResult<&Record> {
    api.engine().record().ok_or_else(|| {
        ApiError::new(
            ErrorCode::StoreUnavailable,
            "the node has no record; start it with a database",
        )
    })
}

/// Parses a value from a path or query.
pub(crate) fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(
    name: &str,
    text: &str,
) -> ApiResult<T> {
    text.parse()
        .map_err(|error| ApiError::new(ErrorCode::InvalidParameter, format!("`{name}`: {error}")))
}
