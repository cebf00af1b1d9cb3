//! `GET /v1/sessions`: the open sessions.

use assay_core::SessionId;
use assay_wire::sessions::SessionsBody;
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::sender;
use crate::Api;
use crate::error::ApiResult;
use crate::query::Query;
use crate::v1::grades::parse;
use crate::v1::page::{self, PageLimit};

/// The position and size of a page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// List only sessions after this one: `next` of the previous page. The oldest if omitted.
    #[param(pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
    after: Option<String>,
    /// Number of sessions on the page, 1 to 1,000; 100 by default.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<PageLimit>,
}

/// Lists the open sessions of the caller, oldest first, in pages. Operators see those of all
/// callers.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(ListQuery), responses(
    (status = 200, description = "A page of sessions", body = SessionsBody),
))]
pub(crate) async fn list(
    api: Api,
    Query(query): Query<ListQuery>,
) -> ApiResult<Json<SessionsBody>> {
    let ListQuery { after, limit } = query;
    let limit = page::limit(limit);
    let after: Option<SessionId> = after.as_deref().map(|id| parse("after", id)).transpose()?;
    let sessions = api
        .sessions()
        .list(&sender(&api), after, limit as usize + 1);
    let (sessions, more) = page::split(sessions, limit);
    let next = sessions.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Json(SessionsBody { sessions, next }))
}
