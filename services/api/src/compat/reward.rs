//! What the routes of other reward-model servers share: a request becomes one question to one model, its answer the numbers that all of
//! them speak of, a refusal one of few kinds that each says in its own words.
//!
//! Where a peer squeezes numbers without being asked, this does not: the one number of a reward model goes out as it is. A reply
//! says in its headers which version of the model gave it, and on which scale.

use std::sync::Arc;

use assay_core::ErrorCode;
use assay_core::reward_model::{ModelInfo, ModelInput, ModelRequest, ModelScore, Readout, Scale, Truncate};
use assay_core::{BatchId, Completion};
use assay_wire::reward_models::scale_name;
use assay_wire::scoring::is_finite;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::ApiError;
use crate::v1::grade::LOCAL_CALLER;
use crate::{Api, body};

/// Header with the version of the model that gave an answer.
const VERSION: &str = "assay-model-version";

/// Header with the scale of its numbers, before any activation that the request asked for.
const SCALE: &str = "assay-scale";

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
            ErrorCode::Internal => Self::Failed(message),
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
        self.scores.iter().map(|score| u64::from(score.tokens)).sum()
    }

    /// The one number of every input, on the model's scale or squeezed.
    pub(super) fn numbers(&self, squeezed: bool) -> Result<Vec<f32>, Trouble> {
        let number = |score: &ModelScore| {
            let raw = score.raw.ok_or_else(|| {
                let message = format!(
                    "the model `{}` has a head `{}`, which gives no one number for an input",
                    self.model.name, self.model.head
                );
                Trouble::Input(message)
            })?;
            Ok(if squeezed && self.model.scale == Scale::Logit { sigmoid(raw) } else { raw })
        };
        self.scores.iter().map(number).collect()
    }

    /// `body` with the headers that say what gave it.
    pub(super) fn reply(&self, body: impl IntoResponse) -> Response {
        let mut response = body.into_response();
        if let Ok(version) = HeaderValue::from_str(&self.model.version) {
            response.headers_mut().insert(VERSION, version);
        }
        response.headers_mut().insert(SCALE, HeaderValue::from_static(scale_name(self.model.scale)));
        response
    }
}

/// What is done to logits before they go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    /// Nothing.
    Off,
    /// A softmax of several classes; one number stays as it is.
    Default,
    /// Also a sigmoid of one number.
    On,
}

impl Activation {
    /// As a request says it, or leaves it open.
    pub(super) fn asked(wish: Option<bool>) -> Self {
        match wish {
            None => Self::Default,
            Some(true) => Self::On,
            Some(false) => Self::Off,
        }
    }
}

/// The numbers under a model's head, as the peers hand them out: one of a reward model, one a class, label, step or dimension.
pub(super) fn values(model: &ModelInfo, score: &ModelScore, activation: Activation) -> Vec<f32> {
    match &score.readout {
        Readout::Scalar(value) if activation == Activation::On && model.scale == Scale::Logit => vec![sigmoid(*value)],
        Readout::Scalar(value) => vec![*value],
        Readout::Classes(logits) if activation != Activation::Off => softmax(logits),
        Readout::Classes(values) | Readout::Labels(values) | Readout::Steps(values) | Readout::Embedding(values) => {
            values.clone()
        }
    }
}

/// The name of the `at`th class, as `transformers` writes those that have none.
pub(super) fn label(model: &ModelInfo, at: usize) -> String {
    model.labels.get(at).cloned().unwrap_or_else(|| format!("LABEL_{at}"))
}

/// The place of the largest value, the first of equals.
pub(super) fn largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (at, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = at;
        }
    }
    best
}

/// 1 / (1 + exp(-x)).
#[expect(clippy::cast_possible_truncation, reason = "a probability as precise as its logit")]
pub(super) fn sigmoid(logit: f32) -> f32 {
    (1.0 / (1.0 + (-f64::from(logit)).exp())) as f32
}

/// exp(x) over the sum of all, with the largest subtracted first: subtracting any other overflows for logits like -100 and 5.
#[expect(clippy::cast_possible_truncation, reason = "probabilities as precise as their logits")]
pub(super) fn softmax(logits: &[f32]) -> Vec<f32> {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = logits.iter().map(|logit| (f64::from(*logit) - f64::from(largest)).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| (power / sum) as f32).collect()
}

/// The body of a request.
pub(super) async fn read<T>(api: &Api, headers: &HeaderMap, body: Body) -> Result<T, Trouble>
where
    T: DeserializeOwned + Send + 'static,
{
    Ok(body::json(api, headers, body).await?)
}

/// Asks a model, or the one that is meant without a name, about inputs that are all admitted together or not at all.
pub(super) async fn ask(
    api: &Api,
    model: Option<String>,
    inputs: Vec<ModelInput>,
    truncate: Truncate,
) -> Result<Answer, Trouble> {
    let most = api.limits().batch_items;
    if inputs.is_empty() {
        return Err(Trouble::Empty("there is no input; send at least one".to_owned()));
    }
    if inputs.len() > most {
        return Err(Trouble::Input(format!(
            "there are {} inputs, more than {most}; send them in several requests",
            inputs.len()
        )));
    }
    let _admitted = api.engine().admission().admit(inputs.len()).map_err(ApiError::from)?;
    let caller = LOCAL_CALLER.into();
    let request = ModelRequest { model, caller, inputs, truncate, expected_version: None, patience: None };
    let reply = api.models().score(request).await.map_err(ApiError::from)?;
    let mut scores = Vec::with_capacity(reply.scores.len());
    for (at, score) in reply.scores.into_iter().enumerate() {
        let score = score.map_err(|refusal| Trouble::Input(format!("input {at}: {refusal}")))?;
        if !is_finite(&score) {
            return Err(Trouble::Failed(format!("input {at}: the model gave a number that is not finite")));
        }
        scores.push(score);
    }
    Ok(Answer { model: reply.model, scores })
}

/// The name here of a model that a request names: by its name, or by where it came from, which is what clients of other servers send.
pub(super) fn resolve(api: &Api, wanted: Option<String>) -> Result<Option<String>, Trouble> {
    let Some(wanted) = wanted else { return Ok(None) };
    let known = api.models().list();
    let by_name = known.iter().find(|status| status.name == wanted);
    let by_source =
        || known.iter().find(|status| status.info.as_ref().is_some_and(|info| info.source == wanted));
    match by_name.or_else(by_source) {
        Some(status) => Ok(Some(status.name.clone())),
        None => Err(Trouble::NoModel(format!("The model `{wanted}` does not exist."))),
    }
}

/// One input or several, as texts or token ids.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "it is a string, a list of strings, a list of token ids, or a list of such lists")]
pub(super) enum Inputs {
    /// One text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// Token ids of one input.
    Ids(Vec<u32>),
    /// Token ids of each.
    IdLists(Vec<Vec<u32>>),
}

impl Inputs {
    /// Whether the reply to it is a list.
    pub(super) fn is_list(&self) -> bool {
        matches!(self, Self::Texts(_) | Self::IdLists(_))
    }

    /// The inputs, texts with the special tokens that the tokenizer adds by itself unless they bring their own.
    pub(super) fn into_inputs(self, add_special_tokens: bool) -> Vec<ModelInput> {
        let text = |text: String| {
            let text = text.into();
            if add_special_tokens { ModelInput::Text(text) } else { ModelInput::Bare { text, ended: false } }
        };
        match self {
            Self::Text(one) => vec![text(one)],
            Self::Texts(texts) => texts.into_iter().map(text).collect(),
            Self::Ids(ids) => vec![ModelInput::Ids(ids)],
            Self::IdLists(lists) => lists.into_iter().map(ModelInput::Ids).collect(),
        }
    }
}

/// A conversation as an input: what is judged is its last message, one of the assistant.
pub(super) fn conversation(messages: &Completion) -> Result<ModelInput, Trouble> {
    let Completion::Messages(messages) = messages else {
        return Err(Trouble::Input("`messages` is a list of messages".to_owned()));
    };
    match messages.split_last() {
        Some((last, before)) if last.role == "assistant" => Ok(ModelInput::Rollout {
            prompt: (!before.is_empty()).then(|| Completion::Messages(before.into())),
            completion: Completion::Messages([last.clone()].into()),
            reference: None,
        }),
        _ => Err(Trouble::Input(
            "the last of the `messages` is one of the role `assistant`: it is what is judged".to_owned(),
        )),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_softmax_of_far_logits_is_finite() {
        assert_eq!(softmax(&[-100.0, 5.0]), [0.0, 1.0]);
        assert_eq!(softmax(&[1000.0, 1000.0]), [0.5, 0.5]);
        let probabilities = softmax(&[1.0, 2.0, 3.0]);
        assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_sigmoid_of_far_logits_is_finite() {
        assert_eq!([-1e30, 0.0, 1e30].map(sigmoid), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn the_first_of_equals_is_the_largest() {
        assert_eq!(largest(&[1.0, 3.0, 3.0]), 1);
    }
}
