//! `/v1/checks`: checks of datasets, sent here by `assay check --record` or by whoever has its report in JSON.

use assay_core::{BatchId, ErrorCode};
use assay_engine::NewCheck;
use assay_wire::checks::{CheckBody, CheckDetail, CheckReport, CheckedDataset, ChecksBody};
use assay_wire::{Problem, ProblemBody};
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use http::HeaderMap;
use serde::Deserialize;
use utoipa::IntoParams;

use super::grade::LOCAL_CALLER;
use super::grades::{parse_id, store};
use crate::error::{ApiError, ApiResult};
use crate::{Api, body};

/// Checks of a page unless the request says otherwise, and at most.
const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 1_000;

/// Keeps the report of a check of datasets, as `assay check --format json` writes it. The answer comes when it survives a crash.
#[utoipa::path(post, path = "/v1/checks", tag = "record", request_body = CheckReport, responses(
    (status = 200, description = "The check as it is kept", body = CheckBody),
    (status = 400, description = "The body is no JSON", body = ProblemBody),
    (status = 413, description = "Too many bytes", body = ProblemBody),
    (status = 422, description = "A field is wrong; the pointer says which", body = ProblemBody),
    (status = 503, description = "The record cannot be written", body = ProblemBody),
))]
pub(crate) async fn record(State(api): State<Api>, headers: HeaderMap, body: Body) -> ApiResult<Json<CheckBody>> {
    let report: CheckReport = body::json(&api, &headers, body).await?;
    if report.datasets.is_empty() {
        let message = "no dataset was checked; send the report of at least one";
        return Err(Problem::at(ErrorCode::InvalidField, "/datasets".to_owned(), message).into());
    }
    let report_json = serde_json::to_vec(&report)
        .map_err(|error| ApiError::new(ErrorCode::Internal, format!("the report cannot be written: {error}")))?;
    let check = NewCheck {
        checked: report.datasets.iter().fold(0, |sum: u64, dataset| sum.saturating_add(dataset.checked)),
        datasets: report.datasets.into_iter().map(name).collect(),
        errors: report.errors,
        warnings: report.warnings,
        report_json,
    };
    Ok(Json(api.engine().keep_check(check, LOCAL_CALLER).await?.into()))
}

/// A dataset's name without its revision: the check of another revision is a check of the same dataset.
fn name(dataset: CheckedDataset) -> String {
    match dataset.revision {
        Some(revision) => dataset.dataset.replace(&format!("@{revision}"), ""),
        None => dataset.dataset,
    }
}

/// Where a page starts.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Only checks before this one: `next` of the page before; from the newest without it.
    before: Option<String>,
    /// Checks of the page, 1 to 1,000; 100 unless given.
    limit: Option<u32>,
}

/// Checks of datasets, the newest first, one page at a time.
#[utoipa::path(get, path = "/v1/checks", tag = "record", params(PageQuery), responses(
    (status = 200, description = "A page of checks", body = ChecksBody),
    (status = 400, description = "A parameter is wrong", body = ProblemBody),
    (status = 503, description = "The record cannot be read", body = ProblemBody),
))]
pub(crate) async fn list(
    State(api): State<Api>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> ApiResult<Json<ChecksBody>> {
    let Query(PageQuery { before, limit }) =
        query.map_err(|error| ApiError::new(ErrorCode::InvalidParameter, error.body_text().to_lowercase()))?;
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        let message = format!("`limit` is 1 to {MAX_LIMIT}: {limit}");
        return Err(ApiError::new(ErrorCode::InvalidParameter, message));
    }
    let before: Option<BatchId> = before.as_deref().map(|id| parse_id("before", id)).transpose()?;
    // One more than the page tells whether another follows.
    let mut checks = store(&api)?.dataset_checks(before, limit + 1).await?;
    let more = checks.len() > limit as usize;
    checks.truncate(limit as usize);
    let next = checks.last().filter(|_| more).map(|last| last.id.to_string());
    Ok(Json(ChecksBody { checks: checks.into_iter().map(CheckBody::from).collect(), next }))
}

/// One check with its report.
#[utoipa::path(get, path = "/v1/checks/{id}", tag = "record",
    params(("id" = String, Path, description = "Id of the check")),
    responses(
        (status = 200, description = "The check", body = CheckDetail),
        (status = 400, description = "The id is no id", body = ProblemBody),
        (status = 404, description = "No check has this id", body = ProblemBody),
        (status = 503, description = "The record cannot be read", body = ProblemBody),
    ))]
pub(crate) async fn get(
    State(api): State<Api>,
    path: Result<Path<String>, PathRejection>,
) -> ApiResult<Json<CheckDetail>> {
    let Path(id) =
        path.map_err(|error| ApiError::new(ErrorCode::InvalidParameter, error.body_text().to_lowercase()))?;
    let id: BatchId = parse_id("id", &id)?;
    let store = store(&api)?;
    let unknown = || ApiError::new(ErrorCode::NotFound, format!("no check has the id `{id}`; `/v1/checks` lists them"));
    let check = store.dataset_check(id).await?.ok_or_else(unknown)?;
    let content = store.body(check.report).await?.ok_or_else(unknown)?.content;
    let report = serde_json::from_slice(&content)
        .map_err(|error| ApiError::new(ErrorCode::Internal, format!("the report of `{id}` cannot be read: {error}")))?;
    Ok(Json(CheckDetail { check: check.into(), report }))
}
