//! `POST /compat/vllm/pooling`: the outputs of a head, which are numbers for each step for a
//! process reward model, or an embedding.

use assay_core::reward_model::ModelOutput;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::classify::ScoredInput;
use super::{CommonFields, List, RequestOptions};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::peer_error::PeerError;
use crate::compat::reward::{new_reply_id, score_inputs, values};

#[derive(Deserialize, ToSchema)]
#[schema(as = VllmPoolingRequest)]
struct PoolingRequest {
    #[serde(flatten)]
    common: CommonFields,
    #[serde(flatten)]
    input: ScoredInput,
    /// Must be `float`.
    #[serde(default)]
    #[schema(pattern = "^float$")]
    encoding_format: Option<String>,
    /// Not supported.
    #[serde(default)]
    #[schema(ignore)]
    dimensions: Option<Value>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VllmPooled)]
struct Pooled {
    index: usize,
    object: &'static str,
    /// The numbers of the whole input, or for each step the probabilities that it is wrong and that
    /// it is correct.
    #[schema(value_type = Vec<Value>)]
    data: Numbers,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Numbers {
    /// Numbers of the whole input.
    Whole(Vec<f32>),
    /// For each step, the probabilities that it is wrong and that it is correct.
    Steps(Vec<[f32; 2]>),
}

/// Computes the outputs of a model's head, in vLLM's format.
#[utoipa::path(post, path = "/compat/vllm/pooling", tag = "compatibility",
    request_body(content = PoolingRequest, content_type = "application/json", example = json!({
        "model": "prm", "messages": [
            { "role": "user", "content": "What is 1/6 + 1/6?" },
            { "role": "assistant", "content": "Both have the denominator 6.\n\nSo it is 2/6, \
                which is 1/3." },
        ],
    })),
    responses(
        (status = 200, description = "The numbers of each input in `data[].data`",
         body = List<Pooled>),
    ))]
pub(crate) async fn pooling(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (request, _permit) = body
        .lenient_json::<PoolingRequest>(&api, BodyKind::Batch)
        .await?;
    if request
        .encoding_format
        .as_deref()
        .is_some_and(|format| format != "float")
    {
        return Err(PeerError::Input(
            "`encoding_format` must be `float`".to_owned(),
        ));
    }
    if request
        .dimensions
        .is_some_and(|dimensions| !dimensions.is_null())
    {
        return Err(PeerError::Input(
            "`dimensions` is not supported; omit it".to_owned(),
        ));
    }
    let RequestOptions {
        model,
        activation,
        truncate,
    } = request.common.validate(&api)?;
    let answer = score_inputs(&api, model, request.input.into_inputs()?, truncate).await?;
    let data = answer.scores.iter().enumerate().map(|(index, score)| {
        let data = match &score.readout {
            ModelOutput::Steps(steps) => Numbers::Steps(
                steps
                    .iter()
                    .map(|correct| [1.0 - correct, *correct])
                    .collect(),
            ),
            _ => Numbers::Whole(values(&answer.model, score, activation)),
        };
        Pooled {
            index,
            object: "pooling",
            data,
        }
    });
    let data = data.collect();
    Ok(List::reply(&answer, new_reply_id(&api, "pool"), data))
}
