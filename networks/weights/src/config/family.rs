//! Families of backbones, selected by `model_type`.

use serde_json::Value;

use super::fields::Fields;
use super::{BertConfig, DecoderConfig, ModernBertConfig};
use crate::{LoadError, Weights};

/// A family of backbones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Llama, Qwen2, Qwen3, Mistral.
    Decoder,
    /// BERT: an encoder with learned positions.
    Bert,
    /// ModernBERT: an encoder with rotary positions and sliding windows.
    ModernBert,
}

/// Configuration of a backbone.
#[derive(Debug, Clone, PartialEq)]
pub enum BackboneConfig {
    /// Configuration of a decoder.
    Decoder(DecoderConfig),
    /// Configuration of BERT.
    Bert(BertConfig),
    /// Configuration of ModernBERT.
    ModernBert(ModernBertConfig),
}

impl BackboneConfig {
    /// Reads the configuration of the backbone that `model_type` names.
    ///
    /// # Errors
    /// [`LoadError`] names the field that is missing or invalid, or the backbone that is not
    /// supported.
    pub fn read(config: &Value) -> Result<Self, LoadError> {
        match Fields(config).text("model_type") {
            Some("bert") => BertConfig::read(config).map(Self::Bert),
            Some("modernbert") => ModernBertConfig::read(config).map(Self::ModernBert),
            Some(_) => DecoderConfig::read(config).map(Self::Decoder),
            None => Err(LoadError::new("`config.json` has no `model_type`")),
        }
    }

    /// Family of the backbone.
    #[must_use]
    pub fn family(&self) -> Family {
        match self {
            Self::Decoder(_) => Family::Decoder,
            Self::Bert(_) => Family::Bert,
            Self::ModernBert(_) => Family::ModernBert,
        }
    }

    /// Dimension of a hidden state.
    #[must_use]
    pub fn hidden(&self) -> usize {
        match self {
            Self::Decoder(config) => config.hidden,
            Self::Bert(config) => config.hidden,
            Self::ModernBert(config) => config.hidden,
        }
    }

    /// Number of layers, at least one.
    #[must_use]
    pub fn layers(&self) -> usize {
        match self {
            Self::Decoder(config) => config.layers(),
            Self::Bert(config) => config.layers,
            Self::ModernBert(config) => config.half_windows.len(),
        }
    }

    /// Size of the vocabulary. Valid token ids are below it.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        match self {
            Self::Decoder(config) => config.vocabulary,
            Self::Bert(config) => config.vocabulary,
            Self::ModernBert(config) => config.vocabulary,
        }
    }

    /// Maximum sequence length of the model, in tokens.
    #[must_use]
    pub fn max_positions(&self) -> usize {
        match self {
            Self::Decoder(config) => config.max_positions,
            Self::Bert(config) => config.max_positions,
            Self::ModernBert(config) => config.max_positions,
        }
    }

    /// Prefix of the names of the backbone's tensors. Models with a head store their backbone under
    /// a prefix.
    #[must_use]
    pub fn prefix(&self, weights: &Weights) -> &'static str {
        let (embedding, prefixes): (_, &[&str]) = match self {
            // After the usual prefix, those of DeepSpeed-Chat.
            Self::Decoder(_) => (
                "embed_tokens.weight",
                &["model.", "rwtransformer.", "rwtranrsformer."],
            ),
            Self::Bert(_) => ("embeddings.word_embeddings.weight", &["bert."]),
            Self::ModernBert(_) => ("embeddings.tok_embeddings.weight", &["model."]),
        };
        if weights.has(embedding) {
            return "";
        }
        let is_stored = |prefix: &&&str| weights.has(&format!("{prefix}{embedding}"));
        prefixes.iter().find(is_stored).unwrap_or(&prefixes[0])
    }
}
