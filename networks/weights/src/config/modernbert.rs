//! ModernBERT: an encoder with rotary positions and layers that see a window.

use serde_json::Value;

use super::rope::Rope;
use super::{Fields, divides, layers};
use crate::LoadError;

/// ModernBERT's body.
#[derive(Debug, Clone, PartialEq)]
pub struct ModernBertConfig {
    /// Ids from 0 to before it are known.
    pub vocabulary: usize,
    /// Numbers of a hidden state.
    pub hidden: usize,
    /// Numbers inside the feed-forward part.
    pub inner: usize,
    /// Heads of attention; they divide the hidden state.
    pub heads: usize,
    /// What is added to the variance in a norm.
    pub eps: f64,
    /// Biases of norms.
    pub norm_bias: bool,
    /// Biases of queries, keys, values, and behind attention.
    pub attention_bias: bool,
    /// Biases of the feed-forward part.
    pub mlp_bias: bool,
    /// Positions of layers that see everything.
    pub global: Rope,
    /// Positions of layers that see a window.
    pub local: Rope,
    /// How far each layer sees to either side; `None` for everything.
    pub reaches: Vec<Option<usize>>,
    /// Longest text it was made for, in tokens.
    pub max_positions: usize,
}

impl ModernBertConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// [`LoadError`]: which field is missing, wrong, or of a body that is not this one.
    pub fn read(config: &Value) -> Result<Self, LoadError> {
        let fields = Fields(config);
        fields.activation("hidden_activation", &["gelu"])?;
        let (hidden, heads) = (
            fields.size("hidden_size")?,
            fields.size("num_attention_heads")?,
        );
        divides(hidden, heads, "hidden size over heads")?;
        divides(hidden / heads, 2, "size of a head over pairs")?;
        let count = layers(fields)?;
        let reach = fields.size_or("local_attention", 128)? / 2;
        let reaches = match fields.texts("layer_types") {
            Some(kinds) if kinds.len() == count => kinds
                .into_iter()
                .map(|kind| (kind == "sliding_attention").then_some(reach))
                .collect(),
            Some(kinds) => {
                let message = format!(
                    "`layer_types` names {} layers, and there are {count}",
                    kinds.len()
                );
                return Err(LoadError::new(message));
            }
            None => {
                let every = fields.size_or("global_attn_every_n_layers", 3)?;
                (0..count)
                    .map(|layer| (layer % every != 0).then_some(reach))
                    .collect()
            }
        };
        let rope = |kind: &str, old: &str, default: f64| {
            let parameters = fields
                .object("rope_parameters")
                .and_then(|kinds| kinds.get(kind))
                .filter(|of| of.is_object());
            match parameters {
                Some(parameters) => Rope::of_layers(parameters, default),
                None => Rope::of_layers(
                    &serde_json::json!({"rope_theta": fields.number_or(old, default)?}),
                    default,
                ),
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
