//! Configuration of BERT, an encoder with learned positions.

use serde_json::Value;

use super::fields::{Fields, check_divisible, layers};
use crate::LoadError;

/// Configuration of a BERT backbone.
#[derive(Debug, Clone, PartialEq)]
pub struct BertConfig {
    /// Size of the vocabulary. Valid token ids are below it.
    pub vocabulary: usize,
    /// Dimension of a hidden state.
    pub hidden: usize,
    /// Dimension of the feed-forward layer.
    pub inner: usize,
    /// Number of layers, at least one.
    pub layers: usize,
    /// Number of attention heads. Divides the hidden dimension.
    pub heads: usize,
    /// Epsilon added to the variance in a layer norm.
    pub eps: f64,
    /// Number of token types.
    pub types: usize,
    /// Maximum sequence length of the model, in tokens.
    pub max_positions: usize,
}

impl BertConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// [`LoadError`] names the field that is missing, invalid or not supported for this backbone.
    pub fn read(config: &Value) -> Result<Self, LoadError> {
        let fields = Fields(config);
        fields.activation("hidden_act", &["gelu"])?;
        if let Some(kind) = fields
            .text("position_embedding_type")
            .filter(|kind| *kind != "absolute")
        {
            return Err(LoadError::new(format!(
                "`position_embedding_type` `{kind}` is not supported; only `absolute` is"
            )));
        }
        let (hidden, heads) = (
            fields.size("hidden_size")?,
            fields.size("num_attention_heads")?,
        );
        check_divisible(hidden, heads, "`hidden_size` and `num_attention_heads`")?;
        Ok(Self {
            vocabulary: fields.size("vocab_size")?,
            hidden,
            inner: fields.size("intermediate_size")?,
            layers: layers(fields)?,
            heads,
            eps: fields.number_or("layer_norm_eps", 1e-12)?,
            types: fields.size_or("type_vocab_size", 2)?,
            max_positions: fields.size_or("max_position_embeddings", 512)?,
        })
    }
}
