//! Options of a model, declared in the node's configuration or in `assay.json` in the model's
//! directory.

use std::collections::BTreeMap;

use assay_weights::LoadError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Name of the file in a model's directory that declares options. Options of the configuration take
/// precedence, key by key.
pub const FILE: &str = "assay.json";

/// Options of a model. Defaults come from the model's files, never from observed scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOptions {
    /// How rollouts are rendered: `chat` (the tokenizer's chat template), `text` (prompt and
    /// completion concatenated), `verify_rm` (question, reference answer and completion in tags),
    /// or a Jinja template over `messages`, `prompt`, `completion`, `reference`, `bos_token` and
    /// `eos_token`. Default: `chat` if the tokenizer has a template, otherwise `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Content of the single user message sent to a verifier, a Jinja template over `prompt`,
    /// `completion` and `reference`. The chat template then opens the assistant's turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Content of the system message, unless the prompt contains one. By default none is added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Row that the head reads: `last`, `hf_nonpad`, `first_pad`, `cls`, `mean`, `token:ID` or
    /// `token:TEXT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooling: Option<String>,
    /// Non-standard names of the head's tensors: maps the standard name to the name in the file,
    /// for example `{"score.weight": "v_head.summary.weight"}`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tensors: BTreeMap<String, String>,
    /// Label tokens of a verifier that answers with one token, for example `["A", "B", "C"]`, or
    /// names of a classifier's classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Labels that mean a pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub positive: Vec<String>,
    /// Token after each step of a process reward model. Default: `<extra_0>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_token: Option<String>,
    /// Separator of the steps of a completion. Default: a blank line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_separator: Option<String>,
    /// How the raw number becomes a score: `none`, `sigmoid`, `affine` or `relative`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalise: Option<String>,
    /// Mean of raw rewards, for `affine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Standard deviation of raw rewards, for `affine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    /// Maximum sequence length in tokens. At most the length that the model's configuration allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    /// Data type: `f32`, `bf16` or `f16`. Default: `f32` on a CPU, `bf16` on a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
}

impl ModelOptions {
    /// Parses options from a JSON object.
    ///
    /// # Errors
    /// An option is unknown or has the wrong type.
    pub fn read(options: Map<String, Value>) -> Result<Self, LoadError> {
        serde_json::from_value(Value::Object(options))
            .map_err(|error| LoadError::new(format!("invalid options of the model: {error}")))
    }

    /// Merges these options over those declared in a file, key by key.
    ///
    /// # Errors
    /// The file does not contain an object of valid options.
    pub(crate) fn over(&self, declared: Value) -> Result<Self, LoadError> {
        let at_fault =
            |error: serde_json::Error| LoadError::new(format!("invalid `{FILE}`: {error}"));
        let Value::Object(mut merged) = declared else {
            return Err(LoadError::new(format!(
                "`{FILE}` must contain a JSON object of options"
            )));
        };
        // Options are plain data, so serialising them always succeeds.
        if let Ok(Value::Object(own)) = serde_json::to_value(self) {
            merged.extend(own);
        }
        serde_json::from_value(Value::Object(merged)).map_err(at_fault)
    }
}
