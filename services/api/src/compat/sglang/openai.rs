//! `POST /compat/sglang/v1/classify`, `/v1/embeddings` and `/v1/score`. verl's reward loop asks for
//! embeddings and reads `data[-1]["embedding"][-1]`.

use assay_core::reward_model::{ModelInput, Readout, Truncate};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::told;
use crate::Api;
use crate::compat::reward::{
    Activation, Inputs, Texts, Trouble, Usage, ask, label, largest, read, retry_after, stamp,
    values,
};

/// A refusal in the peer's words.
pub(crate) struct Refused(Trouble);

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        Self(trouble)
    }
}

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

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        refuse(self.0)
    }
}

/// The error in the format of SGLang's OpenAI-compatible routes.
pub(in crate::compat) fn refuse(trouble: Trouble) -> Response {
    let (status, message, after) = told(trouble);
    let kind = match status.as_u16() {
        403 | 405 | 413 | 415 | 400 => "BadRequestError",
        404 => "NotFoundError",
        503 => "ServiceUnavailableError",
        _ => "InternalServerError",
    };
    let body = ErrorBody {
        object: "error",
        message,
        kind,
        param: None,
        code: status.as_u16(),
    };
    retry_after((status, Json(body)).into_response(), after)
}

/// The request. Other fields are ignored, as the peer does.
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

/// Probabilities of classes, or the raw number of a reward model, in SGLang's format.
#[utoipa::path(post, path = "/compat/sglang/v1/classify", tag = "compatibility",
    request_body(content = InputsRequest, content_type = "application/json", example = json!({
        "model": "default", "input": ["a text that the chat template made"],
    })),
    responses(
        (status = 200, description = "The numbers of each input in `data[].probs`", body = ClassifyReply),
    ))]
pub(crate) async fn classify(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let (InputsRequest { input }, _held) = read(&api, &headers, body).await?;
    let answer = ask(&api, None, input.into_inputs(true), Truncate::Refuse).await?;
    let data = answer.scores.iter().enumerate().map(|(index, score)| {
        let probs = values(&answer.model, score, Activation::Default);
        Classified {
            index,
            label: label(&answer.model, largest(&probs)),
            num_classes: probs.len(),
            probs,
        }
    });
    let (data, usage, model) = (
        data.collect(),
        Usage::of(&answer),
        answer.model.name.clone(),
    );
    let (id, created) = stamp(&api, "classify");
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

/// Embeddings, or what stands in their place for a reward model: its raw numbers. In SGLang's
/// format.
#[utoipa::path(post, path = "/compat/sglang/v1/embeddings", tag = "compatibility",
    request_body(content = InputsRequest, content_type = "application/json", example = json!({
        "model": "default", "input": "a text that the chat template made",
    })),
    responses(
        (status = 200, description = "The numbers of each input in `data[].embedding`", body = EmbeddingsReply),
    ))]
pub(crate) async fn embeddings(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let (InputsRequest { input }, _held) = read(&api, &headers, body).await?;
    let answer = ask(&api, None, input.into_inputs(true), Truncate::Refuse).await?;
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
        Usage::of(&answer),
        answer.model.name.clone(),
    );
    Ok(answer.reply(Json(EmbeddingsReply {
        data,
        model,
        object: "list",
        usage,
    })))
}

/// The request. Other fields are ignored, as the peer does.
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

/// Probabilities of a verifier's label tokens among themselves, in SGLang's format. The model knows
/// its labels: `label_token_ids` are as many, in the same order.
#[utoipa::path(post, path = "/compat/sglang/v1/score", tag = "compatibility",
    request_body(content = ScoreRequest, content_type = "application/json", example = json!({
        "query": "Question and answer, and then the judgement: ", "items": ["A", "B"],
        "label_token_ids": [9454, 2753], "apply_softmax": true,
    })),
    responses(
        (status = 200, description = "The probability of each label for each item, in \
                                      `scores`", body = ScoreReply),
    ))]
pub(crate) async fn score(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let (request, _held) = read::<ScoreRequest>(&api, &headers, body).await?;
    if !request.apply_softmax {
        let message =
            "`apply_softmax` is true: probabilities are those of the labels among themselves";
        return Err(Trouble::Input(message.to_owned()).into());
    }
    let items = request.items.into_list();
    // Each input repeats the query, so that a small body could expand to a very large one: checked
    // before the inputs are built.
    let (most, texts) = (
        api.limits().body_bytes,
        items.iter().map(|item| item.len() + request.query.len()),
    );
    if texts.fold(0, usize::saturating_add) > most {
        let message = format!(
            "the inputs, each with the query before its item, have more than {most} bytes; send \
             fewer items at once"
        );
        return Err(Trouble::Input(message).into());
    }
    let inputs = items.into_iter().map(|item| {
        let text = if request.item_first {
            item + &request.query
        } else {
            request.query.clone() + &item
        };
        ModelInput::Text(text.into())
    });
    let answer = ask(&api, None, inputs.collect(), Truncate::Refuse).await?;
    let labels = answer.model.labels.len();
    if let Some(ids) = request.label_token_ids.filter(|ids| ids.len() != labels) {
        let message = format!(
            "the model has {labels} labels, and `label_token_ids` names {}",
            ids.len()
        );
        return Err(Trouble::Input(message).into());
    }
    let scores = answer.scores.iter().map(|score| match &score.readout {
        Readout::Labels(values) => Ok(values.clone()),
        _ => {
            let message = format!(
                "the model `{}` has no label tokens; ask `/v1/classify`",
                answer.model.name
            );
            Err(Trouble::Input(message))
        }
    });
    let scores = scores.collect::<Result<Vec<_>, _>>()?;
    let (usage, model) = (Usage::of(&answer), answer.model.name.clone());
    Ok(answer.reply(Json(ScoreReply {
        scores,
        model,
        usage,
        object: "scoring",
    })))
}
