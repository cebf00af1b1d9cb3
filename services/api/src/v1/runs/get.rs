//! `GET /v1/runs/{run}`: one run by grader and step.

use assay_core::ErrorCode;
use assay_wire::runs::RunDetail;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::record::run_detail;
use crate::v1::grades::store;

/// Steps of a reply unless the request says otherwise, and at most.
const DEFAULT_STEPS: usize = 100;
const MAX_STEPS: usize = 10_000;

/// How much of a run.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DetailQuery {
    /// The highest so many steps, 0 to 10,000; 100 unless given.
    #[param(minimum = 0, maximum = 10000)]
    steps: Option<usize>,
}

/// One run: by grader over all steps, by step, its verdicts, and why items have no score.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "record",
    params(("run" = String, Path, description = "Name of the run"), DetailQuery),
    responses(
        (status = 200, description = "The run", body = RunDetail),
        (status = 404, description = "No run has this name", body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn get(
    State(api): State<Api>,
    path: Result<Path<String>, PathRejection>,
    query: Result<Query<DetailQuery>, QueryRejection>,
) -> ApiResult<Json<RunDetail>> {
    let wrong = |text: String| ApiError::new(ErrorCode::InvalidParameter, text);
    let Path(run) = path.map_err(|error| wrong(error.body_text().to_lowercase()))?;
    let Query(query) = query.map_err(|error| wrong(error.body_text().to_lowercase()))?;
    let steps = query.steps.unwrap_or(DEFAULT_STEPS);
    if steps > MAX_STEPS {
        return Err(wrong(format!("`steps` is 0 to {MAX_STEPS}: {steps}")));
    }
    let detail = run_detail(store(&api)?.as_ref(), &run, steps).await?;
    let unknown = || {
        ApiError::new(
            ErrorCode::NotFound,
            format!("no run has the name `{run}`; `/v1/runs` lists them"),
        )
    };
    detail.map(Json).ok_or_else(unknown)
}
