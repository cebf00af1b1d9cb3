//! `GET /v1/runs`: the recorded training runs.

use assay_review::run_list;
use assay_wire::runs::RunsBody;
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Api;
use crate::error::ApiResult;
use crate::query::{Query, Within};
use crate::v1::grades::record_of;
use crate::v1::page::{self, PageLimit};

/// Largest offset of a page; a record has fewer runs.
const MAX_OFFSET: u32 = 100_000_000;

/// Which runs to list, their order, and the position of the page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Part of the name or of the note, at most 256 bytes. The case of ASCII letters is ignored.
    search: Option<String>,
    /// A tag of the run.
    #[param(pattern = "^[a-z0-9._-]{1,64}$")]
    tag: Option<String>,
    /// `true` for archived runs only; by default, and if it is `false`, for the other ones.
    archived: Option<bool>,
    /// `last_used` (the default), `name`, `grades`, `mean_reward` or `pass_rate`. Runs without a
    /// value are last.
    #[param(pattern = "^(last_used|name|grades|mean_reward|pass_rate)$")]
    sort: Option<String>,
    /// `asc` for the smallest first, which is the default for names, or `desc`.
    #[param(pattern = "^(asc|desc)$")]
    order: Option<String>,
    /// Number of runs before the page: `next` of the previous page.
    #[param(value_type = Option<u32>, minimum = 0, maximum = 100_000_000)]
    offset: Option<Within<0, MAX_OFFSET>>,
    /// Number of runs on the page, 1 to 1,000; 1,000 by default.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<PageLimit>,
}

/// Lists the recorded runs with their totals, tags and notes, in pages.
#[utoipa::path(get, path = "/v1/runs", tag = "record", params(ListQuery), responses(
    (status = 200, description = "A page of runs", body = RunsBody),
))]
pub(crate) async fn list(api: Api, Query(query): Query<ListQuery>) -> ApiResult<Json<RunsBody>> {
    let (search, tag) = (query.search.as_deref(), query.tag.as_deref());
    let filter = run_list::filter(search, tag, query.archived)?;
    let order = run_list::order(query.sort.as_deref(), query.order.as_deref())?;
    let (offset, limit) = (
        query.offset.map_or(0, Within::get),
        page::limit_or_largest(query.limit),
    );
    let runs = record_of(&api)?.run_list(&filter, order, offset, limit + 1);
    let (runs, more) = page::split(runs.await?, limit);
    Ok(Json(RunsBody {
        runs,
        next: more.then_some(offset + limit),
    }))
}
