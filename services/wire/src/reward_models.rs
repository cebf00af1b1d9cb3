//! Reward models as JSON: which there are, and what to load.

use assay_core::reward_model::{ModelInfo, ModelLoad, ModelState, ModelStatus, Scale};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The scale of a raw number, as the wire writes it: `logit`, `probability` or `cosine`.
#[must_use]
pub fn scale_name(scale: Scale) -> &'static str {
    match scale {
        Scale::Logit => "logit",
        Scale::Probability => "probability",
        Scale::Cosine => "cosine",
    }
}

/// Why a text is no name of a reward model; `None` if it is one.
///
/// Names stand in paths, labels of metrics and tables.
#[must_use]
pub fn bad_model_name(name: &str) -> Option<&'static str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let good = (1..=64).contains(&name.len()) && name.bytes().all(fits);
    (!good).then_some("a reward model's name has 1 to 64 letters, digits, `-`, `_` and `.`")
}

/// A name and what stands behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RewardModelBody {
    /// Its name.
    #[schema(example = "skywork")]
    pub name: String,
    /// `ready`, `loading` or `failed`; a model that is being replaced stays `ready`.
    pub state: String,
    /// Why it failed, or why the last replacement did; null when neither.
    pub problem: Option<String>,
    /// Whether requests that name no model get it.
    pub default: bool,
    /// Inputs scored since the start.
    pub scored: u64,
    /// Tokens read since the start.
    pub tokens: u64,
    /// Tokens waiting.
    pub waiting_tokens: u64,
    /// The model; null while none is loaded.
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

/// A model that is loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelBody {
    /// Its name here.
    pub name: String,
    /// Hash of configuration, weights, tokenizer and options, in hex: what gave a score.
    pub version: String,
    /// The directory or hub name it came from.
    pub source: String,
    /// `architectures[0]` of its configuration.
    #[schema(example = "Qwen3ForSequenceClassification")]
    pub architecture: String,
    /// The head: `scalar`, `classes`, `steps`, `labels` or `embedding`.
    pub head: String,
    /// The row the head reads: `last`, `hf_nonpad`, `first_pad`, `cls`, `mean` or `token:ID`.
    pub pooling: String,
    /// Scale of `raw`: `logit`, `probability` or `cosine`.
    pub scale: String,
    /// How `raw` becomes `score`: `none`, `sigmoid`, `affine` or `relative`.
    pub normalise: String,
    /// Names of classes or label tokens, in the order of their numbers; empty for one number.
    pub labels: Vec<String>,
    /// How rollouts are rendered: `chat`, `text`, `verify_rm` or `custom`.
    pub template: String,
    /// Parameters in all.
    pub parameters: u64,
    /// Size of a hidden state.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// Most tokens it reads.
    pub max_tokens: usize,
    /// Type of the numbers it computes with: `f32`, `bf16` or `f16`.
    pub dtype: String,
    /// Where it runs: `cpu` or `cuda:N`.
    pub device: String,
    /// When it became ready, in microseconds since the Unix epoch.
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
    /// By name.
    pub reward_models: Vec<RewardModelBody>,
}

/// What to load under a name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadRequest {
    /// `org/name` of the hub, or a directory under the configured folder; the present source is
    /// read again without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Skywork/Skywork-Reward-V2-Qwen3-0.6B")]
    pub source: Option<String>,
    /// Options as in the configuration; the present ones are kept without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub options: Option<Map<String, Value>>,
}

impl From<LoadRequest> for ModelLoad {
    fn from(request: LoadRequest) -> Self {
        Self {
            source: request.source,
            options: request.options,
        }
    }
}

/// A model that was taken away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnloadedBody {
    /// Its name.
    pub unloaded: String,
}
