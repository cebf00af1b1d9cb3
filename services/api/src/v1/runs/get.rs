//! `GET /v1/runs/{run}`: totals of one run by grader and step.

use assay_core::ErrorCode;
use assay_mapping::runs::run_detail;
use assay_wire::runs::RunDetail;
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::path::PathParameter;
use crate::query::{Query, Within};
use crate::v1::grades::record_of;

/// Default and maximum number of steps in a reply.
const DEFAULT_STEPS: u32 = 100;
const MAX_STEPS: u32 = 10_000;

/// The number of steps to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DetailQuery {
    /// Number of steps, counted from the highest, 0 to 10,000; 100 by default.
    #[param(value_type = Option<usize>, minimum = 0, maximum = 10000)]
    steps: Option<Within<0, MAX_STEPS>>,
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
    Query(query): Query<DetailQuery>,
    PathParameter(run): PathParameter,
) -> ApiResult<Json<RunDetail>> {
    let steps = query.steps.map_or(DEFAULT_STEPS, Within::get);
    let detail = run_detail(record_of(&api)?, &run, steps as usize).await?;
    match detail {
        Some(detail) => Ok(Json(detail)),
        None => {
            let message = api.review().unknown_run(&run).await?;
            Err(ApiError::new(ErrorCode::NotFound, message))
        }
    }
}
