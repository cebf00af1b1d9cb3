//! BERT: an encoder with learned positions.

use serde_json::Value;

use super::{Fields, divides, layers};
use crate::LoadError;

/// BERT's body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BertConfig {
    pub(crate) vocabulary: usize,
    pub(crate) hidden: usize,
    pub(crate) inner: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) eps: f64,
    pub(crate) types: usize,
    pub(crate) max_positions: usize,
}

impl BertConfig {
    pub(crate) fn read(config: &Value) -> Result<Self, LoadError> {
        let fields = Fields(config);
        fields.activation("hidden_act", &["gelu"])?;
        if let Some(kind) = fields.text("position_embedding_type").filter(|kind| *kind != "absolute") {
            return Err(LoadError::new(format!("positions of the type `{kind}` are not known; `absolute` ones are")));
        }
        let (hidden, heads) = (fields.size("hidden_size")?, fields.size("num_attention_heads")?);
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
