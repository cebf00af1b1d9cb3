//! Families of bodies, told by `model_type`.

use serde_json::Value;

use super::{BertConfig, DecoderConfig, Fields, ModernBertConfig};
use crate::{LoadError, Weights};

/// A family of bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Llama, Qwen2, Qwen3, Mistral.
    Decoder,
    /// BERT: learned positions.
    Bert,
    /// ModernBERT: rotary positions and windows.
    ModernBert,
}

/// A body's configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum BodyConfig {
    /// Of a decoder.
    Decoder(DecoderConfig),
    /// Of BERT.
    Bert(BertConfig),
    /// Of ModernBERT.
    ModernBert(ModernBertConfig),
}

impl BodyConfig {
    /// Reads the configuration of the body that `model_type` names.
    ///
    /// # Errors
    /// [`LoadError`]: which field is missing or wrong, or which body is not known.
    pub fn read(config: &Value) -> Result<Self, LoadError> {
        match Fields(config).text("model_type") {
            Some("bert") => BertConfig::read(config).map(Self::Bert),
            Some("modernbert") => ModernBertConfig::read(config).map(Self::ModernBert),
            Some(_) => DecoderConfig::read(config).map(Self::Decoder),
            None => Err(LoadError::new("`config.json` has no `model_type`")),
        }
    }

    /// Its family.
    #[must_use]
    pub fn family(&self) -> Family {
        match self {
            Self::Decoder(_) => Family::Decoder,
            Self::Bert(_) => Family::Bert,
            Self::ModernBert(_) => Family::ModernBert,
        }
    }

    /// Numbers of a hidden state.
    #[must_use]
    pub fn hidden(&self) -> usize {
        match self {
            Self::Decoder(config) => config.hidden,
            Self::Bert(config) => config.hidden,
            Self::ModernBert(config) => config.hidden,
        }
    }

    /// Layers, at least one.
    #[must_use]
    pub fn layers(&self) -> usize {
        match self {
            Self::Decoder(config) => config.layers(),
            Self::Bert(config) => config.layers,
            Self::ModernBert(config) => config.reaches.len(),
        }
    }

    /// Ids from 0 to before it are known.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        match self {
            Self::Decoder(config) => config.vocabulary,
            Self::Bert(config) => config.vocabulary,
            Self::ModernBert(config) => config.vocabulary,
        }
    }

    /// Longest text it was made for, in tokens.
    #[must_use]
    pub fn max_positions(&self) -> usize {
        match self {
            Self::Decoder(config) => config.max_positions,
            Self::Bert(config) => config.max_positions,
            Self::ModernBert(config) => config.max_positions,
        }
    }

    /// What names of the body's tensors begin with: heads put their body under a name.
    #[must_use]
    pub fn prefix(&self, weights: &Weights) -> &'static str {
        let (word, prefix) = match self {
            Self::Decoder(_) => ("embed_tokens.weight", "model."),
            Self::Bert(_) => ("embeddings.word_embeddings.weight", "bert."),
            Self::ModernBert(_) => ("embeddings.tok_embeddings.weight", "model."),
        };
        if weights.has(word) { "" } else { prefix }
    }
}
