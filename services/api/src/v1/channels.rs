//! `/v1/channels`: error rates of verifiers.

use assay_core::ErrorCode;
use assay_mapping::render;
use assay_rewards::channel::{Comparison, Ledger, Report};
use assay_wire::Problem;
use assay_wire::channels::{CalibrationBody, ChannelsBody, ComparisonBody};
use axum::Json;
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use super::page::{self, PageLimit};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::{ApiError, ApiResult};
use crate::query::Query;

/// The position and size of a page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// List only channels after this one, such as `math/default@1`: `next` of the previous page.
    /// The first channels if omitted.
    after: Option<String>,
    /// Number of channels on the page, 1 to 1,000; 1,000 by default.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<PageLimit>,
}

/// Lists the channels with recorded grades or calibrations, by name and version of the grader, in
/// pages.
#[utoipa::path(get, path = "/v1/channels", tag = "noise", params(PageQuery), responses(
    (status = 200, description = "A page of channels", body = ChannelsBody),
))]
pub(crate) async fn list(
    api: Api,
    Query(query): Query<PageQuery>,
) -> ApiResult<Json<ChannelsBody>> {
    let PageQuery { after, limit } = query;
    let limit = page::limit_or_largest(limit);
    let after = after.as_deref().map(parse_version).transpose()?;
    let ledger = api.review().channels().await?;
    let (reports, more) = page::split(
        ledger
            .reports()
            .filter(|report| after.is_none_or(|after| (&*report.channel, report.version) > after))
            .take(limit as usize + 1)
            .collect(),
        limit,
    );
    let last: Option<&&Report> = reports.last().filter(|_| more);
    Ok(Json(ChannelsBody {
        next: last.map(|last| format!("{}@{}", last.channel, last.version)),
        channels: reports.into_iter().map(render::channel_report).collect(),
    }))
}

/// A channel and the version of its grader, as in `math/default@1`.
fn parse_version(name: &str) -> ApiResult<(&str, u32)> {
    let parsed = name
        .rsplit_once('@')
        .and_then(|(channel, version)| Some((channel, version.parse().ok()?)));
    parsed.ok_or_else(|| {
        ApiError::new(
            ErrorCode::InvalidParameter,
            format!("`after` must be a channel with a version, such as `math/default@1`: `{name}`"),
        )
    })
}

/// The channels to compare.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CompareQuery {
    /// The first channel, such as `math/default`, optionally with a version of its grader, such as
    /// `math/default@1`; the newest version if omitted.
    first: String,
    /// The second channel, in the same format.
    second: String,
}

/// Compares two channels, or two versions of one channel.
#[utoipa::path(get, path = "/v1/channels/compare", tag = "noise", params(CompareQuery), responses(
    (status = 200, description = "Both channels and their differences", body = ComparisonBody),
    (status = 404, description = "A channel has no grades", body = assay_wire::ProblemBody),
))]
pub(crate) async fn compare(
    api: Api,
    Query(query): Query<CompareQuery>,
) -> ApiResult<Json<ComparisonBody>> {
    let CompareQuery { first, second } = query;
    let ledger = api.review().channels().await?;
    let (first, second) = (
        find_report(&ledger, &first)?,
        find_report(&ledger, &second)?,
    );
    Ok(Json(render::comparison(&Comparison::new(first, second))))
}

/// The report of a channel, by its name in a request.
fn find_report<'l>(ledger: &'l Ledger, name: &str) -> ApiResult<&'l Report> {
    let report = ledger.named(name);
    report.ok_or_else(|| {
        ApiError::new(
            ErrorCode::NotFound,
            format!("the channel `{name}` has no grades"),
        )
    })
}

/// Stores error rates of a channel that were measured on labelled data. They are used until enough
/// verdicts of the channel have been checked.
#[utoipa::path(post, path = "/v1/channels/calibrations", tag = "noise",
    request_body = CalibrationBody,
    responses(
        (status = 200, description = "The stored calibration", body = CalibrationBody),
    ))]
pub(crate) async fn calibrate(api: Api, body: RequestBody) -> ApiResult<Json<CalibrationBody>> {
    let (request, _permit) = body
        .json::<CalibrationBody>(&api, BodyKind::Settings)
        .await?;
    let calibration = request
        .check()
        .map_err(|(field, message)| Problem::invalid(format!("/{field}"), message))?;
    let grader = calibration.channel.split('/').next().unwrap_or_default();
    if api.engine().graders().by_name(grader).is_none() {
        let message = format!(
            "no grader is named `{grader}`; a channel is a grader and a task family, such as \
             `math/default`"
        );
        return Err(Problem::at(ErrorCode::UnknownGrader, "/channel".to_owned(), message).into());
    }
    let stored = api
        .review()
        .calibrate(calibration, api.caller().name())
        .await?;
    let channel = format!("{}@{}", stored.channel, stored.version);
    api.audit("channel.calibrate", &channel, json!({})).await;
    Ok(Json(stored.into()))
}
