//! Families of bodies, told by `model_type`.

use serde_json::Value;

use crate::LoadError;
use crate::body::Body;
use crate::body::bert::Bert;
use crate::body::decoder::Decoder;
use crate::body::modernbert::ModernBert;
use crate::config::Fields;
use crate::config::bert::BertConfig;
use crate::config::decoder::DecoderConfig;
use crate::config::modernbert::ModernBertConfig;
use crate::weights::Weights;

/// A family of bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Llama, Qwen2, Qwen3, Mistral.
    Decoder,
    Bert,
    ModernBert,
}

/// A body's configuration.
pub(crate) enum BodyConfig {
    Decoder(DecoderConfig),
    Bert(BertConfig),
    ModernBert(ModernBertConfig),
}

impl BodyConfig {
    pub(crate) fn read(config: &Value) -> Result<Self, LoadError> {
        match Fields(config).text("model_type") {
            Some("bert") => BertConfig::read(config).map(Self::Bert),
            Some("modernbert") => ModernBertConfig::read(config).map(Self::ModernBert),
            Some(_) => DecoderConfig::read(config).map(Self::Decoder),
            None => Err(LoadError::new("`config.json` has no `model_type`")),
        }
    }

    pub(crate) fn family(&self) -> Family {
        match self {
            Self::Decoder(_) => Family::Decoder,
            Self::Bert(_) => Family::Bert,
            Self::ModernBert(_) => Family::ModernBert,
        }
    }

    pub(crate) fn hidden(&self) -> usize {
        match self {
            Self::Decoder(config) => config.hidden,
            Self::Bert(config) => config.hidden,
            Self::ModernBert(config) => config.hidden,
        }
    }

    pub(crate) fn layers(&self) -> usize {
        match self {
            Self::Decoder(config) => config.layers(),
            Self::Bert(config) => config.layers,
            Self::ModernBert(config) => config.reaches.len(),
        }
    }

    /// Ids from 0 to before it are known.
    pub(crate) fn vocabulary(&self) -> usize {
        match self {
            Self::Decoder(config) => config.vocabulary,
            Self::Bert(config) => config.vocabulary,
            Self::ModernBert(config) => config.vocabulary,
        }
    }

    /// Longest text it was made for.
    pub(crate) fn max_positions(&self) -> usize {
        match self {
            Self::Decoder(config) => config.max_positions,
            Self::Bert(config) => config.max_positions,
            Self::ModernBert(config) => config.max_positions,
        }
    }

    /// What names of the body's tensors begin with: heads put their body under a name.
    pub(crate) fn prefix(&self, weights: &Weights) -> &'static str {
        let (word, prefix) = match self {
            Self::Decoder(_) => ("embed_tokens.weight", "model."),
            Self::Bert(_) => ("embeddings.word_embeddings.weight", "bert."),
            Self::ModernBert(_) => ("embeddings.tok_embeddings.weight", "model."),
        };
        if weights.has(word) { "" } else { prefix }
    }

    /// Reads the body.
    pub(crate) fn body(&self, weights: &Weights, prefix: &str) -> Result<Body, LoadError> {
        Ok(match self {
            Self::Decoder(config) => Body::Decoder(Decoder::read(config, weights, prefix)?),
            Self::Bert(config) => Body::Bert(Bert::read(config, weights, prefix)?),
            Self::ModernBert(config) => Body::ModernBert(ModernBert::read(config, weights, prefix)?),
        })
    }
}
