//! JSON types for the list of reward models and for loading them.

use assay_core::reward_model::{ModelInfo, ModelLoad, ModelState, ModelStatus, Scale};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Name of a scale in JSON: `logit`, `probability` or `cosine`.
#[must_use]
pub fn scale_name(scale: Scale) -> &'static str {
    match scale {
        Scale::Logit => "logit",
        Scale::Probability => "probability",
        Scale::Cosine => "cosine",
    }
}

/// Why a text is not a valid name of a reward model; `None` if it is valid.
///
/// Names are used in URL paths, metric labels and tables.
#[must_use]
pub fn invalid_model_name(name: &str) -> Option<&'static str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let valid = (1..=64).contains(&name.len()) && name.bytes().all(allowed);
    (!valid).then_some(
        "a reward model's name must have 1 to 64 characters out of letters, digits, `-`, `_` and \
         `.`",
    )
}

/// A configured reward model and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RewardModelBody {
    /// Name of the reward model.
    #[schema(example = "skywork")]
    pub name: String,
    /// `ready`, `loading` or `failed`; a model stays `ready` while it is being replaced.
    pub state: String,
    /// Why loading the model or its last replacement failed; null if neither failed.
    pub problem: Option<String>,
    /// Whether it serves requests that do not name a model.
    pub default: bool,
    /// Inputs scored since the node started.
    pub scored: u64,
    /// Tokens processed since the node started.
    pub tokens: u64,
    /// Tokens in the queue.
    pub waiting_tokens: u64,
    /// The loaded model; null if none is loaded.
    pub model: Option<ModelBody>,
}

impl From<&ModelStatus> for RewardModelBody {
    fn from(status: &ModelStatus) -> Self {
        let state = match status.state {
            ModelState::Ready => "ready",
            ModelState::Loading => "loading",
            ModelState::Failed => "failed",
        };
        Self {
            name: status.name.clone(),
            state: state.to_owned(),
            problem: status.problem.clone(),
            default: status.default,
            scored: status.scored,
            tokens: status.tokens,
            waiting_tokens: status.waiting_tokens,
            model: status.info.as_deref().map(ModelBody::from),
        }
    }
}

/// A loaded model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelBody {
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
    pub head: String,
    /// Position that the head reads: `last`, `hf_nonpad`, `first_pad`, `cls`, `mean` or `token:ID`.
    pub pooling: String,
    /// Scale of `raw`: `logit`, `probability` or `cosine`.
    pub scale: String,
    /// Function that computes `score` from `raw`: `none`, `sigmoid`, `softsign`, `affine` or
    /// `relative`.
    pub normalise: String,
    /// Names of the classes or label tokens, in the order of the outputs; empty for a single
    /// output.
    pub labels: Vec<String>,
    /// How rollouts are rendered: `chat`, `text`, `verify_rm` or `custom`.
    pub template: String,
    /// Number of parameters.
    pub parameters: u64,
    /// Size of a hidden state.
    pub hidden: usize,
    /// Number of layers.
    pub layers: usize,
    /// Maximum number of input tokens.
    pub max_tokens: usize,
    /// Data type of the computation: `f32`, `bf16` or `f16`.
    pub dtype: String,
    /// Device: `cpu`, `cuda:N`, or several GPUs separated by commas.
    pub device: String,
    /// Time at which it became ready, in microseconds since the Unix epoch.
    pub loaded_us: i64,
}

impl From<&ModelInfo> for ModelBody {
    fn from(info: &ModelInfo) -> Self {
        Self {
            name: info.name.clone(),
            version: info.version.clone(),
            source: info.source.clone(),
            architecture: info.architecture.clone(),
            head: info.head.to_owned(),
            pooling: info.pooling.clone(),
            scale: scale_name(info.scale).to_owned(),
            normalise: info.normalise.to_owned(),
            labels: info.labels.clone(),
            template: info.template.to_owned(),
            parameters: info.parameters,
            hidden: info.hidden,
            layers: info.layers,
            max_tokens: info.max_tokens,
            dtype: info.dtype.to_owned(),
            device: info.device.clone(),
            loaded_us: info.loaded_us,
        }
    }
}

/// The reward models of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RewardModelsBody {
    /// The reward models, ordered by name.
    pub reward_models: Vec<RewardModelBody>,
}

/// The model to load under a name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadRequest {
    /// `org/name` on the hub, or a directory under the configured folder. If omitted, the current
    /// source is loaded again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Skywork/Skywork-Reward-V2-Qwen3-0.6B")]
    pub source: Option<String>,
    /// Options as in the configuration. If omitted, the current options are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub options: Option<Map<String, Value>>,
    /// Version of the current model, or a prefix of it. If another version is loaded, nothing
    /// happens, so that a replacement is never based on a model that is no longer in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<String>,
}

impl From<LoadRequest> for ModelLoad {
    fn from(request: LoadRequest) -> Self {
        Self {
            source: request.source,
            options: request.options,
            expected_version: request.expected_version,
        }
    }
}

/// An unloaded reward model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnloadedBody {
    /// Name of the reward model.
    pub unloaded: String,
}
