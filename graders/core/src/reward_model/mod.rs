//! Reward models as the rest of the house sees them: loaded under a name, asked for scores,
//! replaced while they are asked.
//!
//! A score never comes without the version of the model that gave it, and the raw number never
//! without its [`Scale`].

mod numbers;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

pub use numbers::{sigmoid, softmax, unit};

use crate::{BoxFuture, Completion, ErrorCode};

/// What a model is asked about.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelInput {
    /// A completion with what it answers, rendered by the model's own template.
    Rollout {
        /// The conversation before it.
        prompt: Option<Completion>,
        /// What is judged.
        completion: Completion,
        /// The gold answer, for models that compare with one.
        reference: Option<Arc<str>>,
    },
    /// A text as it is: no template, the special tokens that the tokenizer adds by itself.
    Text(Arc<str>),
    /// A text that brings its own special tokens: none is added, but the end-of-sequence token
    /// where `ended` asks for exactly one at the end and the text has none there.
    Bare {
        /// The text.
        text: Arc<str>,
        /// Whether it ends in the end-of-sequence token.
        ended: bool,
    },
    /// Two texts for a model that reads pairs, as a question and a passage.
    Pair(Arc<str>, Arc<str>),
    /// Token ids as they are: nothing is added.
    Ids(Vec<u32>),
}

/// What happens to an input longer than the model reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Truncate {
    /// It is refused: a model that does not see the end of an answer says nothing about it.
    #[default]
    Refuse,
    /// Tokens are cut from the start of the prompt; template and completion stay whole. Refused
    /// where that is not enough.
    PromptLeft,
    /// The first tokens are cut, the special ones at the start stay.
    Left,
    /// The last tokens are cut, the special ones at the end stay.
    Right,
}

/// Inputs for one model, admitted whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The model; `None` for the one that is loaded, or the default of several.
    pub model: Option<String>,
    /// Who asks: callers take turns.
    pub caller: Arc<str>,
    /// What it is asked about.
    pub inputs: Vec<ModelInput>,
    /// What happens to inputs that are too long.
    pub truncate: Truncate,
    /// Refuse unless the model has this version, or one that starts so.
    pub expected_version: Option<String>,
    /// Longest wait in the queue; `None` for as long as it takes.
    pub timeout: Option<Duration>,
}

/// The scale of a raw number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Any number; only differences under one prompt mean something (Bradley-Terry).
    Logit,
    /// A probability, 0 to 1.
    Probability,
    /// Cosine of two embeddings, -1 to 1.
    Cosine,
}

/// What a model says of an input, before any normalisation.
#[derive(Debug, Clone, PartialEq)]
pub enum Readout {
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

/// What a model said of one input.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelScore {
    /// Everything it said.
    pub readout: Readout,
    /// The one number that stands for it, on the model's scale: the scalar, the probability of the
    /// positive labels, the least of the steps, or the cosine with the reference; `None` for
    /// classes without a positive one and for embeddings alone.
    pub raw: Option<f32>,
    /// [`ModelScore::raw`] under the model's declared normalisation, 0 to 1.
    pub score: Option<f64>,
    /// Tokens read.
    pub tokens: u32,
    /// Tokens cut off.
    pub cut: u32,
    /// The last token ids read, at most four: what stands under the head.
    pub last_ids: Vec<u32>,
}

/// Why a model says nothing of one input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The completion, or an input that cannot be told apart, is longer than the model reads.
    #[error("the input has {tokens} tokens, and the model reads at most {max}")]
    TooLong {
        /// Its tokens.
        tokens: usize,
        /// Most that are read.
        max: usize,
    },
    /// The prompt leaves no room.
    #[error(
        "prompt and completion have {tokens} tokens, and the model reads at most {max}; cut the \
         prompt, or allow `truncate: \"prompt_left\"`"
    )]
    PromptTooLong {
        /// Tokens in all.
        tokens: usize,
        /// Most that are read.
        max: usize,
    },
    /// The model does not read such an input: what it needs, and what it got.
    #[error("{0}")]
    Unreadable(String),
}

/// What a model said of a request's inputs, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReply {
    /// The model that said it. All inputs of a request meet one version.
    pub model: Arc<ModelInfo>,
    /// A score or the reason for none, for each input.
    pub scores: Vec<Result<ModelScore, Refusal>>,
}

/// A model that is loaded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelInfo {
    /// Its name here.
    pub name: String,
    /// Hash of configuration, weights, tokenizer and options, in hex: what gave a score.
    pub version: String,
    /// The directory or hub name it came from.
    pub source: String,
    /// `architectures[0]` of its configuration.
    pub architecture: String,
    /// The head: `scalar`, `classes`, `steps`, `labels` or `embedding`.
    pub head: &'static str,
    /// The row the head reads, as options write it: `last`, `hf_nonpad`, `first_pad`, `cls`,
    /// `mean`, `token:ID`.
    pub pooling: String,
    /// Scale of `raw`.
    pub scale: Scale,
    /// How `raw` becomes a score: `none`, `sigmoid`, `affine` or `relative`.
    pub normalise: &'static str,
    /// Names of classes or label tokens, in the order of their numbers; empty for one scalar.
    pub labels: Vec<String>,
    /// How rollouts are rendered: `chat`, `text`, `verify_rm` or `custom`.
    pub template: &'static str,
    /// Parameters in all.
    pub parameters: u64,
    /// Size of a hidden state.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// Most tokens it reads.
    pub max_tokens: usize,
    /// Type of the numbers it computes with: `f32`, `bf16` or `f16`.
    pub dtype: &'static str,
    /// Where it runs: `cpu` or `cuda:N`.
    pub device: String,
    /// When it became ready, in microseconds of Unix time.
    pub loaded_us: i64,
}

/// A name and what stands behind it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelStatus {
    /// The name.
    pub name: String,
    /// `ready`, `loading` or `failed`; a model that is being replaced stays `ready`.
    pub state: ModelState,
    /// Why it failed, or why the last replacement did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The model, when one is loaded.
    #[serde(flatten)]
    pub info: Option<Arc<ModelInfo>>,
    /// Whether requests without a name get it.
    pub default: bool,
    /// Inputs scored since the start.
    pub scored: u64,
    /// Tokens read since the start.
    pub tokens: u64,
    /// Tokens waiting.
    pub waiting_tokens: u64,
}

/// Whether a name can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelState {
    /// It answers.
    Ready,
    /// It will.
    Loading,
    /// It cannot.
    Failed,
}

/// What to load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelLoad {
    /// A directory or `org/name`; `None` reads the present source again.
    pub source: Option<String>,
    /// Options as in the configuration, beside `source`; `None` keeps the present ones.
    pub options: Option<Map<String, Value>>,
}

/// Why a request for a model is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No model has the name, or none was named and there is not one that could be meant.
    #[error("{0}")]
    Unknown(String),
    /// The model is not loaded yet, or failed to load.
    #[error("{0}")]
    Unavailable(String),
    /// What should be loaded cannot be, with the reason.
    #[error("{0}")]
    NotLoadable(String),
    /// The model has another version than the expected one.
    #[error(
        "the model `{name}` has version {version}, not {expected}; read `GET /v1/reward-models` \
         and decide anew"
    )]
    OtherVersion {
        /// The model.
        name: String,
        /// Its version.
        version: String,
        /// The expected one.
        expected: String,
    },
    /// Too many tokens wait.
    #[error("{waiting} tokens wait for the model; retry in {} s", retry_after.as_secs().max(1))]
    Overloaded {
        /// Tokens that wait.
        waiting: u64,
        /// When there should be room.
        retry_after: Duration,
    },
    /// The request alone is more than ever fits.
    #[error(
        "the request has {tokens} tokens, and at most {limit} may wait; send fewer inputs at once"
    )]
    TooLarge {
        /// Its tokens.
        tokens: u64,
        /// Most that may wait.
        limit: u64,
    },
    /// The timeout ran out before its turn came.
    #[error("the request did not get its turn within its timeout; send it again, or later")]
    Expired,
    /// The node is shutting down.
    #[error("the node is shutting down; send the request to another")]
    ShuttingDown,
    /// The device failed.
    #[error("{0}")]
    Device(String),
}

impl ModelError {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown(_) => ErrorCode::UnknownModel,
            Self::Unavailable(_) => ErrorCode::ModelUnavailable,
            Self::NotLoadable(_) => ErrorCode::ModelNotLoadable,
            Self::OtherVersion { .. } => ErrorCode::ModelVersionMismatch,
            Self::Overloaded { .. } => ErrorCode::Overloaded,
            Self::TooLarge { .. } => ErrorCode::TooManyItems,
            Self::Expired => ErrorCode::DeadlineExceeded,
            Self::ShuttingDown => ErrorCode::ShuttingDown,
            Self::Device(_) => ErrorCode::Internal,
        }
    }
}

/// Whatever holds reward models.
pub trait RewardModels: Send + Sync {
    /// Every name, in alphabetical order.
    fn list(&self) -> Vec<ModelStatus>;

    /// The model behind a name, or the one that is meant without a name.
    ///
    /// # Errors
    /// [`ModelError::Unknown`], [`ModelError::Unavailable`].
    fn find(&self, name: Option<&str>) -> Result<Arc<ModelInfo>, ModelError>;

    /// Scores inputs. Dropping the future gives their place in the queue up.
    fn score(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>>;

    /// Loads a model under a name, or replaces the one there; requests go on meanwhile and meet one
    /// version each.
    fn load(
        &self,
        name: String,
        load: ModelLoad,
    ) -> BoxFuture<'_, Result<Arc<ModelInfo>, ModelError>>;

    /// Takes a model away. What waits for it is still answered.
    ///
    /// # Errors
    /// [`ModelError::Unknown`].
    fn unload(&self, name: &str) -> Result<(), ModelError>;

    /// Refuses new requests, answers those that wait, and refuses what is left when `timeout` runs
    /// out.
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
