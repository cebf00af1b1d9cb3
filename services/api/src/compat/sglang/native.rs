//! `POST` and `PUT /compat/sglang/classify`: what Skywork's own client asks; it reads `reply[i]["embedding"][0]`.

use assay_core::reward_model::Truncate;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::told;
use crate::Api;
use crate::compat::reward::{Activation, Inputs, Trouble, ask, read, retry_after, stamp, values};
use crate::error::ApiError;

/// The request. Other fields are ignored, as the peer does.
#[derive(Deserialize)]
struct ClassifyRequest {
    #[serde(default)]
    text: Option<Inputs>,
    #[serde(default)]
    input_ids: Option<Inputs>,
}

#[derive(Serialize)]
struct Judged {
    embedding: Vec<f32>,
    meta_info: Meta,
}

#[derive(Serialize)]
struct Meta {
    id: String,
    finish_reason: Finish,
    prompt_tokens: u32,
    cached_tokens: u32,
}

#[derive(Serialize)]
struct Finish {
    #[serde(rename = "type")]
    kind: &'static str,
    length: u32,
}

#[derive(Serialize)]
#[serde(untagged)]
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

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, message, after) = told(self.0);
        retry_after((status, Json(json!({ "error": { "message": message } }))).into_response(), after)
    }
}

/// Raw numbers of texts, in SGLang's format.
#[utoipa::path(post, path = "/compat/sglang/classify", tag = "compatibility",
    request_body(content = Value, content_type = "application/json", example = json!({
        "text": ["a text that the chat template made", "another"],
    })),
    responses(
        (status = 200, description = "Numbers an input: `embedding`; an object for one input, an array for a list", body = Value),
        (status = 400, description = "A field is wrong, or an input is too long", body = Value),
        (status = 404, description = "No model is loaded", body = Value),
        (status = 503, description = "Too much waits, or the model is not ready; send it again", body = Value),
    ))]
pub(crate) async fn classify(State(api): State<Api>, headers: HeaderMap, body: Body) -> Result<Response, Refused> {
    let (ClassifyRequest { text, input_ids }, _held) = read(&api, &headers, body).await?;
    let inputs = match (text, input_ids) {
        (Some(text @ (Inputs::Text(_) | Inputs::Texts(_))), None) => text,
        (None, Some(ids @ (Inputs::Ids(_) | Inputs::IdLists(_)))) => ids,
        _ => {
            let message = "send `text`, a string or a list of them, or `input_ids`, token ids or a list of such lists";
            return Err(Trouble::Input(message.to_owned()).into());
        }
    };
    let is_list = inputs.is_list();
    let answer = ask(&api, None, inputs.into_inputs(true), Truncate::Refuse).await?;
    let judged = answer.scores.iter().map(|score| Judged {
        embedding: values(&answer.model, score, Activation::Off),
        meta_info: Meta {
            id: stamp(&api, "classify").0,
            finish_reason: Finish { kind: "length", length: 0 },
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
    request_body(content = Value, content_type = "application/json"),
    responses((status = 200, description = "As by `POST`", body = Value)))]
pub(crate) async fn classify_put(state: State<Api>, headers: HeaderMap, body: Body) -> Result<Response, Refused> {
    classify(state, headers, body).await
}

/// Whether a model answers, as SGLang says it.
#[utoipa::path(get, path = "/compat/sglang/health", tag = "compatibility", responses(
    (status = 200, description = "One does"),
    (status = 503, description = "None does, and why", body = Value),
))]
pub(crate) async fn health(State(api): State<Api>) -> Result<(), Refused> {
    api.models().find(None).map_err(|error| Trouble::Unready(ApiError::from(error).problem().to_string()))?;
    Ok(())
}
