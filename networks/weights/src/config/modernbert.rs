//! Configuration of ModernBERT, an encoder with rotary positions and sliding-window layers.

use serde_json::Value;

use super::fields::{Fields, check_divisible, layers};
use super::rope::Rope;
use crate::LoadError;

/// Configuration of a ModernBERT backbone.
#[derive(Debug, Clone, PartialEq)]
pub struct ModernBertConfig {
    /// Size of the vocabulary. Valid token ids are below it.
    pub vocabulary: usize,
    /// Dimension of a hidden state.
    pub hidden: usize,
    /// Dimension of the feed-forward layer.
    pub inner: usize,
    /// Number of attention heads. Divides the hidden dimension.
    pub heads: usize,
    /// Epsilon added to the variance in a layer norm.
    pub eps: f64,
    /// Layer norms have biases.
    pub norm_bias: bool,
    /// Attention projections, including the output projection, have biases.
    pub attention_bias: bool,
    /// Projections of the feed-forward layer have biases.
    pub mlp_bias: bool,
    /// Rotary position embedding of layers with full attention.
    pub global: Rope,
    /// Rotary position embedding of layers with a sliding window.
    pub local: Rope,
    /// Distance, in tokens, that each layer attends to on either side. `None` for full attention.
    pub half_windows: Vec<Option<usize>>,
    /// Maximum sequence length of the model, in tokens.
    pub max_positions: usize,
}

impl ModernBertConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// [`LoadError`] names the field that is missing, invalid or not supported for this backbone.
    pub fn read(config: &Value) -> Result<Self, LoadError> {
        let fields = Fields(config);
        fields.activation("hidden_activation", &["gelu"])?;
        let (hidden, heads) = (
            fields.size("hidden_size")?,
            fields.size("num_attention_heads")?,
        );
        check_divisible(hidden, heads, "`hidden_size` and `num_attention_heads`")?;
        check_divisible(hidden / heads, 2, "head dimension and 2")?;
        let count = layers(fields)?;
        let half_window = fields.size_or("local_attention", 128)? / 2;
        let half_windows = match fields.texts("layer_types") {
            Some(types) if types.len() == count => types
                .into_iter()
                .map(|layer_type| (layer_type == "sliding_attention").then_some(half_window))
                .collect(),
            Some(types) => {
                let message = format!(
                    "`layer_types` has {} entries, but there are {count} layers",
                    types.len()
                );
                return Err(LoadError::new(message));
            }
            None => {
                let interval = fields.size_or("global_attn_every_n_layers", 3)?;
                (0..count)
                    .map(|layer| (layer % interval != 0).then_some(half_window))
                    .collect()
            }
        };
        let rope = |layer_type: &str, legacy_field: &str, default: f64| {
            let parameters = fields
                .object("rope_parameters")
                .and_then(|types| types.get(layer_type))
                .filter(|parameters| parameters.is_object());
            match parameters {
                Some(parameters) => Rope::of_layers(parameters, default),
                None => Rope::of_layers(
                    &serde_json::json!({"rope_theta": fields.number_or(legacy_field, default)?}),
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
            half_windows,
            max_positions: fields.size_or("max_position_embeddings", 8_192)?,
        })
    }
}
