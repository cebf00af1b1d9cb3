//! Decoders: Llama, Qwen2, Qwen3, Mistral. One body, told apart by flags.

use serde_json::Value;

use super::rope::Rope;
use super::{Fields, divides, layers};
use crate::LoadError;

/// A decoder's body.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderConfig {
    /// Ids from 0 to before it are known.
    pub vocabulary: usize,
    /// Numbers of a hidden state.
    pub hidden: usize,
    /// Numbers inside the feed-forward part.
    pub inner: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values; they divide those of queries.
    pub kv_heads: usize,
    /// Numbers of a head, an even count.
    pub head_dim: usize,
    /// What is added to the mean square in a norm.
    pub eps: f64,
    /// Rotary positions of queries and keys.
    pub rope: Rope,
    /// Norms of queries and keys.
    pub qk_norm: bool,
    /// Bias of queries, keys and values.
    pub qkv_bias: bool,
    /// Bias behind attention.
    pub output_bias: bool,
    /// Biases of the feed-forward part.
    pub mlp_bias: bool,
    /// Keys each layer sees, itself included; `None` for all before it.
    pub windows: Vec<Option<usize>>,
    /// Longest text it was made for, in tokens.
    pub max_positions: usize,
    /// The head over the vocabulary is the embedding.
    pub tied: bool,
}

impl DecoderConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// [`LoadError`]: which field is missing, wrong, or of a body that is not this one.
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
                let message = format!(
                    "decoders of the type `{other}` are not known; llama, qwen2, qwen3 and \
                     mistral are"
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

    /// Layers, at least one.
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
                    "`layer_types` names {} layers, and there are {layers}",
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
                        "layers of the type `{other}` are not known"
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

    /// The configuration of a small decoder with these fields changed; `null` takes one away.
    fn read(changes: Value) -> Result<DecoderConfig, LoadError> {
        let mut config = json!({
            "model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
            "num_attention_heads": 4, "vocab_size": 100,
        });
        let Value::Object(changes) = changes else {
            panic!("changes are fields")
        };
        config.as_object_mut().unwrap().extend(changes);
        DecoderConfig::read(&config)
    }

    fn refusal(changes: Value) -> String {
        read(changes).unwrap_err().to_string()
    }

    #[test]
    fn what_is_not_said_is_as_the_family_has_it() {
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
    fn windows_are_of_the_layers_that_have_them() {
        let window = json!({"model_type": "mistral", "sliding_window": 8});
        assert_eq!(read(window).unwrap().windows, [Some(8); 4]);
        let unused = json!({"model_type": "qwen2", "sliding_window": 8});
        assert_eq!(read(unused).unwrap().windows, [None; 4]);
        let upper = json!({"model_type": "qwen2", "sliding_window": 8, "use_sliding_window": true, "max_window_layers": 3});
        assert_eq!(read(upper).unwrap().windows, [None, None, None, Some(8)]);
        let few = json!({"model_type": "qwen3", "layer_types": ["full_attention"]});
        assert!(refusal(few).contains("`layer_types` names 1 layers, and there are 4"));
    }

    #[test]
    fn what_would_change_a_number_and_is_not_known_is_refused() {
        assert!(refusal(json!({"model_type": "gemma"})).contains("`gemma` are not known"));
        assert!(refusal(json!({"hidden_act": "relu"})).contains("the activation `relu`"));
        assert!(refusal(json!({"vocab_size": null})).contains("has no `vocab_size`"));
        assert!(
            refusal(json!({"hidden_size": -1}))
                .contains("`hidden_size` of `config.json` is no size: -1")
        );
        assert!(refusal(json!({"num_key_value_heads": 3})).contains("4 does not divide by 3"));
        assert!(refusal(json!({"num_hidden_layers": 10_001})).contains("at most 10000"));
        assert!(
            refusal(json!({"rope_scaling": {"rope_type": "yarn"}}))
                .contains("rotary scaling `yarn`")
        );
    }
}
