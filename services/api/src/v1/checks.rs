//! `/v1/checks`: reports of dataset checks, sent by `assay check --record` or by any client with a
//! report in JSON.

use std::fmt::Display;

use assay_core::{BatchId, ErrorCode};
use assay_review::dataset_checks::NewDatasetCheck;
use assay_wire::checks::{CheckBody, CheckDetail, CheckReport, CheckedDataset, ChecksBody};
use assay_wire::{Problem, ProblemBody};
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::grades::{parse, record_of};
use super::page::{self, PageLimit};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::{ApiError, ApiResult};
use crate::path::PathParameter;
use crate::query::Query;

/// Stores the report of a dataset check, in the format of `assay check --format json`. The reply is
/// sent once the report is durable.
#[utoipa::path(post, path = "/v1/checks", tag = "record", request_body = CheckReport, responses(
    (status = 200, description = "The stored check", body = CheckBody),
))]
pub(crate) async fn record(api: Api, body: RequestBody) -> ApiResult<Json<CheckBody>> {
    let convert = |report: CheckReport| new_check(&report);
    let (check, _permit) = body.checked_json(&api, BodyKind::Batch, convert).await?;
    let _charge = api.charge(1, check.report_json.len())?;
    Ok(Json(
        api.review()
            .record_dataset_check(check, api.caller().name())
            .await?
            .into(),
    ))
}

fn new_check(report: &CheckReport) -> Result<NewDatasetCheck, Problem> {
    report
        .check()
        .map_err(|(pointer, message)| Problem::invalid(pointer, message))?;
    let serialisation_error = |error| {
        Problem::new(
            ErrorCode::Internal,
            format!("cannot serialise the report: {error}"),
        )
    };
    Ok(NewDatasetCheck {
        datasets: report.datasets.iter().map(CheckedDataset::name).collect(),
        checked: report.datasets.iter().map(|dataset| dataset.checked).sum(),
        errors: report.errors,
        warnings: report.warnings,
        report_json: serde_json::to_vec(report).map_err(serialisation_error)?,
    })
}

fn read_error(error: impl Display) -> ApiError {
    ApiError::new(
        ErrorCode::Internal,
        format!("cannot read the stored report: {error}"),
    )
}

/// The position and size of a page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// List only checks before this one: `next` of the previous page. The newest checks if omitted.
    #[param(pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
    before: Option<String>,
    /// Number of checks on the page, 1 to 1,000; 100 by default.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<PageLimit>,
}

/// Lists dataset checks, newest first, in pages.
#[utoipa::path(get, path = "/v1/checks", tag = "record", params(PageQuery), responses(
    (status = 200, description = "A page of checks", body = ChecksBody),
))]
pub(crate) async fn list(api: Api, Query(query): Query<PageQuery>) -> ApiResult<Json<ChecksBody>> {
    let PageQuery { before, limit } = query;
    let limit = page::limit(limit);
    let before: Option<BatchId> = before
        .as_deref()
        .map(|id| parse("before", id))
        .transpose()?;
    let checks = record_of(&api)?.dataset_checks(before, limit + 1).await?;
    let (checks, more) = page::split(checks, limit);
    let next = checks
        .last()
        .filter(|_| more)
        .map(|last| last.id.to_string());
    Ok(Json(ChecksBody {
        checks: checks.into_iter().map(CheckBody::from).collect(),
        next,
    }))
}

/// Returns one dataset check with its report.
#[utoipa::path(get, path = "/v1/checks/{id}", tag = "record",
    params(("id" = String, Path, description = "Id of the check",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    responses(
        (status = 200, description = "The check", body = CheckDetail),
        (status = 404, description = "No check has this id", body = ProblemBody),
    ))]
pub(crate) async fn get(
    api: Api,
    PathParameter(id): PathParameter,
) -> ApiResult<Json<CheckDetail>> {
    let id: BatchId = parse("id", &id)?;
    let store = record_of(&api)?;
    let unknown = || {
        ApiError::new(
            ErrorCode::NotFound,
            format!("no check has the id `{id}`; `/v1/checks` lists them"),
        )
    };
    let check = store.dataset_check(id).await?.ok_or_else(unknown)?;
    let content = store.body(check.report).await?.ok_or_else(unknown)?.content;
    let read = tokio::task::spawn_blocking(move || serde_json::from_slice(&content)).await;
    let report = read.map_err(read_error)?.map_err(read_error)?;
    Ok(Json(CheckDetail {
        check: check.into(),
        report,
    }))
}
