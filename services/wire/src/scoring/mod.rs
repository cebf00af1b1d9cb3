//! JSON types for scoring requests to reward models and their replies.

mod decode;

use std::collections::BTreeMap;

use assay_core::reward_model::{
    ModelInput, ModelOutput, ModelReply, ModelScore, Refusal, Truncate,
};
use assay_core::{Completion, ErrorCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Warning;
use crate::reward_models::scale_name;

pub use decode::{DecodedInput, DecodedScore, decode_input, decode_score};

/// Inputs for a reward model, all scored by the same version of it.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct ScoreRequest {
    /// The inputs, at least one.
    #[schema(min_items = 1)]
    pub items: Vec<InputRequest>,
    /// How to treat an input that is too long: `reject`, `prompt_left`, `left` or `right`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "reject", pattern = "^(reject|prompt_left|left|right)$")]
    pub truncate: Option<String>,
    /// Reject the request unless the version of the model starts with this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub expected_version: Option<String>,
    /// Maximum time in the queue, in milliseconds; unlimited if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// One input: a `completion` with optional `prompt` and `reference`, a `text` with an optional
/// `pair`, or `ids`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InputRequest {
    /// Id chosen by the trainer, unique in the request; returned with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "p17-3", max_length = 1024)]
    pub id: Option<String>,
    /// The prompt of the completion: a string or an array of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub prompt: Option<Completion>,
    /// The completion to score: a string or an array of messages. The model's chat template renders
    /// it together with the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub completion: Option<Completion>,
    /// The gold answer, for models that use one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// A text that is tokenised without a template; the tokenizer adds its special tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The second text, for a model that scores pairs of texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<String>,
    /// Token ids, used unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1)]
    pub ids: Option<Vec<u32>>,
}

impl InputRequest {
    /// Validates the fields and converts them to a model input.
    ///
    /// # Errors
    /// The name of the field that conflicts with the others, and the reason.
    pub fn input(self) -> Result<ModelInput, (&'static str, &'static str)> {
        const FORMS: &str = "an input must be a `completion` with optional `prompt` and \
                             `reference`, a `text` with an optional `pair`, or `ids`";
        let Self {
            id: _,
            prompt,
            completion,
            reference,
            text,
            pair,
            ids,
        } = self;
        if let Some(completion) = completion {
            for (field, is_set) in [
                ("text", text.is_some()),
                ("pair", pair.is_some()),
                ("ids", ids.is_some()),
            ] {
                if is_set {
                    return Err((field, FORMS));
                }
            }
            if !completion.has_answer() {
                return Err((
                    "completion",
                    "no message has the role `assistant`, so there is nothing to \
                     score",
                ));
            }
            return Ok(ModelInput::Rollout {
                prompt,
                completion,
                reference: reference.map(Into::into),
            });
        }
        for (field, is_set) in [
            ("prompt", prompt.is_some()),
            ("reference", reference.is_some()),
        ] {
            if is_set {
                return Err((field, "it requires a `completion`, which is missing"));
            }
        }
        match (text, pair, ids) {
            (Some(text), None, None) => Ok(ModelInput::Text(text.into())),
            (Some(text), Some(pair), None) => Ok(ModelInput::Pair(text.into(), pair.into())),
            (None, None, Some(ids)) if ids.is_empty() => {
                Err(("ids", "`ids` is empty; send at least one token id"))
            }
            (None, None, Some(ids)) => Ok(ModelInput::Ids(ids)),
            (None, Some(_), _) => Err(("pair", "it requires a `text`, which is missing")),
            (Some(_), _, Some(_)) => Err(("ids", FORMS)),
            (None, None, None) => Err(("completion", FORMS)),
        }
    }
}

/// Parses the value of `truncate`: how to treat an input that is too long.
#[must_use]
pub fn parse_truncate(name: &str) -> Option<Truncate> {
    match name {
        "reject" => Some(Truncate::Reject),
        "prompt_left" => Some(Truncate::PromptLeft),
        "left" => Some(Truncate::Left),
        "right" => Some(Truncate::Right),
        _ => None,
    }
}

/// Reply of a reward model to a scoring request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScoreReply {
    /// Name of the model.
    pub model: String,
    /// Version of the model that computed all scores of this reply.
    pub version: String,
    /// Scale of `raw`: `logit`, `probability` or `cosine`.
    pub scale: String,
    /// Function that computed `score` from `raw`: `none`, `sigmoid`, `softsign`, `affine` or
    /// `relative`.
    pub normalise: String,
    /// One result for each input, in the order of the inputs.
    pub results: Vec<InputResult>,
    /// Token usage.
    pub usage: TokenUsage,
    /// Defects of the request that did not cause its rejection.
    pub warnings: Vec<Warning>,
}

impl ScoreReply {
    /// Builds the reply for inputs with these ids.
    #[must_use]
    pub fn new(reply: ModelReply, ids: Vec<Option<String>>, warnings: Vec<Warning>) -> Self {
        let ModelReply { model, scores } = reply;
        let results: Vec<InputResult> = scores
            .into_iter()
            .zip(ids)
            .enumerate()
            .map(|(index, (score, id))| InputResult {
                id,
                index,
                outcome: InputOutcome::new(score, &model.labels),
            })
            .collect();
        let tokens = results
            .iter()
            .map(|result| u64::from(result.outcome.tokens()))
            .sum();
        Self {
            model: model.name.clone(),
            version: model.version.clone(),
            scale: scale_name(model.scale).to_owned(),
            normalise: model.normalise.to_string(),
            results,
            usage: TokenUsage { tokens },
            warnings,
        }
    }
}

/// Token usage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenUsage {
    /// Tokens processed for all inputs.
    pub tokens: u64,
}

/// Result of one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InputResult {
    /// The input's id, as sent.
    pub id: Option<String>,
    /// Position of the input in the request, from 0.
    pub index: usize,
    /// The score, or the error.
    #[serde(flatten)]
    pub outcome: InputOutcome,
}

/// A score, or an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum InputOutcome {
    /// The model cannot score this input; the other inputs are not affected.
    Refused {
        /// The reason.
        error: InputError,
    },
    /// The score.
    Scored(ScoreBody),
}

/// Why a model cannot score an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InputError {
    /// `too_long`, `prompt_too_long`, `unreadable`, or `internal` if the model returned a number
    /// that is not finite.
    pub code: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// Score of one input. The model's numbers are written with as many digits as a 32-bit float needs
/// to be read back exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScoreBody {
    /// The score on the model's scale; null for embeddings and for classes without a positive
    /// class.
    pub raw: Option<f32>,
    /// `raw` after the model's configured normalisation, in \[0, 1\]; null if `raw` is null.
    pub score: Option<f64>,
    /// Probability that each step is correct, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<f32>>,
    /// Probabilities of the label tokens by label, normalised over the labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, f32>>,
    /// Logits of the classes, in the order of the model's `labels`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<f32>>,
    /// The embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vec<f32>>,
    /// Tokens processed.
    pub tokens: u32,
    /// Tokens removed by truncation.
    pub truncated_tokens: u32,
    /// The last token ids of the input, at most four; the head reads the output at its pooling
    /// position.
    pub last_ids: Vec<u32>,
}

impl InputOutcome {
    /// Converts the score of one input; `labels` are the labels of the model.
    #[must_use]
    pub fn new(score: Result<ModelScore, Refusal>, labels: &[String]) -> Self {
        let error = |code: &str, message: String| Self::Refused {
            error: InputError {
                code: code.to_owned(),
                message,
            },
        };
        let score = match score {
            Ok(score) => score,
            Err(refusal) => return error(refusal_code(&refusal), refusal.to_string()),
        };
        if !is_finite(&score) {
            let message = "the model returned a number that is not finite; check its weights and \
                           its `dtype`";
            return error(ErrorCode::Internal.as_str(), message.to_owned());
        }
        let ModelScore {
            readout,
            raw,
            score,
            tokens,
            truncated_tokens,
            last_ids,
        } = score;
        let mut body = ScoreBody {
            raw,
            score,
            steps: None,
            labels: None,
            classes: None,
            embedding: None,
            tokens,
            truncated_tokens,
            last_ids,
        };
        match readout {
            ModelOutput::Scalar(_) => {}
            ModelOutput::Steps(steps) => body.steps = Some(steps),
            ModelOutput::Labels(values) => {
                body.labels = Some(labels.iter().cloned().zip(values).collect());
            }
            ModelOutput::Classes(values) => body.classes = Some(values),
            ModelOutput::Embedding(values) => body.embedding = Some(values),
        }
        Self::Scored(body)
    }

    /// Tokens processed for the input.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        match self {
            Self::Scored(body) => body.tokens,
            Self::Refused { .. } => 0,
        }
    }
}

fn refusal_code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::TooLong { .. } => "too_long",
        Refusal::PromptTooLong { .. } => "prompt_too_long",
        Refusal::Unreadable(_) => "unreadable",
    }
}

/// Whether all numbers are finite; JSON cannot represent others.
#[must_use]
pub fn is_finite(score: &ModelScore) -> bool {
    let values = match &score.readout {
        ModelOutput::Scalar(value) => std::slice::from_ref(value),
        ModelOutput::Classes(values)
        | ModelOutput::Labels(values)
        | ModelOutput::Steps(values)
        | ModelOutput::Embedding(values) => values,
    };
    values
        .iter()
        .chain(&score.raw)
        .all(|value| value.is_finite())
        && score.score.is_none_or(f64::is_finite)
}
