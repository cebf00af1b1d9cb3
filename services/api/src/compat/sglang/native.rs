//! `POST` and `PUT /compat/sglang/classify`, which Skywork's client uses; it reads
//! `reply[i]["embedding"][0]`.

use assay_core::reward_model::Truncate;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::peer_error::{PeerError, retry_after};
use crate::compat::reward::{Activation, Inputs, new_reply_id, score_inputs, values};
use crate::error::ApiError;

/// The request. As in SGLang, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = SglangClassifyRequest)]
struct ClassifyRequest {
    #[serde(default)]
    text: Option<Inputs>,
    #[serde(default)]
    input_ids: Option<Inputs>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SglangJudged)]
struct ClassifyResult {
    embedding: Vec<f32>,
    meta_info: Meta,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SglangMeta)]
struct Meta {
    id: String,
    finish_reason: Finish,
    prompt_tokens: u32,
    cached_tokens: u32,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SglangFinish)]
struct Finish {
    #[serde(rename = "type")]
    kind: &'static str,
    length: u32,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = SglangClassifyReply)]
enum Reply {
    One(ClassifyResult),
    Several(Vec<ClassifyResult>),
}

/// Error body of SGLang's own routes.
#[derive(Serialize, ToSchema)]
pub(in crate::compat) struct ErrorBody {
    #[schema(inline)]
    error: ErrorInfo,
}

#[derive(Serialize, ToSchema)]
struct ErrorInfo {
    message: String,
}

/// The error in the format of SGLang's own routes.
pub(in crate::compat) fn error_response(error: PeerError) -> Response {
    let (status, message, after) = error.parts(StatusCode::BAD_REQUEST);
    retry_after(
        (
            status,
            Json(ErrorBody {
                error: ErrorInfo { message },
            }),
        )
            .into_response(),
        after,
    )
}

/// Computes raw scores of texts, in SGLang's format.
#[utoipa::path(post, path = "/compat/sglang/classify", tag = "compatibility",
    request_body(content = ClassifyRequest, content_type = "application/json", example = json!({
        "text": ["a text rendered by the chat template", "another"],
    })),
    responses(
        (status = 200, description = "The numbers of each input in `embedding`; an object for a \
                                      single input, an array for a list", body = Reply),
    ))]
pub(crate) async fn classify(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (ClassifyRequest { text, input_ids }, _permit) =
        body.lenient_json(&api, BodyKind::Batch).await?;
    let inputs = match (text, input_ids) {
        (Some(text @ (Inputs::Text(_) | Inputs::Texts(_))), None) => text,
        (None, Some(ids @ (Inputs::Ids(_) | Inputs::IdLists(_)))) => ids,
        _ => {
            let message = "send either `text`, a string or a list of strings, or `input_ids`, a \
                           list of token ids or a list of such lists";
            return Err(PeerError::Input(message.to_owned()));
        }
    };
    let is_list = inputs.is_list();
    let answer = score_inputs(&api, None, inputs.into_inputs(true), Truncate::Reject).await?;
    let results = answer.scores.iter().map(|score| ClassifyResult {
        embedding: values(&answer.model, score, Activation::Off),
        meta_info: Meta {
            id: new_reply_id(&api, "classify").0,
            finish_reason: Finish {
                kind: "length",
                length: 0,
            },
            prompt_tokens: score.tokens,
            cached_tokens: 0,
        },
    });
    let mut results: Vec<_> = results.collect();
    let reply = match results.pop() {
        Some(one) if !is_list => Reply::One(one),
        last => {
            results.extend(last);
            Reply::Several(results)
        }
    };
    Ok(answer.reply(Json(reply)))
}

/// Computes raw scores of texts, with the second method that SGLang supports.
#[utoipa::path(put, path = "/compat/sglang/classify", tag = "compatibility",
    request_body(content = ClassifyRequest, content_type = "application/json"),
    responses((status = 200, description = "As for `POST`", body = Reply)))]
pub(crate) async fn classify_put(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    classify(api, body).await
}

/// Reports whether a model is ready, in SGLang's format.
#[utoipa::path(get, path = "/compat/sglang/health", tag = "compatibility", responses(
    (status = 200, description = "A model is ready"),
))]
pub(crate) async fn health(api: Api) -> Result<(), PeerError> {
    api.models()
        .find(None)
        .map_err(|error| PeerError::NotReady(ApiError::from(error).problem().to_string()))?;
    Ok(())
}
