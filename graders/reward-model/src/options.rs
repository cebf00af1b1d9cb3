//! What an operator declares of a model, in the node's configuration or in `assay.json` beside its
//! weights.

use std::collections::BTreeMap;

use assay_weights::LoadError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Name of the file beside the weights that declares options. The configuration's go before it, key
/// by key.
pub const FILE: &str = "assay.json";

/// What is declared of a model. What is not declared is read from its own files, never guessed from
/// scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOptions {
    /// How rollouts become text: `chat` (the tokenizer's own template), `text` (prompt and
    /// completion joined), `verify_rm` (question, reference answer and completion in tags), or a
    /// template in Jinja over `messages`, `prompt`, `completion`, `reference`, `bos_token` and
    /// `eos_token`. Without it, `chat` where the tokenizer has a template, `text` otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Content of the one user message that a verifier is asked with, in Jinja over `prompt`,
    /// `completion` and `reference`; the tokenizer's own template then opens the assistant's turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Content of the system message; prompts that bring one keep theirs. Without it none is added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The row the head reads: `last`, `hf_nonpad`, `first_pad`, `cls`, `mean`, `token:ID` or
    /// `token:TEXT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooling: Option<String>,
    /// Names of the head's tensors where they are not the usual ones: usual name to the one in the
    /// file, as in `{"score.weight": "v_head.summary.weight"}`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tensors: BTreeMap<String, String>,
    /// Label tokens of a verifier that answers with one, as in `["A", "B", "C"]`; or names of a
    /// classifier's classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Those among the labels that mean a pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub positive: Vec<String>,
    /// Token after each step of a process reward model, as in `<extra_0>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_token: Option<String>,
    /// What separates steps in a completion; a blank line without it.
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
    /// Most tokens it reads; at most what its configuration says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    /// Type of the numbers: `f32`, `bf16`, `f16`. Without it `f32` on a CPU, `bf16` on a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
}

impl ModelOptions {
    /// Reads options as an object of JSON.
    ///
    /// # Errors
    /// The option that is none, or has the wrong type.
    pub fn read(options: Map<String, Value>) -> Result<Self, LoadError> {
        serde_json::from_value(Value::Object(options)).map_err(|error| {
            LoadError::new(format!("the options of the model cannot be read: {error}"))
        })
    }

    /// These options before those declared in a file, key by key.
    ///
    /// # Errors
    /// When the file declares something else than options.
    pub(crate) fn over(&self, declared: Value) -> Result<Self, LoadError> {
        let at_fault =
            |error: serde_json::Error| LoadError::new(format!("`{FILE}` cannot be read: {error}"));
        let Value::Object(mut merged) = declared else {
            return Err(LoadError::new(format!(
                "`{FILE}` holds an object of options"
            )));
        };
        // Options are plain data: they always have a JSON form.
        if let Ok(Value::Object(own)) = serde_json::to_value(self) {
            merged.extend(own);
        }
        serde_json::from_value(Value::Object(merged)).map_err(at_fault)
    }
}
