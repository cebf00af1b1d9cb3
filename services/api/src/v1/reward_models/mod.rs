//! `/v1/reward-models`: loads reward models, scores inputs and collects preference pairs.

pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod pairs;
pub(crate) mod run_pairs;
pub(crate) mod score;

use assay_core::ErrorCode;
use assay_wire::reward_models::invalid_model_name;

use crate::error::{ApiError, ApiResult};

/// Rejects a path whose parameter is not the name of a model.
fn check_name(name: &str) -> ApiResult<()> {
    match invalid_model_name(name) {
        None => Ok(()),
        Some(message) => Err(ApiError::new(ErrorCode::InvalidParameter, message)),
    }
}
