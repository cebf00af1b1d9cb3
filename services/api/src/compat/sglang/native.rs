//! `POST` and `PUT /compat/sglang/classify`: what Skywork's own client asks; it reads
//! `reply[i]["embedding"][0]`.

use assay_core::reward_model::Truncate;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::told;
use crate::Api;
use crate::compat::reward::{Activation, Inputs, Trouble, ask, read, retry_after, stamp, values};
use crate::error::ApiError;

/// The request. Other fields are ignored, as the peer does.
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
struct Judged {
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
    One(Judged),
    Several(Vec<Judged>),
}

/// A refusal in the peer's words.
pub(crate) struct Refused(Trouble);

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        Self(trouble)
    }
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

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        refuse(self.0)
    }
}

/// The error in the format of SGLang's own routes.
pub(in crate::compat) fn refuse(trouble: Trouble) -> Response {
    let (status, message, after) = told(trouble);
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

/// Raw numbers of texts, in SGLang's format.
#[utoipa::path(post, path = "/compat/sglang/classify", tag = "compatibility",
    request_body(content = ClassifyRequest, content_type = "application/json", example = json!({
        "text": ["a text that the chat template made", "another"],
    })),
    responses(
        (status = 200, description = "The numbers of each input in `embedding`; an object for a \
                                      single input, an array for a list", body = Reply),
    ))]
pub(crate) async fn classify(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let (ClassifyRequest { text, input_ids }, _held) = read(&api, &headers, body).await?;
    let inputs = match (text, input_ids) {
        (Some(text @ (Inputs::Text(_) | Inputs::Texts(_))), None) => text,
        (None, Some(ids @ (Inputs::Ids(_) | Inputs::IdLists(_)))) => ids,
        _ => {
            let message = "send `text`, a string or a list of them, or `input_ids`, token ids or \
                           a list of such lists";
            return Err(Trouble::Input(message.to_owned()).into());
        }
    };
    let is_list = inputs.is_list();
    let answer = ask(&api, None, inputs.into_inputs(true), Truncate::Refuse).await?;
    let judged = answer.scores.iter().map(|score| Judged {
        embedding: values(&answer.model, score, Activation::Off),
        meta_info: Meta {
            id: stamp(&api, "classify").0,
            finish_reason: Finish {
                kind: "length",
                length: 0,
            },
            prompt_tokens: score.tokens,
            cached_tokens: 0,
        },
    });
    let mut judged: Vec<_> = judged.collect();
    let reply = match judged.pop() {
        Some(one) if !is_list => Reply::One(one),
        last => {
            judged.extend(last);
            Reply::Several(judged)
        }
    };
    Ok(answer.reply(Json(reply)))
}

/// The same by the peer's other method.
#[utoipa::path(put, path = "/compat/sglang/classify", tag = "compatibility",
    request_body(content = ClassifyRequest, content_type = "application/json"),
    responses((status = 200, description = "As for `POST`", body = Reply)))]
pub(crate) async fn classify_put(
    state: State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    classify(state, headers, body).await
}

/// Whether a model answers, as SGLang says it.
#[utoipa::path(get, path = "/compat/sglang/health", tag = "compatibility", responses(
    (status = 200, description = "One does"),
))]
pub(crate) async fn health(State(api): State<Api>) -> Result<(), Refused> {
    api.models()
        .find(None)
        .map_err(|error| Trouble::Unready(ApiError::from(error).problem().to_string()))?;
    Ok(())
}
