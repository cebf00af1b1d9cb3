//! `/v1/reward-models`: loads reward models, scores inputs and collects preference pairs.

pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod pairs;
pub(crate) mod run_pairs;
pub(crate) mod score;

use assay_core::ErrorCode;
use assay_wire::reward_models::invalid_model_name;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;

use crate::error::{ApiError, ApiResult};

/// Parses the name of a model from the path.
fn path_name(path: Result<Path<String>, PathRejection>) -> ApiResult<String> {
    let Path(name) = path?;
    match invalid_model_name(&name) {
        None => Ok(name),
        Some(message) => Err(ApiError::new(ErrorCode::InvalidParameter, message)),
    }
}
