//! `GET /v1/costs`: what items cost, and the slowest grades.

use assay_record::cost::{CostFilter, CostKey};
use assay_wire::costs::CostsBody;
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::grades::record_of;
use crate::Api;
use crate::error::ApiResult;
use crate::query::{Query, Within};

/// Maximum number of rows of each list.
const MAX_ROWS: u32 = 1_000;

/// Default number of rows of each list.
const DEFAULT_ROWS: u32 = 50;

/// Which costs are summed.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CostsQuery {
    /// Exact name of the run.
    run: Option<String>,
    /// Exact name of the caller.
    caller: Option<String>,
    /// Exact name of the grader.
    grader: Option<String>,
    /// Maximum number of runs, callers, graders and grades, 1 to 1,000; 50 by default.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<Within<1, MAX_ROWS>>,
}

/// Returns what items cost by run, caller and grader, and the slowest grades.
#[utoipa::path(get, path = "/v1/costs", tag = "record", params(CostsQuery), responses(
    (status = 200, description = "Sums of costs, and the slowest grades", body = CostsBody),
))]
pub(crate) async fn get(api: Api, Query(query): Query<CostsQuery>) -> ApiResult<Json<CostsBody>> {
    let record = record_of(&api)?;
    let limit = query.limit.map_or(DEFAULT_ROWS, Within::get);
    let filter = CostFilter {
        run: query.run,
        caller: query.caller,
        grader: query.grader,
    };
    Ok(Json(CostsBody {
        runs: record.costs(CostKey::Run, &filter, limit).await?,
        callers: record.costs(CostKey::Caller, &filter, limit).await?,
        graders: record.costs(CostKey::Grader, &filter, limit).await?,
        slowest: record.slowest(&filter, limit).await?,
    }))
}
