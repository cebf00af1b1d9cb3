//! `POST /compat/sglang/v1/classify`, `/v1/embeddings` and `/v1/score`. verl's reward loop requests
//! embeddings and reads `data[-1]["embedding"][-1]`.

use assay_core::reward_model::{ModelInput, ModelOutput, Truncate};
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::peer_error::{PeerError, error_kind, retry_after};
use crate::compat::reward::{
    Activation, Inputs, Texts, Usage, argmax, label, new_reply_id, score_inputs, values,
};

/// Error body of SGLang's OpenAI-compatible routes.
#[derive(Serialize, ToSchema)]
pub(in crate::compat) struct ErrorBody {
    object: &'static str,
    message: String,
    #[serde(rename = "type")]
    kind: &'static str,
    param: Option<String>,
    code: u16,
}

/// The error in the format of SGLang's OpenAI-compatible routes.
pub(in crate::compat) fn error_response(error: PeerError) -> Response {
    let (status, message, after) = error.parts(StatusCode::BAD_REQUEST);
    let body = ErrorBody {
        object: "error",
        message,
        kind: error_kind(status),
        param: None,
        code: status.as_u16(),
    };
    retry_after((status, Json(body)).into_response(), after)
}

/// The request. As in SGLang, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = SglangInputsRequest)]
struct InputsRequest {
    input: Inputs,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SglangClasses)]
struct ClassifyReply {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    data: Vec<Classified>,
    usage: Usage,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SglangClassified)]
struct Classified {
    index: usize,
    label: String,
    probs: Vec<f32>,
    num_classes: usize,
}

/// Computes class probabilities, or the raw score of a reward model, in SGLang's format.
#[utoipa::path(post, path = "/compat/sglang/v1/classify", tag = "compatibility",
    request_body(content = InputsRequest, content_type = "application/json", example = json!({
        "model": "default", "input": ["a text rendered by the chat template"],
    })),
    responses(
        (status = 200, description = "The numbers of each input in `data[].probs`",
         body = ClassifyReply),
    ))]
pub(crate) async fn classify(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (InputsRequest { input }, _permit) = body.lenient_json(&api, BodyKind::Batch).await?;
    let answer = score_inputs(&api, None, input.into_inputs(true), Truncate::Reject).await?;
    let data = answer.scores.iter().enumerate().map(|(index, score)| {
        let probs = values(&answer.model, score, Activation::Default);
        Classified {
            index,
            label: label(&answer.model, argmax(&probs)),
            num_classes: probs.len(),
            probs,
        }
    });
    let (data, usage, model) = (
        data.collect(),
        Usage::new(&answer),
        answer.model.name.clone(),
    );
    let (id, created) = new_reply_id(&api, "classify");
    Ok(answer.reply(Json(ClassifyReply {
        id,
        object: "list",
        created,
        model,
        data,
        usage,
    })))
}

#[derive(Serialize, ToSchema)]
#[schema(as = SglangEmbeddings)]
struct EmbeddingsReply {
    data: Vec<Embedded>,
    model: String,
    object: &'static str,
    usage: Usage,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SglangEmbedded)]
struct Embedded {
    embedding: Vec<f32>,
    index: usize,
    object: &'static str,
}

/// Computes embeddings, or the raw score of a reward model, in SGLang's format.
#[utoipa::path(post, path = "/compat/sglang/v1/embeddings", tag = "compatibility",
    request_body(content = InputsRequest, content_type = "application/json", example = json!({
        "model": "default", "input": "a text rendered by the chat template",
    })),
    responses(
        (status = 200, description = "The numbers of each input in `data[].embedding`",
         body = EmbeddingsReply),
    ))]
pub(crate) async fn embeddings(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (InputsRequest { input }, _permit) = body.lenient_json(&api, BodyKind::Batch).await?;
    let answer = score_inputs(&api, None, input.into_inputs(true), Truncate::Reject).await?;
    let data = answer
        .scores
        .iter()
        .enumerate()
        .map(|(index, score)| Embedded {
            embedding: values(&answer.model, score, Activation::Off),
            index,
            object: "embedding",
        });
    let (data, usage, model) = (
        data.collect(),
        Usage::new(&answer),
        answer.model.name.clone(),
    );
    Ok(answer.reply(Json(EmbeddingsReply {
        data,
        model,
        object: "list",
        usage,
    })))
}

/// The request. As in SGLang, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = SglangScoreRequest)]
struct ScoreRequest {
    query: String,
    items: Texts,
    #[serde(default)]
    label_token_ids: Option<Vec<u32>>,
    /// Must be true: probabilities are normalised over the labels.
    #[serde(default)]
    apply_softmax: bool,
    #[serde(default)]
    item_first: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SglangScores)]
struct ScoreReply {
    scores: Vec<Vec<f32>>,
    model: String,
    usage: Usage,
    object: &'static str,
}

/// Computes the probabilities of a verifier's label tokens, normalised over the labels, in SGLang's
/// format. The model's configuration defines the labels: `label_token_ids` must have as many
/// entries, in the same order.
#[utoipa::path(post, path = "/compat/sglang/v1/score", tag = "compatibility",
    request_body(content = ScoreRequest, content_type = "application/json", example = json!({
        "query": "Question and answer, and then the judgement: ", "items": ["A", "B"],
        "label_token_ids": [9454, 2753], "apply_softmax": true,
    })),
    responses(
        (status = 200, description = "The probability of each label for each item, in \
                                      `scores`", body = ScoreReply),
    ))]
pub(crate) async fn score(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (request, _permit) = body
        .lenient_json::<ScoreRequest>(&api, BodyKind::Batch)
        .await?;
    if !request.apply_softmax {
        let message =
            "`apply_softmax` must be true, because probabilities are normalised over the labels";
        return Err(PeerError::Input(message.to_owned()));
    }
    let items = request.items.into_list();
    // Each input repeats the query, so that a small body could expand to very large inputs. Their
    // size is checked before they are built.
    let (max, texts) = (
        api.limits().body_bytes,
        items.iter().map(|item| item.len() + request.query.len()),
    );
    if texts.fold(0, usize::saturating_add) > max {
        let message = format!(
            "the inputs, each of which contains the query, have more than {max} bytes; send fewer \
             items at once"
        );
        return Err(PeerError::Input(message));
    }
    let inputs = items.into_iter().map(|item| {
        let text = if request.item_first {
            item + &request.query
        } else {
            request.query.clone() + &item
        };
        ModelInput::Text(text.into())
    });
    let answer = score_inputs(&api, None, inputs.collect(), Truncate::Reject).await?;
    let labels = answer.model.labels.len();
    if let Some(ids) = request.label_token_ids.filter(|ids| ids.len() != labels) {
        let message = format!(
            "the model has {labels} labels, but `label_token_ids` has {}",
            ids.len()
        );
        return Err(PeerError::Input(message));
    }
    let scores = answer.scores.iter().map(|score| match &score.readout {
        ModelOutput::Labels(values) => Ok(values.clone()),
        _ => {
            let message = format!(
                "the model `{}` has no label tokens; use `/v1/classify`",
                answer.model.name
            );
            Err(PeerError::Input(message))
        }
    });
    let scores = scores.collect::<Result<Vec<_>, _>>()?;
    let (usage, model) = (Usage::new(&answer), answer.model.name.clone());
    Ok(answer.reply(Json(ScoreReply {
        scores,
        model,
        usage,
        object: "scoring",
    })))
}
