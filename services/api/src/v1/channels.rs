//! `/v1/channels`: how wrong verifiers are.

use assay_core::ErrorCode;
use assay_correction::channel::{Comparison, Ledger, Report};
use assay_wire::Problem;
use assay_wire::channels::{CalibrationBody, ChannelsBody, ComparisonBody};
use axum::Json;
use axum::body::Body;
use axum::extract::Query;
use axum::extract::State;
use axum::extract::rejection::QueryRejection;
use http::HeaderMap;
use serde::Deserialize;
use utoipa::IntoParams;

use super::grade::LOCAL_CALLER;
use crate::body::{self, BodyKind};
use crate::error::{ApiError, ApiResult};
use crate::{Api, render};

/// Every channel that was counted or calibrated, by name and version of the grader, as the record
/// has it now.
#[utoipa::path(get, path = "/v1/channels", tag = "noise", responses(
    (status = 200, description = "The channels", body = ChannelsBody),
))]
pub(crate) async fn list(State(api): State<Api>) -> ApiResult<Json<ChannelsBody>> {
    let ledger = api.engine().channels().await?;
    Ok(Json(ChannelsBody {
        channels: ledger.reports().map(render::channel_report).collect(),
    }))
}

/// Two channels.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CompareQuery {
    /// A channel, as `math/default`, or under a version of its grader, as `math/default@1`; the
    /// newest version when absent.
    one: String,
    /// Another.
    other: String,
}

/// What two channels, or two versions of one, differ in.
#[utoipa::path(get, path = "/v1/channels/compare", tag = "noise", params(CompareQuery), responses(
    (status = 200, description = "Both, and their differences", body = ComparisonBody),
    (status = 404, description = "Nothing was counted of a channel", body = assay_wire::ProblemBody),
))]
pub(crate) async fn compare(
    State(api): State<Api>,
    query: Result<Query<CompareQuery>, QueryRejection>,
) -> ApiResult<Json<ComparisonBody>> {
    let Query(CompareQuery { one, other }) = query.map_err(|error| {
        ApiError::new(
            ErrorCode::InvalidParameter,
            error.body_text().to_lowercase(),
        )
    })?;
    let ledger = api.engine().channels().await?;
    let (one, other) = (named(&ledger, &one)?, named(&ledger, &other)?);
    Ok(Json(render::comparison(&Comparison::new(one, other))))
}

/// The report of a channel as it is named in a request.
fn named<'l>(ledger: &'l Ledger, name: &str) -> ApiResult<&'l Report> {
    let report = ledger.named(name);
    report.ok_or_else(|| {
        ApiError::new(
            ErrorCode::NotFound,
            format!("nothing was counted of a channel `{name}`"),
        )
    })
}

/// Keeps rates of a channel found on labelled data. They stand until enough verdicts of the channel
/// were checked.
#[utoipa::path(post, path = "/v1/channels/calibrations", tag = "noise", request_body = CalibrationBody, responses(
    (status = 200, description = "The calibration, kept", body = CalibrationBody),
))]
pub(crate) async fn calibrate(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<CalibrationBody>> {
    let (read, _held) =
        body::json::<CalibrationBody>(&api, &headers, body, BodyKind::Settings).await?;
    let known = read.check().map_err(|(field, message)| {
        Problem::at(ErrorCode::InvalidField, format!("/{field}"), message)
    })?;
    let grader = known.channel.split('/').next().unwrap_or_default();
    if api.engine().graders().by_name(grader).is_none() {
        let message = format!(
            "no grader is named `{grader}`; a channel is a grader and a task family, as \
             `math/default`"
        );
        return Err(Problem::at(ErrorCode::UnknownGrader, "/channel".to_owned(), message).into());
    }
    Ok(Json(
        api.engine().calibrate(known, LOCAL_CALLER).await?.into(),
    ))
}
