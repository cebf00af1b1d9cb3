//! `GET /v1/audit`: the audit log, newest entries first.

use assay_core::ErrorCode;
use assay_wire::audit::{AuditBody, AuditPageBody};
use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::v1::page;

/// The position of the page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// List only entries before this one: `next` of the previous page.
    before: Option<i64>,
    /// Number of entries on the page, 1 to 1,000; 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Lists administrative acts and refused callers, newest first, in pages.
#[utoipa::path(get, path = "/v1/audit", tag = "record", params(PageQuery), responses(
    (status = 200, description = "A page of the audit log", body = AuditPageBody),
))]
pub(crate) async fn page(
    api: Api,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> ApiResult<Json<AuditPageBody>> {
    let Query(PageQuery { before, limit }) = query?;
    let limit = page::limit(limit)?;
    let store = api.gate().store().ok_or_else(|| {
        let message = "the node has no record; start it with a database";
        ApiError::new(ErrorCode::StoreUnavailable, message)
    })?;
    let (entries, more) = page::split(store.audit_log(before, limit + 1).await?, limit);
    let next = entries.last().filter(|_| more).map(|last| last.no);
    Ok(Json(AuditPageBody {
        entries: entries.into_iter().map(AuditBody::from).collect(),
        next,
    }))
}
