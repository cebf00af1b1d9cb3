//! `/v1/grades`: the recorded grades.

pub(crate) mod adjudicate;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod replay;

use assay_core::{ErrorCode, GradeId};
use assay_record::Record;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;

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

/// Parses the id of a grade from the path.
pub(crate) fn path_id(path: Result<Path<String>, PathRejection>) -> ApiResult<GradeId> {
    let Path(id) = path?;
    parse_id("id", &id)
}

/// Parses an id from a path or query.
pub(crate) fn parse_id<T: std::str::FromStr<Err: std::fmt::Display>>(
    name: &str,
    text: &str,
) -> ApiResult<T> {
    text.parse()
        .map_err(|error| ApiError::new(ErrorCode::InvalidParameter, format!("`{name}`: {error}")))
}
