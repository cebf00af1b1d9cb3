//! `/v1/grades/{id}/comments`: comments and labels of operators on a grade.

use assay_core::BatchId;
use assay_review::ReviewError;
use assay_wire::Problem;
use assay_wire::comments::{CommentBody, CommentRequest};
use axum::Json;
use http::StatusCode;
use serde_json::json;

use super::parse;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::{ApiError, ApiResult};
use crate::path::PathParameter;

/// Stores a comment with a text, labels, or both on a grade, which has at most 100.
#[utoipa::path(post, path = "/v1/grades/{id}/comments", tag = "record",
    params(("id" = String, Path, description = "Id of the grade",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    request_body = CommentRequest,
    responses(
        (status = 200, description = "The stored comment", body = CommentBody),
        (status = 404, description = "No grade has this id", body = assay_wire::ProblemBody),
        (status = 422, description = "A field is invalid, or the grade has too many comments",
         body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn comment(
    api: Api,
    PathParameter(id): PathParameter,
    body: RequestBody,
) -> ApiResult<Json<CommentBody>> {
    let id = parse("id", &id)?;
    let (request, _permit) = body.json(&api, BodyKind::Settings).await?;
    let CommentRequest { text, labels } = request;
    let comment = api
        .review()
        .comment(id, &text, &labels, api.caller().name())
        .await
        .map_err(with_pointer)?;
    api.audit(
        "grade.comment",
        &id.to_string(),
        json!({ "comment": comment.id.to_string(), "labels": comment.labels }),
    )
    .await;
    Ok(Json(comment.into()))
}

/// Deletes a comment of the caller.
#[utoipa::path(delete, path = "/v1/grades/{id}/comments/{comment}", tag = "record",
    params(("id" = String, Path, description = "Id of the grade",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$"),
           ("comment" = String, Path, description = "Id of the comment",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    responses(
        (status = 204, description = "The comment is deleted"),
        (status = 403, description = "The comment has another author",
         body = assay_wire::ProblemBody),
        (status = 404, description = "The grade has no such comment",
         body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn delete(
    api: Api,
    PathParameter((id, comment)): PathParameter<(String, String)>,
) -> ApiResult<StatusCode> {
    let id = parse("id", &id)?;
    let comment: BatchId = parse("comment", &comment)?;
    api.review()
        .delete_comment(id, comment, api.caller().name())
        .await?;
    let details = json!({ "comment": comment.to_string() });
    api.audit("grade.delete-comment", &id.to_string(), details)
        .await;
    Ok(StatusCode::NO_CONTENT)
}

fn with_pointer(error: ReviewError) -> ApiError {
    match error {
        ReviewError::InvalidComment { field, message } => {
            Problem::invalid(format!("/{field}"), message).into()
        }
        error => error.into(),
    }
}
