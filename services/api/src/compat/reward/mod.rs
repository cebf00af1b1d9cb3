//! Shared code of the routes that emulate reward-model servers: a request is converted to one
//! request to a model, and an error to a [`PeerError`].
//!
//! Some servers apply a sigmoid by default. These routes return the raw score of a reward model
//! unless the request asks for an activation. Response headers contain the version of the model and
//! the scale of its numbers.

mod inputs;
mod numbers;

use std::sync::Arc;

use assay_access::metered;
use assay_core::BatchId;
use assay_core::reward_model::{ModelInfo, ModelInput, ModelRequest, ModelScore, Scale, Truncate};
use assay_wire::reward_models::scale_name;
use assay_wire::scoring::is_finite;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;
use crate::compat::peer_error::PeerError;
use crate::error::ApiError;
use numbers::sigmoid_f32;

pub(super) use inputs::{Inputs, Texts, conversation};
pub(super) use numbers::{Activation, argmax, label, values};

/// Header with the version of the model that computed a reply.
const VERSION: &str = "assay-model-version";

/// Header with the scale of the model's numbers, before an activation that the request asked for.
const SCALE: &str = "assay-scale";

/// Maximum number of characters of a model name that an error quotes.
const MAX_QUOTED: usize = 200;

/// The scores of all inputs of a request.
pub(super) struct ModelScores {
    /// The model.
    pub(super) model: Arc<ModelInfo>,
    /// One score for each input, in order.
    pub(super) scores: Vec<ModelScore>,
}

impl ModelScores {
    /// Number of tokens of all inputs.
    pub(super) fn tokens(&self) -> u64 {
        self.scores
            .iter()
            .map(|score| u64::from(score.tokens))
            .sum()
    }

    /// The raw score of each input, after a sigmoid if `activate` is true and the scores are
    /// logits.
    pub(super) fn raw_scores(&self, activate: bool) -> Result<Vec<f32>, PeerError> {
        let raw_score = |score: &ModelScore| {
            let raw = score.raw.ok_or_else(|| {
                let message = format!(
                    "the model `{}` has a head `{}`, which does not return a single score",
                    self.model.name, self.model.head
                );
                PeerError::Input(message)
            })?;
            Ok(if activate && self.model.scale == Scale::Logit {
                sigmoid_f32(raw)
            } else {
                raw
            })
        };
        self.scores.iter().map(raw_score).collect()
    }

    /// Builds the response, with the headers for the version and the scale of the model.
    pub(super) fn reply(&self, body: impl IntoResponse) -> Response {
        let mut response = body.into_response();
        if let Ok(version) = HeaderValue::from_str(&self.model.version) {
            response.headers_mut().insert(VERSION, version);
        }
        response.headers_mut().insert(
            SCALE,
            HeaderValue::from_static(scale_name(self.model.scale)),
        );
        response
    }
}

/// Token usage of a request, in OpenAI's format.
#[derive(Serialize, ToSchema)]
pub(super) struct Usage {
    prompt_tokens: u64,
    total_tokens: u64,
    completion_tokens: u64,
    #[schema(value_type = Option<()>)]
    prompt_tokens_details: Option<()>,
}

impl Usage {
    pub(super) fn new(answer: &ModelScores) -> Self {
        let tokens = answer.tokens();
        Self {
            prompt_tokens: tokens,
            total_tokens: tokens,
            completion_tokens: 0,
            prompt_tokens_details: None,
        }
    }
}

/// Scores inputs with the named model, or with the default model without a name. The inputs are
/// admitted together or not at all.
pub(super) async fn score_inputs(
    api: &Api,
    model: Option<String>,
    inputs: Vec<ModelInput>,
    truncate: Truncate,
) -> Result<ModelScores, PeerError> {
    let max = api.limits().batch_items;
    if inputs.is_empty() {
        return Err(PeerError::Empty(
            "the request has no input; send at least one".to_owned(),
        ));
    }
    if inputs.len() > max {
        return Err(PeerError::Input(format!(
            "the request has {} inputs, more than {max}; split it into several requests",
            inputs.len()
        )));
    }
    let _admitted = api.admit(inputs.len()).map_err(ApiError::from)?;
    let charge = api.charge(inputs.len(), 0)?;
    let caller = api.caller().name().into();
    let request = ModelRequest {
        model,
        caller,
        use_cache: true,
        inputs,
        truncate,
        expected_version: None,
        timeout: None,
    };
    let reply = metered(api.caller().share(), charge, api.models().score(request)).await;
    let reply = reply.map_err(ApiError::from)?;
    let mut scores = Vec::with_capacity(reply.scores.len());
    for (at, score) in reply.scores.into_iter().enumerate() {
        let score = score.map_err(|refusal| PeerError::Input(format!("input {at}: {refusal}")))?;
        if !is_finite(&score) {
            return Err(PeerError::Failed(format!(
                "input {at}: the model returned a number that is not finite"
            )));
        }
        scores.push(score);
    }
    Ok(ModelScores {
        model: reply.model,
        scores,
    })
}

/// The name of the requested model. Clients of other servers send the source of a model instead of
/// its name, so both are accepted.
pub(super) fn resolve(api: &Api, requested: Option<String>) -> Result<Option<String>, PeerError> {
    let Some(requested) = requested else {
        return Ok(None);
    };
    let models = api.models().list();
    let by_name = models.iter().find(|status| status.name == requested);
    let by_source = || {
        models.iter().find(|status| {
            status
                .info
                .as_ref()
                .is_some_and(|info| info.source == requested)
        })
    };
    match by_name.or_else(by_source) {
        Some(status) => Ok(Some(status.name.clone())),
        None => {
            let quoted: String = requested.chars().take(MAX_QUOTED).collect();
            Err(PeerError::UnknownModel(format!(
                "The model `{quoted}` does not exist."
            )))
        }
    }
}

/// A new id for a reply, and its time of creation in seconds since the Unix epoch.
pub(super) fn new_reply_id(api: &Api, prefix: &str) -> (String, u64) {
    let id = api.engine().new_id();
    (format!("{prefix}-{:032x}", id.as_u128()), seconds(id))
}

/// The time of an id, which starts with the milliseconds since the Unix epoch.
fn seconds(id: BatchId) -> u64 {
    u64::try_from(id.as_u128() >> 80).unwrap_or(0) / 1_000
}
