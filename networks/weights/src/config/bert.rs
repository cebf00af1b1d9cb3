//! BERT: an encoder with learned positions.

use serde_json::Value;

use super::{Fields, divides, layers};
use crate::LoadError;

/// BERT's body.
#[derive(Debug, Clone, PartialEq)]
pub struct BertConfig {
    /// Ids from 0 to before it are known.
    pub vocabulary: usize,
    /// Numbers of a hidden state.
    pub hidden: usize,
    /// Numbers inside the feed-forward part.
    pub inner: usize,
    /// Layers, at least one.
    pub layers: usize,
    /// Heads of attention; they divide the hidden state.
    pub heads: usize,
    /// What is added to the variance in a norm.
    pub eps: f64,
    /// Kinds of texts that are told apart.
    pub types: usize,
    /// Longest text it was made for, in tokens.
    pub max_positions: usize,
}

impl BertConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// [`LoadError`]: which field is missing, wrong, or of a body that is not this one.
    pub fn read(config: &Value) -> Result<Self, LoadError> {
        let fields = Fields(config);
        fields.activation("hidden_act", &["gelu"])?;
        if let Some(kind) = fields
            .text("position_embedding_type")
            .filter(|kind| *kind != "absolute")
        {
            return Err(LoadError::new(format!(
                "positions of the type `{kind}` are not known; `absolute` ones are"
            )));
        }
        let (hidden, heads) = (
            fields.size("hidden_size")?,
            fields.size("num_attention_heads")?,
        );
        divides(hidden, heads, "hidden size over heads")?;
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
