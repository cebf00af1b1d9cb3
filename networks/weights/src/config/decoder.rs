//! Configuration of decoders: Llama, Qwen2, Qwen3 and Mistral. One structure covers all; flags
//! express the differences.

use serde_json::Value;

use super::fields::{Fields, check_divisible, layers};
use super::rope::Rope;
use crate::LoadError;

/// Configuration of a decoder backbone.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderConfig {
    /// Size of the vocabulary. Valid token ids are below it.
    pub vocabulary: usize,
    /// Dimension of a hidden state.
    pub hidden: usize,
    /// Dimension of the feed-forward layer.
    pub inner: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of key and value heads. Divides the number of query heads.
    pub kv_heads: usize,
    /// Dimension of a head, an even number.
    pub head_dim: usize,
    /// Epsilon added to the mean square in an RMS norm.
    pub eps: f64,
    /// Rotary position embedding of queries and keys.
    pub rope: Rope,
    /// Queries and keys are normalised.
    pub qk_norm: bool,
    /// Projections of queries, keys and values have biases.
    pub qkv_bias: bool,
    /// The output projection of attention has a bias.
    pub output_bias: bool,
    /// Projections of the feed-forward layer have biases.
    pub mlp_bias: bool,
    /// Sliding window of each layer: number of keys that a token attends to, including its own.
    /// `None` for full attention.
    pub windows: Vec<Option<usize>>,
    /// Maximum sequence length of the model, in tokens.
    pub max_positions: usize,
    /// The language-model head shares the weights of the embedding.
    pub tied: bool,
}

impl DecoderConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// [`LoadError`] names the field that is missing, invalid or not supported for this backbone.
    pub fn read(config: &Value) -> Result<Self, LoadError> {
        let fields = Fields(config);
        let family = fields.text("model_type").unwrap_or_default();
        fields.activation("hidden_act", &["silu", "swish"])?;
        let (hidden, heads) = (
            fields.size("hidden_size")?,
            fields.size("num_attention_heads")?,
        );
        let count = layers(fields)?;
        let kv_heads = fields.size_or("num_key_value_heads", heads)?;
        check_divisible(
            heads,
            kv_heads,
            "`num_attention_heads` and `num_key_value_heads`",
        )?;
        let head_dim = match fields.size_or_none("head_dim")? {
            Some(head_dim) => head_dim,
            // The default of Qwen3, whose heads are wider than `hidden_size / num_attention_heads`.
            None if family == "qwen3" => 128,
            None => {
                check_divisible(hidden, heads, "`hidden_size` and `num_attention_heads`")?;
                hidden / heads
            }
        };
        check_divisible(head_dim, 2, "`head_dim` and 2")?;
        let attention_bias = fields.flag_or("attention_bias", false);
        let (default_theta, qkv_bias, output_bias) = match family {
            "llama" => (10_000.0, attention_bias, attention_bias),
            "qwen2" => (10_000.0, true, false),
            "qwen3" => (10_000.0, attention_bias, attention_bias),
            "mistral" => (10_000.0, false, false),
            other => {
                let message = format!(
                    "decoder type `{other}` is not supported; llama, qwen2, qwen3 and mistral are"
                );
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

    /// Number of layers, at least one.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.windows.len()
    }
}

fn windows(
    fields: Fields<'_>,
    family: &str,
    layers: usize,
) -> Result<Vec<Option<usize>>, LoadError> {
    let window = fields.size_or_none("sliding_window")?;
    match family {
        "mistral" => Ok(vec![window; layers]),
        "qwen2" | "qwen3" => {
            let window = window.filter(|_| fields.flag_or("use_sliding_window", false));
            let Some(kinds) = fields.texts("layer_types") else {
                let full = fields.count_or("max_window_layers", 28);
                return Ok((0..layers)
                    .map(|layer| window.filter(|_| layer >= full))
                    .collect());
            };
            if kinds.len() != layers {
                let message = format!(
                    "`layer_types` has {} entries, but there are {layers} layers",
                    kinds.len()
                );
                return Err(LoadError::new(message));
            }
            kinds
                .into_iter()
                .map(|kind| match kind {
                    "full_attention" => Ok(None),
                    "sliding_attention" => Ok(window),
                    other => Err(LoadError::new(format!(
                        "layer type `{other}` is not supported"
                    ))),
                })
                .collect()
        }
        _ => Ok(vec![None; layers]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads the configuration of a small decoder with these fields changed. `null` removes a
    /// field.
    fn read(changes: Value) -> Result<DecoderConfig, LoadError> {
        let mut config = json!({
            "model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
            "num_hidden_layers": 4,
            "num_attention_heads": 4, "vocab_size": 100,
        });
        let Value::Object(changes) = changes else {
            panic!("changes are fields")
        };
        config.as_object_mut().unwrap().extend(changes);
        DecoderConfig::read(&config)
    }

    fn read_error(changes: Value) -> String {
        read(changes).unwrap_err().to_string()
    }

    #[test]
    fn missing_fields_have_the_defaults_of_the_family() {
        let llama = read(json!({})).unwrap();
        assert_eq!(
            (
                llama.kv_heads,
                llama.head_dim,
                llama.eps,
                llama.max_positions
            ),
            (4, 16, 1e-6, 2_048)
        );
        assert!(
            !llama.qkv_bias
                && !llama.output_bias
                && !llama.mlp_bias
                && !llama.qk_norm
                && !llama.tied
        );
        let qwen2 = read(json!({"model_type": "qwen2"})).unwrap();
        assert!(qwen2.qkv_bias && !qwen2.output_bias);
        let qwen3 = read(json!({"model_type": "qwen3"})).unwrap();
        assert!(qwen3.qk_norm && !qwen3.qkv_bias && qwen3.head_dim == 128);
        let biased = read(json!({"attention_bias": true, "mlp_bias": true})).unwrap();
        assert!(biased.qkv_bias && biased.output_bias && biased.mlp_bias);
    }

    #[test]
    fn reads_the_sliding_window_of_each_layer() {
        let window = json!({"model_type": "mistral", "sliding_window": 8});
        assert_eq!(read(window).unwrap().windows, [Some(8); 4]);
        let unused = json!({"model_type": "qwen2", "sliding_window": 8});
        assert_eq!(read(unused).unwrap().windows, [None; 4]);
        let upper = json!({
            "model_type": "qwen2", "sliding_window": 8, "use_sliding_window": true,
            "max_window_layers": 3,
        });
        assert_eq!(read(upper).unwrap().windows, [None, None, None, Some(8)]);
        let few = json!({"model_type": "qwen3", "layer_types": ["full_attention"]});
        assert!(read_error(few).contains("`layer_types` has 1 entries, but there are 4 layers"));
    }

    #[test]
    fn rejects_unsupported_values_that_affect_outputs() {
        assert!(read_error(json!({"model_type": "gemma"})).contains("`gemma` is not supported"));
        assert!(read_error(json!({"hidden_act": "relu"})).contains("activation `relu`"));
        assert!(read_error(json!({"vocab_size": null})).contains("has no `vocab_size`"));
        assert!(
            read_error(json!({"hidden_size": -1}))
                .contains("`hidden_size` of `config.json` is not a size from 1 to 2^31: -1")
        );
        assert!(read_error(json!({"num_key_value_heads": 3})).contains("4 is not divisible by 3"));
        assert!(read_error(json!({"num_hidden_layers": 10_001})).contains("at most 10000"));
        assert!(
            read_error(json!({"rope_scaling": {"rope_type": "yarn"}}))
                .contains("rotary scaling `yarn`")
        );
    }
}
