//! Decoders: Llama, Qwen2, Qwen3, Mistral. One body, told apart by flags.

use serde_json::Value;

use super::rope::Rope;
use super::{Fields, divides, layers};
use crate::LoadError;

/// A decoder's body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DecoderConfig {
    pub(crate) vocabulary: usize,
    pub(crate) hidden: usize,
    pub(crate) inner: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_dim: usize,
    pub(crate) eps: f64,
    pub(crate) rope: Rope,
    /// Norms of queries and keys.
    pub(crate) qk_norm: bool,
    /// Bias of queries, keys and values.
    pub(crate) qkv_bias: bool,
    /// Bias behind attention.
    pub(crate) output_bias: bool,
    /// Biases of the feed-forward part.
    pub(crate) mlp_bias: bool,
    /// Keys each layer sees, itself included; `None` for all before it.
    pub(crate) windows: Vec<Option<usize>>,
    /// Longest text it was made for.
    pub(crate) max_positions: usize,
    /// The head over the vocabulary is the embedding.
    pub(crate) tied: bool,
}

impl DecoderConfig {
    pub(crate) fn read(config: &Value) -> Result<Self, LoadError> {
        let fields = Fields(config);
        let family = fields.text("model_type").unwrap_or_default();
        fields.activation("hidden_act", &["silu", "swish"])?;
        let (hidden, heads) = (fields.size("hidden_size")?, fields.size("num_attention_heads")?);
        let count = layers(fields)?;
        let kv_heads = fields.size_or("num_key_value_heads", heads)?;
        divides(heads, kv_heads, "heads of queries over heads of keys")?;
        let head_dim = match fields.size_or_none("head_dim")? {
            Some(head_dim) => head_dim,
            // The default of Qwen3, whose heads are wider than their share.
            None if family == "qwen3" => 128,
            None => {
                divides(hidden, heads, "hidden size over heads")?;
                hidden / heads
            }
        };
        divides(head_dim, 2, "size of a head over pairs")?;
        let attention_bias = fields.flag_or("attention_bias", false);
        let (default_theta, qkv_bias, output_bias) = match family {
            "llama" => (10_000.0, attention_bias, attention_bias),
            "qwen2" => (10_000.0, true, false),
            "qwen3" => (10_000.0, attention_bias, attention_bias),
            "mistral" => (10_000.0, false, false),
            other => {
                let message =
                    format!("decoders of the type `{other}` are not known; llama, qwen2, qwen3 and mistral are");
                return Err(LoadError::new(message));
            }
        };
        Ok(Self {
            vocabulary: fields.size("vocab_size")?,
            hidden,
            inner: fields.size("intermediate_size")?,
            heads,
            kv_heads,
            head_dim,
            eps: fields.number_or("rms_norm_eps", 1e-6)?,
            rope: Rope::read(fields, default_theta)?,
            qk_norm: family == "qwen3",
            qkv_bias,
            output_bias,
            mlp_bias: family == "llama" && fields.flag_or("mlp_bias", false),
            windows: windows(fields, family, count)?,
            max_positions: fields.size_or("max_position_embeddings", 2_048)?,
            tied: fields.flag_or("tie_word_embeddings", false),
        })
    }

    pub(crate) fn layers(&self) -> usize {
        self.windows.len()
    }
}

fn windows(fields: Fields<'_>, family: &str, layers: usize) -> Result<Vec<Option<usize>>, LoadError> {
    let window = fields.size_or_none("sliding_window")?;
    match family {
        "mistral" => Ok(vec![window; layers]),
        "qwen2" | "qwen3" => {
            let window = window.filter(|_| fields.flag_or("use_sliding_window", false));
            let Some(kinds) = fields.texts("layer_types") else {
                let full = fields.count_or("max_window_layers", 28);
                return Ok((0..layers).map(|layer| window.filter(|_| layer >= full)).collect());
            };
            if kinds.len() != layers {
                let message = format!("`layer_types` names {} layers, and there are {layers}", kinds.len());
                return Err(LoadError::new(message));
            }
            kinds
                .into_iter()
                .map(|kind| match kind {
                    "full_attention" => Ok(None),
                    "sliding_attention" => Ok(window),
                    other => Err(LoadError::new(format!("layers of the type `{other}` are not known"))),
                })
                .collect()
        }
        _ => Ok(vec![None; layers]),
    }
}
