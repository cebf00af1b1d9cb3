//! `/compat/nemo-gym`: a resources server of NeMo Gym. A rollout without a reward has
//! `mask_sample: true`, so it is left out of the loss. Its `reward` is 0 because the format
//! requires a number.

pub(crate) mod metrics;
mod rollout;
pub(crate) mod tools;

use assay_wire::RawObject;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::grading::{Graded, GradingQuery, grade_one};
use crate::compat::peer_error::{PeerError, retry_after};
use crate::error::ApiError;
use crate::query::Query;
use crate::v1::sessions::sender;

/// The request: a rollout with the fields of its row of the dataset, such as `task`.
#[derive(ToSchema)]
#[schema(as = NemoGymVerifyRequest)]
struct VerifyRequest {
    /// A response of OpenAI's API. The text of its last message is graded.
    #[schema(value_type = Value)]
    response: Box<RawValue>,
    /// The row, and `responses_create_params`.
    #[schema(value_type = Map<String, Value>)]
    #[serde(flatten)]
    row: RawObject,
}

/// Implemented manually, because the derive for flattened fields would lose digits of numbers.
impl<'de> Deserialize<'de> for VerifyRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut row = RawObject::deserialize(deserializer)?;
        let response = row.0.remove("response");
        Ok(Self {
            response: response.ok_or_else(|| de::Error::missing_field("response"))?,
            row,
        })
    }
}

/// The reply: the request with these fields.
#[derive(Serialize, ToSchema)]
#[schema(as = NemoGymVerifyReply)]
struct VerifyReply {
    reward: f64,
    /// Whether the rollout must be left out of the loss, because it has no reward.
    mask_sample: bool,
    /// The cause: a name of NeMo Gym where the service is at fault, such as `verifier_error`, or
    /// `assay:` and the code of the error, such as `assay:gold_unparsable`.
    failure_kind: Option<String>,
    failure_reason: Option<String>,
    /// With a class, NeMo Gym keeps the rollout out of its metrics, and runs it again when the
    /// collection is resumed.
    #[serde(rename = "_ng_failure_class", skip_serializing_if = "Option::is_none")]
    failure_class: Option<&'static str>,
    /// Whether it is not run again, because the task is at fault.
    #[serde(
        rename = "_ng_failure_terminal",
        skip_serializing_if = "Option::is_none"
    )]
    failure_terminal: Option<bool>,
    verdict: Option<String>,
    /// The grade in the record.
    grade: Option<String>,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    request: RawObject,
}

/// Error body of NeMo Gym's servers.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    detail: String,
}

/// The error in the format of NeMo Gym, whose client retries 429 and 5xx.
pub(super) fn error_response(error: PeerError) -> Response {
    let (status, detail, after) = error.parts(StatusCode::UNPROCESSABLE_ENTITY);
    retry_after((status, Json(ErrorBody { detail })).into_response(), after)
}

/// Grades a rollout, in the format of a resources server of NeMo Gym. If the rollout called
/// `execute_python`, the log of its interpreter session becomes part of the grade.
#[utoipa::path(post, path = "/compat/nemo-gym/verify", tag = "compatibility",
    params(GradingQuery),
    request_body(content = VerifyRequest, content_type = "application/json", example = json!({
        "responses_create_params": {
            "input": [{ "role": "user", "content": "What is 1/6 + 1/6?" }] },
        "response": { "output": [{ "type": "message", "role": "assistant", "content": [
            { "type": "output_text", "text": "It is \\boxed{1/3}." }] }] },
        "task": { "type": "math", "answer": "1/3" },
    })),
    responses((status = 200, description = "The request with its reward", body = VerifyReply)))]
pub(crate) async fn verify(
    api: Api,
    query: Result<Query<GradingQuery>, ApiError>,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, PeerError> {
    let Query(query) = query?;
    let (VerifyRequest { response, row }, permit) =
        body.lenient_json(&api, BodyKind::Batch).await?;
    let parsed: Value = serde_json::from_str(response.get())
        .map_err(|error| PeerError::Input(format!("cannot read `response`: {error}")))?;
    let mut columns = row.clone();
    let parameters = columns.0.remove("responses_create_params");
    let task = query.task(columns, "task")?;
    let mut item = rollout::read(&parsed, parameters.as_deref(), task)?;
    let (sessions, sender) = (api.sessions(), sender(&api));
    let session = tools::ToolSession::of(&headers);
    item.session = session
        .as_ref()
        .and_then(|session| session.id(sessions, &sender));
    let graded = grade_one(&api, &query, item, permit).await?;
    let mut request = row;
    request.0.insert("response".to_owned(), response);
    Ok(Json(VerifyReply::new(graded, request)).into_response())
}

impl VerifyReply {
    fn new(graded: Graded, mut request: RawObject) -> Self {
        let is_missing = graded.reward.is_none();
        let failed = graded.has_failed();
        let own = [
            "reward",
            "mask_sample",
            "failure_kind",
            "failure_reason",
            "_ng_failure_class",
            "_ng_failure_terminal",
            "verdict",
            "grade",
        ];
        request.0.retain(|name, _| !own.contains(&name.as_str()));
        Self {
            reward: graded.reward.unwrap_or(0.0),
            mask_sample: is_missing,
            failure_kind: is_missing.then(|| failure_kind(&graded)),
            failure_reason: is_missing.then(|| graded.reason()),
            // Of these classes, NeMo Gym can verify `judge_failed` again without a new rollout.
            failure_class: is_missing.then_some(if failed {
                "judge_failed"
            } else {
                "task_ungradable"
            }),
            failure_terminal: is_missing.then_some(!failed),
            verdict: graded.verdict,
            grade: graded.grade,
            request,
        }
    }
}

/// The cause of a missing reward, by the vocabulary of NeMo Gym (`nemo_gym/failure_kinds.py`). It
/// has no names for tasks at fault, so those have the prefix that it requires of other names.
fn failure_kind(graded: &Graded) -> String {
    let code = graded
        .error
        .as_ref()
        .map_or("no_reward", |error| error.code.as_str());
    let registered = match code {
        "grader_panicked" | "internal" => "verifier_error",
        "sandbox_failed" | "grader_unavailable" | "model_unavailable" => "provider_unavailable",
        "cancelled" => "cancelled",
        "shutting_down" => "shutdown",
        _ => return format!("assay:{code}"),
    };
    registered.to_owned()
}

/// Reports that a rollout can be verified again at any time.
#[utoipa::path(get, path = "/compat/nemo-gym/reverify_mode", tag = "compatibility",
    responses((status = 200, description = "`stateless`", body = String,
        content_type = "application/json")))]
pub(crate) async fn reverify_mode() -> Json<&'static str> {
    Json("stateless")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn failure_kinds_name_the_cause() {
        let graded = |outcome: &str, code: &str| -> Graded {
            serde_json::from_value(json!({
                "outcome": outcome, "verdict": null, "reward": null, "grade": null,
                "error": { "code": code, "message": "m" },
            }))
            .unwrap()
        };
        for (outcome, code, kind) in [
            ("failed", "grader_panicked", "verifier_error"),
            ("failed", "sandbox_failed", "provider_unavailable"),
            ("failed", "cancelled", "cancelled"),
            ("ungradable", "gold_unparsable", "assay:gold_unparsable"),
            ("ungradable", "task_at_fault", "assay:task_at_fault"),
        ] {
            assert_eq!(failure_kind(&graded(outcome, code)), kind);
        }
    }
}
