//! `POST /compat/tei/predict`: class scores of texts and pairs, best first.

use assay_core::reward_model::{ModelInfo, ModelInput, ModelOutput, ModelScore};
use axum::Json;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Direction, truncation};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::peer_error::PeerError;
use crate::compat::reward::{Activation, label, score_inputs, values};

/// The request. As in text-embeddings-inference, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = TeiPredictRequest)]
struct PredictRequest {
    inputs: PredictInputs,
    #[serde(default)]
    truncate: Option<bool>,
    #[serde(default)]
    truncation_direction: Direction,
    #[serde(default)]
    raw_scores: bool,
}

/// A string is one input, a list of strings is one pair, and a list of lists is a batch.
#[derive(Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected a string, a pair of strings, or a batch of lists of one or two strings"
)]
#[schema(as = TeiPredictInputs)]
enum PredictInputs {
    One(String),
    Pair(Vec<String>),
    Batch(Vec<Vec<String>>),
}

#[derive(Serialize, ToSchema)]
#[schema(as = TeiPrediction)]
struct Prediction {
    score: f32,
    label: String,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = TeiPredictions)]
enum Predictions {
    One(Vec<Prediction>),
    Batch(Vec<Vec<Prediction>>),
}

/// Predicts classes, in the format of text-embeddings-inference.
#[utoipa::path(post, path = "/compat/tei/predict", tag = "compatibility",
    request_body(content = PredictRequest, content_type = "application/json", example = json!({
        "inputs": [["one text"], ["a question", "a passage"]], "raw_scores": true,
    })),
    responses(
        (status = 200, description = "Classes with scores, best first, for the input or for each \
                                      input of a batch", body = Predictions),
    ))]
pub(crate) async fn predict(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (request, _permit) = body
        .lenient_json::<PredictRequest>(&api, BodyKind::Batch)
        .await?;
    let truncate = truncation(request.truncate, request.truncation_direction);
    let (inputs, is_batch) = match request.inputs {
        PredictInputs::One(text) => (vec![ModelInput::Text(text.into())], false),
        PredictInputs::Pair(texts) => (vec![input(texts)?], false),
        PredictInputs::Batch(lists) => (
            lists.into_iter().map(input).collect::<Result<_, _>>()?,
            true,
        ),
    };
    let answer = score_inputs(&api, None, inputs, truncate).await?;
    let replies = answer
        .scores
        .iter()
        .map(|score| predictions(&answer.model, score, request.raw_scores));
    let mut replies = replies.collect::<Result<Vec<_>, _>>()?;
    let body = match replies.pop() {
        Some(one) if !is_batch => Predictions::One(one),
        last => {
            replies.extend(last);
            Predictions::Batch(replies)
        }
    };
    Ok(answer.reply(Json(body)))
}

fn input(texts: Vec<String>) -> Result<ModelInput, PeerError> {
    let count = texts.len();
    let mut texts = texts.into_iter();
    match (texts.next(), texts.next(), texts.next()) {
        (Some(text), None, None) => Ok(ModelInput::Text(text.into())),
        (Some(first), Some(second), None) => Ok(ModelInput::Pair(first.into(), second.into())),
        (None, ..) => Err(PeerError::Empty(
            "`inputs` contains an empty list; send one or two texts for each input".to_owned(),
        )),
        _ => Err(PeerError::Input(format!(
            "an input must have one or two strings, not {count}; send a batch as a list of lists, \
             such as `[[\"one\"], [\"another\"]]`"
        ))),
    }
}

fn predictions(
    model: &ModelInfo,
    score: &ModelScore,
    raw_scores: bool,
) -> Result<Vec<Prediction>, PeerError> {
    let activation = if raw_scores {
        Activation::Off
    } else {
        Activation::On
    };
    let values = match &score.readout {
        ModelOutput::Embedding(_) => {
            return Err(PeerError::Failed(format!(
                "the model `{}` is not a classifier",
                model.name
            )));
        }
        // One prediction for each input: its raw score, which summarises all steps.
        ModelOutput::Steps(_) => score.raw.into_iter().collect(),
        _ => values(model, score, activation),
    };
    let scored = values.into_iter().enumerate();
    let mut predictions: Vec<_> = scored
        .map(|(at, score)| Prediction {
            score,
            label: label(model, at),
        })
        .collect();
    predictions.sort_by(|one, other| other.score.total_cmp(&one.score));
    Ok(predictions)
}
