//! What the routes of other reward-model servers share: a request becomes one question to one
//! model, its answer the numbers that all of them speak of, a refusal one of few kinds that each
//! says in its own words.
//!
//! Where a peer squeezes numbers without being asked, this does not: the one number of a reward
//! model goes out as it is. A reply says in its headers which version of the model gave it, and on
//! which scale.

mod inputs;
mod numbers;

use std::sync::Arc;

use assay_core::reward_model::{ModelInfo, ModelInput, ModelRequest, ModelScore, Scale, Truncate};
use assay_core::{BatchId, ErrorCode};
use assay_engine::BodyPermit;
use assay_wire::reward_models::scale_name;
use assay_wire::scoring::is_finite;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use crate::Api;
use crate::body::{self, BodyKind};
use crate::error::ApiError;
use crate::v1::grade::LOCAL_CALLER;

pub(super) use inputs::{Inputs, Texts, conversation};
pub(super) use numbers::{Activation, label, largest, values};

use numbers::squeezed;

/// Header with the version of the model that gave an answer.
const VERSION: &str = "assay-model-version";

/// Header with the scale of its numbers, before any activation that the request asked for.
const SCALE: &str = "assay-scale";

/// Most characters of a name that an error quotes.
const MAX_SHOWN: usize = 200;

/// Why a peer's request gets no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The request is at fault; sent again it would fail again.
    Input(String),
    /// It has no input.
    Empty(String),
    /// It names a model that is not there.
    NoModel(String),
    /// Nothing answers yet.
    Unready(String),
    /// Too much waits; worth sending again after so many seconds.
    Busy(String, u64),
    /// The node is at fault.
    Failed(String),
    /// An error of a shared layer, which keeps its status on every route.
    Rejected(StatusCode, String),
}

impl From<ApiError> for Trouble {
    fn from(error: ApiError) -> Self {
        let message = error.problem().to_string();
        match error.problem().code {
            ErrorCode::Overloaded | ErrorCode::ShuttingDown | ErrorCode::DeadlineExceeded => {
                Self::Busy(message, error.retry_after_s().unwrap_or(1))
            }
            ErrorCode::ModelUnavailable => Self::Unready(message),
            ErrorCode::UnknownModel => Self::NoModel(message),
            ErrorCode::EmptyBatch => Self::Empty(message),
            ErrorCode::Internal => Self::Failed(message),
            code @ (ErrorCode::OtherSite
            | ErrorCode::NotFound
            | ErrorCode::MethodNotAllowed
            | ErrorCode::BodyTooLarge
            | ErrorCode::UnsupportedMedia) => Self::Rejected(
                StatusCode::from_u16(code.status()).unwrap_or(StatusCode::BAD_REQUEST),
                message,
            ),
            _ => Self::Input(message),
        }
    }
}

/// What a model said of every input of a request.
pub(super) struct Answer {
    /// The model.
    pub(super) model: Arc<ModelInfo>,
    /// A score an input, in order.
    pub(super) scores: Vec<ModelScore>,
}

impl Answer {
    /// Tokens of all inputs.
    pub(super) fn tokens(&self) -> u64 {
        self.scores
            .iter()
            .map(|score| u64::from(score.tokens))
            .sum()
    }

    /// The one number of every input, on the model's scale or squeezed.
    pub(super) fn numbers(&self, squeeze: bool) -> Result<Vec<f32>, Trouble> {
        let number = |score: &ModelScore| {
            let raw = score.raw.ok_or_else(|| {
                let message = format!(
                    "the model `{}` has a head `{}`, which gives no one number for an input",
                    self.model.name, self.model.head
                );
                Trouble::Input(message)
            })?;
            Ok(if squeeze && self.model.scale == Scale::Logit {
                squeezed(raw)
            } else {
                raw
            })
        };
        self.scores.iter().map(number).collect()
    }

    /// `body` with the headers that say what gave it.
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

/// `response` with the seconds after which to come again.
pub(super) fn retry_after(mut response: Response, after: Option<u64>) -> Response {
    if let Some(seconds) = after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Tokens of a request, as OpenAI and those who follow it count them.
#[derive(Serialize, ToSchema)]
pub(super) struct Usage {
    prompt_tokens: u64,
    total_tokens: u64,
    completion_tokens: u64,
    #[schema(value_type = Option<()>)]
    prompt_tokens_details: Option<()>,
}

impl Usage {
    pub(super) fn of(answer: &Answer) -> Self {
        let tokens = answer.tokens();
        Self {
            prompt_tokens: tokens,
            total_tokens: tokens,
            completion_tokens: 0,
            prompt_tokens_details: None,
        }
    }
}

/// Reads the body of a request; returns it with the permit that counts its memory until the reply.
pub(super) async fn read<T>(
    api: &Api,
    headers: &HeaderMap,
    body: Body,
) -> Result<(T, BodyPermit), Trouble>
where
    T: DeserializeOwned + Send + 'static,
{
    Ok(body::lenient_json(api, headers, body, BodyKind::Batch).await?)
}

/// Asks a model, or the one that is meant without a name, about inputs that are all admitted
/// together or not at all.
pub(super) async fn ask(
    api: &Api,
    model: Option<String>,
    inputs: Vec<ModelInput>,
    truncate: Truncate,
) -> Result<Answer, Trouble> {
    let most = api.limits().batch_items;
    if inputs.is_empty() {
        return Err(Trouble::Empty(
            "there is no input; send at least one".to_owned(),
        ));
    }
    if inputs.len() > most {
        return Err(Trouble::Input(format!(
            "there are {} inputs, more than {most}; send them in several requests",
            inputs.len()
        )));
    }
    let _admitted = api
        .engine()
        .admission()
        .admit(inputs.len())
        .map_err(ApiError::from)?;
    let caller = LOCAL_CALLER.into();
    let request = ModelRequest {
        model,
        caller,
        inputs,
        truncate,
        expected_version: None,
        timeout: None,
    };
    let reply = api.models().score(request).await.map_err(ApiError::from)?;
    let mut scores = Vec::with_capacity(reply.scores.len());
    for (at, score) in reply.scores.into_iter().enumerate() {
        let score = score.map_err(|refusal| Trouble::Input(format!("input {at}: {refusal}")))?;
        if !is_finite(&score) {
            return Err(Trouble::Failed(format!(
                "input {at}: the model gave a number that is not finite"
            )));
        }
        scores.push(score);
    }
    Ok(Answer {
        model: reply.model,
        scores,
    })
}

/// The name here of a model that a request names: by its name, or by where it came from, which is
/// what clients of other servers send.
pub(super) fn resolve(api: &Api, wanted: Option<String>) -> Result<Option<String>, Trouble> {
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    let known = api.models().list();
    let by_name = known.iter().find(|status| status.name == wanted);
    let by_source = || {
        known.iter().find(|status| {
            status
                .info
                .as_ref()
                .is_some_and(|info| info.source == wanted)
        })
    };
    match by_name.or_else(by_source) {
        Some(status) => Ok(Some(status.name.clone())),
        None => {
            let shown: String = wanted.chars().take(MAX_SHOWN).collect();
            Err(Trouble::NoModel(format!(
                "The model `{shown}` does not exist."
            )))
        }
    }
}

/// An id for a reply, and the seconds since the Unix epoch when it was made.
pub(super) fn stamp(api: &Api, prefix: &str) -> (String, u64) {
    let id = api.engine().fresh_id();
    (format!("{prefix}-{:032x}", id.as_u128()), seconds(id))
}

/// An id begins with the milliseconds since the Unix epoch.
fn seconds(id: BatchId) -> u64 {
    u64::try_from(id.as_u128() >> 80).unwrap_or(0) / 1_000
}
