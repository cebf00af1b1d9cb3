//! JSON types for the list of reward models and for loading them.

use assay_core::reward_model::{ModelLoad, ModelState, ModelStatus, Scale};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub use assay_core::reward_model::ModelInfo;

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
    pub model: Option<ModelInfo>,
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
            model: status.info.as_deref().cloned(),
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
