//! What reward models are asked, and what they answer, as JSON.

mod decode;

use std::collections::BTreeMap;

use assay_core::reward_model::{ModelInput, ModelReply, ModelScore, Readout, Refusal, Truncate};
use assay_core::{Completion, ErrorCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Warning;
use crate::reward_models::scale_name;

pub use decode::{DecodedInput, DecodedScore, decode_input, decode_score};

/// Inputs for a reward model, scored all together by one version of it.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct ScoreRequest {
    /// The inputs, at least one.
    #[schema(min_items = 1)]
    pub items: Vec<InputRequest>,
    /// What happens to an input that is too long: `refuse`, `prompt_left`, `left` or `right`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "refuse", pattern = "^(refuse|prompt_left|left|right)$")]
    pub truncate: Option<String>,
    /// Refuse unless the model has this version, or one that starts so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub expected_version: Option<String>,
    /// Longest wait for a turn, in milliseconds; as long as it takes without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// One input: a `completion` with its `prompt` and `reference`, or a `text`, alone or with a
/// `pair`, or `ids`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InputRequest {
    /// The trainer's own id, unique in the request; echoed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "p17-3", max_length = 1024)]
    pub id: Option<String>,
    /// What the completion answers: a string or an array of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub prompt: Option<Completion>,
    /// What is judged: a string or an array of messages. The model's own template renders both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub completion: Option<Completion>,
    /// The gold answer, for models that compare with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// A text as it is: no template, the special tokens that the tokenizer adds by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A second text beside `text`, for a model that reads pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<String>,
    /// Token ids as they are: nothing is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1)]
    pub ids: Option<Vec<u32>>,
}

impl InputRequest {
    /// The input that is meant.
    ///
    /// # Errors
    /// The name of the field that does not fit the others, and why.
    pub fn input(self) -> Result<ModelInput, (&'static str, &'static str)> {
        const ONE: &str = "an input is a `completion` with its `prompt` and `reference`, or a \
                           `text`, alone or with a `pair`, or `ids`";
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
            for (field, is_there) in [
                ("text", text.is_some()),
                ("pair", pair.is_some()),
                ("ids", ids.is_some()),
            ] {
                if is_there {
                    return Err((field, ONE));
                }
            }
            if !completion.has_answer() {
                return Err((
                    "completion",
                    "the messages hold none of the role `assistant`, so there is nothing to score",
                ));
            }
            return Ok(ModelInput::Rollout {
                prompt,
                completion,
                reference: reference.map(Into::into),
            });
        }
        for (field, is_there) in [
            ("prompt", prompt.is_some()),
            ("reference", reference.is_some()),
        ] {
            if is_there {
                return Err((field, "it stands beside a `completion`, which is missing"));
            }
        }
        match (text, pair, ids) {
            (Some(text), None, None) => Ok(ModelInput::Text(text.into())),
            (Some(text), Some(pair), None) => Ok(ModelInput::Pair(text.into(), pair.into())),
            (None, None, Some(ids)) if ids.is_empty() => {
                Err(("ids", "there is no token; send at least one"))
            }
            (None, None, Some(ids)) => Ok(ModelInput::Ids(ids)),
            (None, Some(_), _) => Err(("pair", "it stands beside a `text`, which is missing")),
            (Some(_), _, Some(_)) => Err(("ids", ONE)),
            (None, None, None) => Err(("completion", ONE)),
        }
    }
}

/// What happens to an input that is too long, by its name on the wire.
#[must_use]
pub fn truncate_named(name: &str) -> Option<Truncate> {
    match name {
        "refuse" => Some(Truncate::Refuse),
        "prompt_left" => Some(Truncate::PromptLeft),
        "left" => Some(Truncate::Left),
        "right" => Some(Truncate::Right),
        _ => None,
    }
}

/// What a reward model answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScoreReply {
    /// The model.
    pub model: String,
    /// The version that gave every score of this reply.
    pub version: String,
    /// Scale of `raw`: `logit`, `probability` or `cosine`.
    pub scale: String,
    /// How `raw` became `score`: `none`, `sigmoid`, `affine` or `relative`.
    pub normalise: String,
    /// One result an input, in their order.
    pub results: Vec<InputResult>,
    /// What it cost.
    pub usage: TokenUsage,
    /// Unknown fields.
    pub warnings: Vec<Warning>,
}

impl ScoreReply {
    /// The reply to inputs with these ids.
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
            normalise: model.normalise.to_owned(),
            results,
            usage: TokenUsage { tokens },
            warnings,
        }
    }
}

/// Tokens read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenUsage {
    /// By all inputs together.
    pub tokens: u64,
}

/// What a model said of one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InputResult {
    /// The input's id, as sent.
    pub id: Option<String>,
    /// Its place, from 0.
    pub index: usize,
    /// The score, or why there is none.
    #[serde(flatten)]
    pub outcome: InputOutcome,
}

/// A score, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum InputOutcome {
    /// The model says nothing of this input; the others are scored.
    Refused {
        /// Why.
        error: InputError,
    },
    /// What it said.
    Scored(ScoreBody),
}

/// Why a model says nothing of one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InputError {
    /// `too_long`, `prompt_too_long`, `unreadable`, or `internal` when the model gave a number that
    /// is not finite.
    pub code: String,
    /// What was wrong and what to do.
    pub message: String,
}

/// What a model said of one input. Numbers of the model are written with as many digits as tell
/// 32-bit floats apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScoreBody {
    /// The one number that stands for it, on the model's scale; null for an embedding alone and for
    /// classes without a positive one.
    pub raw: Option<f32>,
    /// The same under the model's declared normalisation, 0 to 1; null where there is no `raw`.
    pub score: Option<f64>,
    /// Probability that a step is good, for each step in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<f32>>,
    /// Probabilities of the label tokens among themselves, by label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, f32>>,
    /// Logits of the classes, in the order of the model's `labels`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<f32>>,
    /// The embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vec<f32>>,
    /// Tokens read.
    pub tokens: u32,
    /// Tokens cut off.
    pub cut: u32,
    /// The last token ids read, at most four: what stands under the head.
    pub last_ids: Vec<u32>,
}

impl InputOutcome {
    /// The outcome of one input; `labels` are the model's.
    #[must_use]
    pub fn new(score: Result<ModelScore, Refusal>, labels: &[String]) -> Self {
        let refused = |code: &str, message: String| Self::Refused {
            error: InputError {
                code: code.to_owned(),
                message,
            },
        };
        let score = match score {
            Ok(score) => score,
            Err(refusal) => return refused(refusal_code(&refusal), refusal.to_string()),
        };
        if !is_finite(&score) {
            let message = "the model gave a number that is not finite; its weights or its type of \
                           numbers are at fault";
            return refused(ErrorCode::Internal.as_str(), message.to_owned());
        }
        let ModelScore {
            readout,
            raw,
            score,
            tokens,
            cut,
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
            cut,
            last_ids,
        };
        match readout {
            Readout::Scalar(_) => {}
            Readout::Steps(steps) => body.steps = Some(steps),
            Readout::Labels(values) => {
                body.labels = Some(labels.iter().cloned().zip(values).collect())
            }
            Readout::Classes(values) => body.classes = Some(values),
            Readout::Embedding(values) => body.embedding = Some(values),
        }
        Self::Scored(body)
    }

    /// Tokens read for it.
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

/// Whether JSON can say every number of it.
#[must_use]
pub fn is_finite(score: &ModelScore) -> bool {
    let values = match &score.readout {
        Readout::Scalar(value) => std::slice::from_ref(value),
        Readout::Classes(values)
        | Readout::Labels(values)
        | Readout::Steps(values)
        | Readout::Embedding(values) => values,
    };
    values
        .iter()
        .chain(&score.raw)
        .all(|value| value.is_finite())
        && score.score.is_none_or(f64::is_finite)
}
