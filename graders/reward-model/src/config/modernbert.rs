//! ModernBERT: an encoder with rotary positions and layers that see a window.

use serde_json::Value;

use super::rope::Rope;
use super::{Fields, divides, layers};
use crate::LoadError;

/// ModernBERT's body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModernBertConfig {
    pub(crate) vocabulary: usize,
    pub(crate) hidden: usize,
    pub(crate) inner: usize,
    pub(crate) heads: usize,
    pub(crate) eps: f64,
    pub(crate) norm_bias: bool,
    pub(crate) attention_bias: bool,
    pub(crate) mlp_bias: bool,
    /// Positions of layers that see everything.
    pub(crate) global: Rope,
    /// Positions of layers that see a window.
    pub(crate) local: Rope,
    /// How far each layer sees to either side; `None` for everything.
    pub(crate) reaches: Vec<Option<usize>>,
    pub(crate) max_positions: usize,
}

impl ModernBertConfig {
    pub(crate) fn read(config: &Value) -> Result<Self, LoadError> {
        let fields = Fields(config);
        fields.activation("hidden_activation", &["gelu"])?;
        let (hidden, heads) = (fields.size("hidden_size")?, fields.size("num_attention_heads")?);
        divides(hidden, heads, "hidden size over heads")?;
        divides(hidden / heads, 2, "size of a head over pairs")?;
        let count = layers(fields)?;
        let reach = fields.size_or("local_attention", 128)? / 2;
        let reaches = match fields.texts("layer_types") {
            Some(kinds) if kinds.len() == count => {
                kinds.into_iter().map(|kind| (kind == "sliding_attention").then_some(reach)).collect()
            }
            Some(kinds) => {
                let message = format!("`layer_types` names {} layers, and there are {count}", kinds.len());
                return Err(LoadError::new(message));
            }
            None => {
                let every = fields.size_or("global_attn_every_n_layers", 3)?;
                (0..count).map(|layer| (layer % every != 0).then_some(reach)).collect()
            }
        };
        let rope = |kind: &str, old: &str, default: f64| {
            let parameters =
                fields.object("rope_parameters").and_then(|kinds| kinds.get(kind)).filter(|of| of.is_object());
            match parameters {
                Some(parameters) => Rope::of_layers(parameters, default),
                None => Rope::of_layers(&serde_json::json!({"rope_theta": fields.number_or(old, default)?}), default),
            }
        };
        Ok(Self {
            vocabulary: fields.size("vocab_size")?,
            hidden,
            inner: fields.size("intermediate_size")?,
            heads,
            eps: fields.number_or("norm_eps", 1e-5)?,
            norm_bias: fields.flag_or("norm_bias", false),
            attention_bias: fields.flag_or("attention_bias", false),
            mlp_bias: fields.flag_or("mlp_bias", false),
            global: rope("full_attention", "global_rope_theta", 160_000.0)?,
            local: rope("sliding_attention", "local_rope_theta", 10_000.0)?,
            reaches,
            max_positions: fields.size_or("max_position_embeddings", 8_192)?,
        })
    }
}
