//! `GET /v1/runs/compare`: two runs, or two ranges of steps of one run, compared.

use assay_core::ErrorCode;
use assay_review::comparison::{Comparison, MAX_PROMPTS, RunRange, compare};
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::query::{Query, Within};
use crate::v1::grades::record_of;

/// Default number of prompts in a reply.
const DEFAULT_PROMPTS: u32 = 20;

/// The grades to compare.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CompareQuery {
    /// Name of the first run.
    a: String,
    /// Name of the second run; the first by default.
    b: Option<String>,
    /// First step of the first run to compare.
    a_from: Option<i64>,
    /// Last step of the first run to compare.
    a_to: Option<i64>,
    /// First step of the second run to compare.
    b_from: Option<i64>,
    /// Last step of the second run to compare.
    b_to: Option<i64>,
    /// Maximum number of prompts that flipped, 0 to 1,000; 20 by default.
    #[param(value_type = Option<usize>, minimum = 0, maximum = 1000)]
    prompts: Option<Within<0, MAX_PROMPTS>>,
}

/// Compares two runs, or two ranges of steps of one run: the difference of the mean rewards with
/// its interval, how much each verdict, channel and grader contributes to it, and the prompts that
/// only one of the two solves.
#[utoipa::path(get, path = "/v1/runs/compare", tag = "record", params(CompareQuery),
    responses(
        (status = 200, description = "The comparison", body = Comparison),
        (status = 404, description = "No run has this name", body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn compared(
    api: Api,
    Query(query): Query<CompareQuery>,
) -> ApiResult<Json<Comparison>> {
    let record = record_of(&api)?;
    let b = query.b.unwrap_or_else(|| query.a.clone());
    for run in [&query.a, &b] {
        if record.run(run).await?.is_none() {
            let message = api.review().unknown_run(run).await?;
            return Err(ApiError::new(ErrorCode::NotFound, message));
        }
    }
    let range = |run, from, to| RunRange { run, from, to };
    let a = range(query.a, query.a_from, query.a_to);
    let b = range(b, query.b_from, query.b_to);
    let prompts = query.prompts.map_or(DEFAULT_PROMPTS, Within::get);
    Ok(Json(compare(record, &a, &b, prompts).await?))
}
