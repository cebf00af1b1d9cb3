//! `GET /v1/runs/{run}`: totals of one run by grader and step.

use assay_core::ErrorCode;
use assay_mapping::runs::run_detail;
use assay_wire::runs::RunDetail;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::v1::grades::record_of;

/// Default and maximum number of steps in a reply.
const DEFAULT_STEPS: usize = 100;
const MAX_STEPS: usize = 10_000;

/// The number of steps to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DetailQuery {
    /// Number of steps, counted from the highest, 0 to 10,000; 100 by default.
    #[param(minimum = 0, maximum = 10000)]
    steps: Option<usize>,
}

/// Returns one run: totals by grader and by step, verdicts, and the errors of items without a
/// score.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "record",
    params(("run" = String, Path, description = "Name of the run"), DetailQuery),
    responses(
        (status = 200, description = "The run", body = RunDetail),
        (status = 404, description = "No run has this name", body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn get(
    api: Api,
    path: Result<Path<String>, PathRejection>,
    query: Result<Query<DetailQuery>, QueryRejection>,
) -> ApiResult<Json<RunDetail>> {
    let invalid = |text: String| ApiError::new(ErrorCode::InvalidParameter, text);
    let Path(run) = path?;
    let Query(query) = query?;
    let steps = query.steps.unwrap_or(DEFAULT_STEPS);
    if steps > MAX_STEPS {
        return Err(invalid(format!(
            "`steps` must be 0 to {MAX_STEPS}: {steps}"
        )));
    }
    let detail = run_detail(record_of(&api)?, &run, steps).await?;
    match detail {
        Some(detail) => Ok(Json(detail)),
        None => {
            let message = api.review().unknown_run(&run).await?;
            Err(ApiError::new(ErrorCode::NotFound, message))
        }
    }
}
