//! `POST /compat/tei/embed`: embeddings of texts.

use assay_core::reward_model::{ModelInput, ModelOutput, unit};
use axum::Json;
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Direction, truncation};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::peer_error::PeerError;
use crate::compat::reward::{Texts, score_inputs};

/// The request. As in text-embeddings-inference, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = TeiEmbedRequest)]
struct EmbedRequest {
    inputs: Texts,
    #[serde(default)]
    truncate: Option<bool>,
    #[serde(default)]
    truncation_direction: Direction,
    #[serde(default = "default_true")]
    normalize: bool,
}

fn default_true() -> bool {
    true
}

/// Embeds texts, in the format of text-embeddings-inference.
#[utoipa::path(post, path = "/compat/tei/embed", tag = "compatibility",
    request_body(content = EmbedRequest, content_type = "application/json", example = json!({
        "inputs": ["one text", "another"],
    })),
    responses(
        (status = 200, description = "One vector for each input", body = Vec<Vec<f32>>),
    ))]
pub(crate) async fn embed(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (request, _permit) = body
        .lenient_json::<EmbedRequest>(&api, BodyKind::Batch)
        .await?;
    let truncate = truncation(request.truncate, request.truncation_direction);
    let inputs = request
        .inputs
        .into_list()
        .into_iter()
        .map(|text| ModelInput::Text(text.into()))
        .collect();
    let answer = score_inputs(&api, None, inputs, truncate).await?;
    let vectors = answer.scores.iter().map(|score| match &score.readout {
        ModelOutput::Embedding(vector) if request.normalize => Ok(unit(vector)),
        ModelOutput::Embedding(vector) => Ok(vector.clone()),
        _ => Err(PeerError::Failed(format!(
            "the model `{}` does not return embeddings",
            answer.model.name
        ))),
    });
    let vectors = vectors.collect::<Result<Vec<_>, _>>()?;
    Ok(answer.reply(Json(vectors)))
}
