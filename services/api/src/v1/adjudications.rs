//! `POST /v1/adjudications/next`: draws a grade for an operator to adjudicate.

use assay_mapping::grades::grade_detail;
use assay_review::adjudications::DrawFilter;
use assay_wire::channels::DrawnBody;
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::grades::record_of;
use crate::Api;
use crate::error::ApiResult;
use crate::query::Query;

/// Filters for the grades to draw from.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct NextQuery {
    /// Exact channel, such as `math/default`.
    channel: Option<String>,
    /// Whether the drawn verdict is a pass; chosen at random if omitted.
    passes: Option<bool>,
    /// Whether to draw only grades with a judge's verdict.
    judged: Option<bool>,
}

/// Draws a grade at random from the newest thousand that match and were not drawn before. The draw
/// and its probability are recorded, so that an adjudication of the grade counts towards the rates
/// of its channel.
#[utoipa::path(post, path = "/v1/adjudications/next", tag = "noise", params(NextQuery), responses(
    (status = 200, description = "The grade, or null if no grade matches", body = DrawnBody),
    (status = 400, description = "A parameter is invalid", body = assay_wire::ProblemBody),
    (status = 403, description = "The request was sent by a page of another site",
     body = assay_wire::ProblemBody),
    (status = 503, description = "The record cannot be read or written",
     body = assay_wire::ProblemBody),
))]
pub(crate) async fn next(api: Api, Query(query): Query<NextQuery>) -> ApiResult<Json<DrawnBody>> {
    let NextQuery {
        channel,
        passes,
        judged,
    } = query;
    let draws = DrawFilter {
        channel,
        passes,
        judged: judged.unwrap_or(false),
    };
    let Some((grade, draw)) = api.review().draw(&draws, api.caller().name()).await? else {
        return Ok(Json(DrawnBody {
            grade: None,
            probability: None,
        }));
    };
    let grade = grade_detail(record_of(&api)?, grade).await?;
    Ok(Json(DrawnBody {
        grade: Some(grade),
        probability: Some(draw.probability),
    }))
}
