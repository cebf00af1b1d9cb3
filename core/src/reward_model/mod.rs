//! The interface of reward models for the other crates: models are loaded under a name, score
//! inputs, and can be replaced while they are in use.
//!
//! A score always includes the version of its model, and a raw number its [`Scale`].

mod numbers;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub use numbers::{sigmoid, softmax, softsign, unit};

use crate::{BoxFuture, Completion, ErrorCode};

/// An input of a reward model.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelInput {
    /// A completion with its prompt, rendered by the template of the model.
    Rollout {
        /// The prompt, or the conversation before the completion.
        prompt: Option<Completion>,
        /// The completion to score.
        completion: Completion,
        /// The gold answer, for models that compare with it.
        reference: Option<Arc<str>>,
    },
    /// A text without a template. The tokenizer adds its special tokens.
    Text(Arc<str>),
    /// A text that contains its special tokens, so none are added. If `ended` is set and the text
    /// does not end with the end-of-sequence token, that token is appended.
    Bare {
        /// The text.
        text: Arc<str>,
        /// Whether the input must end with exactly one end-of-sequence token.
        ended: bool,
    },
    /// Two texts for a model that reads pairs, such as a question and a passage.
    Pair(Arc<str>, Arc<str>),
    /// Token ids. Nothing is added.
    Ids(Vec<u32>),
}

/// How to handle an input that is longer than the model accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Truncate {
    /// Reject it: a score of a truncated answer would be meaningless.
    #[default]
    Reject,
    /// Remove tokens from the start of the prompt. Template and completion are kept whole. The
    /// input is rejected if that is not enough.
    PromptLeft,
    /// Remove the first tokens, except special tokens at the start.
    Left,
    /// Remove the last tokens, except special tokens at the end.
    Right,
}

/// A request to score inputs with one model. It is admitted as a whole or rejected.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// Name of the model; `None` for the only one, or the default if there are several.
    pub model: Option<String>,
    /// The caller. Callers are served in turn.
    pub caller: Arc<str>,
    /// Whether results of earlier requests of the caller may be used.
    pub use_cache: bool,
    /// The inputs.
    pub inputs: Vec<ModelInput>,
    /// How to handle inputs that are too long.
    pub truncate: Truncate,
    /// Reject the request unless the version of the model starts with this text.
    pub expected_version: Option<String>,
    /// Maximum time in the queue; `None` for no limit.
    pub timeout: Option<Duration>,
}

/// The scale of a raw number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Any number. Only differences between completions of one prompt are meaningful
    /// (Bradley-Terry).
    Logit,
    /// A probability, 0 to 1.
    Probability,
    /// Cosine of two embeddings, -1 to 1.
    Cosine,
}

/// The output of a model for one input, before normalisation.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelOutput {
    /// One number, on the model's scale.
    Scalar(f32),
    /// Logits of several classes, in the order of [`ModelInfo::labels`].
    Classes(Vec<f32>),
    /// Probabilities of the label tokens among themselves, in the order of [`ModelInfo::labels`].
    Labels(Vec<f32>),
    /// Probability that a step is good, for each step in order.
    Steps(Vec<f32>),
    /// An embedding.
    Embedding(Vec<f32>),
}

/// The score of one input.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelScore {
    /// The complete output.
    pub readout: ModelOutput,
    /// The output as one number on the scale of the model: the scalar, the probability of the
    /// positive labels, the minimum over the steps, or the cosine with the reference. `None` for
    /// classes without a positive one and for embeddings without a reference.
    pub raw: Option<f32>,
    /// [`ModelScore::raw`] after the normalisation that the model declares, in \[0, 1\].
    pub score: Option<f64>,
    /// Number of tokens read.
    pub tokens: u32,
    /// Number of tokens removed by truncation.
    pub truncated_tokens: u32,
    /// The last token ids, at most four. They show which token the head reads.
    pub last_ids: Vec<u32>,
}

/// Why a model cannot score an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The completion, or an input without separate parts, is longer than the model accepts.
    #[error("the input has {tokens} tokens, but the model accepts at most {max}")]
    TooLong {
        /// Tokens of the input.
        tokens: usize,
        /// Maximum number of tokens.
        max: usize,
    },
    /// The prompt leaves too few tokens for the completion.
    #[error(
        "prompt and completion have {tokens} tokens, but the model accepts at most {max}; shorten \
         the prompt or set `truncate: \"prompt_left\"`"
    )]
    PromptTooLong {
        /// Tokens of prompt and completion.
        tokens: usize,
        /// Maximum number of tokens.
        max: usize,
    },
    /// The model does not support this kind of input. The message states what it needs and what it
    /// received.
    #[error("{0}")]
    Unreadable(String),
}

/// The reply to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReply {
    /// The model. All inputs of a request are scored by the same version.
    pub model: Arc<ModelInfo>,
    /// For each input in order, its score or the reason why it has none.
    pub scores: Vec<Result<ModelScore, Refusal>>,
}

/// A loaded model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ModelBody)]
pub struct ModelInfo {
    /// Name of the reward model.
    pub name: String,
    /// Hash of the configuration, weights, tokenizer and options, in hexadecimal. It identifies
    /// what computed a score.
    pub version: String,
    /// The directory or hub name from which it was loaded.
    pub source: String,
    /// `architectures[0]` of its configuration.
    #[schema(example = "Qwen3ForSequenceClassification")]
    pub architecture: String,
    /// Type of the head: `scalar`, `classes`, `steps`, `labels` or `embedding`.
    #[schema(value_type = String)]
    pub head: Cow<'static, str>,
    /// Position that the head reads: `last`, `hf_nonpad`, `first_pad`, `cls`, `mean` or `token:ID`.
    pub pooling: String,
    /// Scale of `raw`: `logit`, `probability` or `cosine`.
    #[schema(value_type = String)]
    pub scale: Scale,
    /// Function that computes `score` from `raw`: `none`, `sigmoid`, `softsign`, `affine` or
    /// `relative`.
    #[schema(value_type = String)]
    pub normalise: Cow<'static, str>,
    /// Names of the classes or label tokens, in the order of the outputs; empty for a single
    /// output.
    pub labels: Vec<String>,
    /// How rollouts are rendered: `chat`, `text`, `verify_rm` or `custom`.
    #[schema(value_type = String)]
    pub template: Cow<'static, str>,
    /// Number of parameters.
    pub parameters: u64,
    /// Size of a hidden state.
    pub hidden: usize,
    /// Number of layers.
    pub layers: usize,
    /// Maximum number of input tokens.
    pub max_tokens: usize,
    /// Data type of the computation: `f32`, `bf16` or `f16`.
    #[schema(value_type = String)]
    pub dtype: Cow<'static, str>,
    /// Device: `cpu`, `cuda:N`, or several GPUs separated by commas.
    pub device: String,
    /// Time at which it became ready, in microseconds since the Unix epoch.
    pub loaded_us: i64,
}

/// The state of a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelStatus {
    /// The name.
    pub name: String,
    /// State. A model that is being replaced stays `ready`.
    pub state: ModelState,
    /// Why loading or the last replacement failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The model, if one is loaded.
    #[serde(flatten)]
    pub info: Option<Arc<ModelInfo>>,
    /// Whether requests without a name use it.
    pub default: bool,
    /// Inputs scored since the start.
    pub scored: u64,
    /// Tokens read since the start.
    pub tokens: u64,
    /// Tokens in the queue.
    pub waiting_tokens: u64,
}

/// Whether a name can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelState {
    /// Requests are answered.
    Ready,
    /// The model is being loaded.
    Loading,
    /// The model could not be loaded.
    Failed,
}

/// A request to load a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelLoad {
    /// A directory or `org/name`; `None` reloads the current source.
    pub source: Option<String>,
    /// Options as in the configuration, without `source`; `None` keeps the current ones.
    pub options: Option<Map<String, Value>>,
    /// Version of the model to replace, or a prefix of it; `None` replaces any.
    pub expected_version: Option<String>,
}

/// Why a request for a model is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// There is no model of this name, or no name was given and there is no default.
    #[error("{0}")]
    Unknown(String),
    /// The model is not loaded yet, or failed to load.
    #[error("{0}")]
    Unavailable(String),
    /// The model cannot be loaded. The message has the reason.
    #[error("{0}")]
    NotLoadable(String),
    /// The model has another version than the expected one.
    #[error(
        "the model `{name}` has version {version}, not {expected}; read the current version from \
         `GET /v1/reward-models`"
    )]
    VersionMismatch {
        /// The model.
        name: String,
        /// Its version.
        version: String,
        /// The expected one.
        expected: String,
    },
    /// Too many tokens are queued.
    #[error(
        "{waiting} tokens are queued for the model; retry in {} s",
        retry_after.as_secs().max(1)
    )]
    Overloaded {
        /// Queued tokens.
        waiting: u64,
        /// Time after which the queue should accept the request.
        retry_after: Duration,
    },
    /// The request alone exceeds the limit of the queue.
    #[error(
        "the request has {tokens} tokens, but the queue accepts at most {limit}; send fewer inputs \
         per request"
    )]
    TooLarge {
        /// Tokens of the request.
        tokens: u64,
        /// Maximum number of queued tokens.
        limit: u64,
    },
    /// The request timed out in the queue.
    #[error("the request timed out in the queue; retry")]
    Expired,
    /// The node is shutting down.
    #[error("the node is shutting down; retry on another node")]
    ShuttingDown,
    /// The device failed.
    #[error("{0}")]
    Device(String),
}

impl ModelError {
    /// The error code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown(_) => ErrorCode::UnknownModel,
            Self::Unavailable(_) => ErrorCode::ModelUnavailable,
            Self::NotLoadable(_) => ErrorCode::ModelNotLoadable,
            Self::VersionMismatch { .. } => ErrorCode::ModelVersionMismatch,
            Self::Overloaded { .. } => ErrorCode::Overloaded,
            Self::TooLarge { .. } => ErrorCode::TooManyItems,
            Self::Expired => ErrorCode::DeadlineExceeded,
            Self::ShuttingDown => ErrorCode::ShuttingDown,
            Self::Device(_) => ErrorCode::Internal,
        }
    }
}

/// Serves reward models.
pub trait RewardModels: Send + Sync {
    /// Returns the state of every name, in alphabetical order.
    fn list(&self) -> Vec<ModelStatus>;

    /// Returns the model of a name, or the default model.
    ///
    /// # Errors
    /// [`ModelError::Unknown`], [`ModelError::Unavailable`].
    fn find(&self, name: Option<&str>) -> Result<Arc<ModelInfo>, ModelError>;

    /// Scores inputs. Dropping the future removes the request from the queue.
    fn score(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>>;

    /// Loads a model under a name, or replaces the model of that name. Requests continue meanwhile;
    /// each uses one version.
    fn load(
        &self,
        name: String,
        load: ModelLoad,
    ) -> BoxFuture<'_, Result<Arc<ModelInfo>, ModelError>>;

    /// Unloads a model. Requests that are already queued for it are still answered.
    ///
    /// # Errors
    /// [`ModelError::Unknown`].
    fn unload(&self, name: &str) -> Result<(), ModelError>;

    /// Rejects new requests, answers queued ones, and rejects those that are left after `timeout`.
    fn stop(&self, timeout: Duration) -> BoxFuture<'_, ()> {
        let _ = timeout;
        Box::pin(std::future::ready(()))
    }
}

impl fmt::Debug for dyn RewardModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RewardModels")
    }
}
