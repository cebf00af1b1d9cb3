//! `POST /compat/vllm/pooling`: numbers under a head, those of each step for a process reward
//! model, or an embedding.

use assay_core::reward_model::Readout;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::classify::Judged;
use super::{Basics, List, Refused, Wishes};
use crate::Api;
use crate::compat::reward::{Trouble, ask, read, stamp, values};

#[derive(Deserialize, ToSchema)]
#[schema(as = VllmPoolingRequest)]
struct PoolingRequest {
    #[serde(flatten)]
    basics: Basics,
    #[serde(flatten)]
    judged: Judged,
    /// `float`.
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
    /// The numbers of the whole input, or for each step the scores that it is bad and that it is
    /// good.
    #[schema(value_type = Vec<Value>)]
    data: Numbers,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Numbers {
    /// Of the whole input.
    Whole(Vec<f32>),
    /// Of each step: that it is bad, that it is good.
    Steps(Vec<[f32; 2]>),
}

/// Numbers under a model's head, in vLLM's format.
#[utoipa::path(post, path = "/compat/vllm/pooling", tag = "compatibility",
    request_body(content = PoolingRequest, content_type = "application/json", example = json!({
        "model": "prm", "messages": [
            { "role": "user", "content": "What is 1/6 + 1/6?" },
            { "role": "assistant", "content": "Both have the denominator 6.\n\nSo it is 2/6, \
                which is 1/3." },
        ],
    })),
    responses(
        (status = 200, description = "The numbers of each input in `data[].data`", body = List<Pooled>),
    ))]
pub(crate) async fn pooling(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let (request, _held) = read::<PoolingRequest>(&api, &headers, body).await?;
    if request
        .encoding_format
        .as_deref()
        .is_some_and(|format| format != "float")
    {
        return Err(Trouble::Input("`encoding_format` is `float`".to_owned()).into());
    }
    if request
        .dimensions
        .is_some_and(|dimensions| !dimensions.is_null())
    {
        return Err(
            Trouble::Input("`dimensions` is not supported; leave it out".to_owned()).into(),
        );
    }
    let Wishes {
        model,
        activation,
        truncate,
    } = request.basics.check(&api)?;
    let answer = ask(&api, model, request.judged.into_inputs()?, truncate).await?;
    let data = answer.scores.iter().enumerate().map(|(index, score)| {
        let data = match &score.readout {
            Readout::Steps(steps) => {
                Numbers::Steps(steps.iter().map(|good| [1.0 - good, *good]).collect())
            }
            _ => Numbers::Whole(values(&answer.model, score, activation)),
        };
        Pooled {
            index,
            object: "pooling",
            data,
        }
    });
    let data = data.collect();
    Ok(List::reply(&answer, stamp(&api, "pool"), data))
}
