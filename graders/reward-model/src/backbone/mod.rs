//! Forward passes: from packed token ids to one hidden state per token.
//!
//! Sequences are concatenated without padding. No operation mixes them: each row of a product
//! depends only on its own inputs, and attention works on one sequence at a time, in tiles that
//! depend only on its length. A score is therefore bit-identical alone and in any batch, also if
//! sequences share the rows of their first tokens.
//! `linear.rs` and `attention/` document how this is achieved.

mod activation;
pub(crate) mod attention;
pub(crate) mod bert;
pub(crate) mod decoder;
mod linear;
pub(crate) mod modernbert;
pub(crate) mod norm;
mod packed;
mod packed_sequence;
#[cfg(feature = "cuda")]
mod product;
mod rotary;

pub(crate) use packed::Packed;

use assay_weights::config::BackboneConfig;
use assay_weights::{LoadError, Weights};
use candle_core::{Result, Tensor};

/// A backbone of any family.
pub(crate) enum Backbone {
    Decoder(decoder::Decoder),
    Bert(bert::Bert),
    ModernBert(modernbert::ModernBert),
}

impl Backbone {
    /// Reads the tensors whose names start with `prefix`, for example `model.`.
    pub(crate) fn read(
        config: &BackboneConfig,
        weights: &Weights,
        prefix: &str,
    ) -> std::result::Result<Self, LoadError> {
        Ok(match config {
            BackboneConfig::Decoder(config) => {
                Self::Decoder(decoder::Decoder::read(config, weights, prefix)?)
            }
            BackboneConfig::Bert(config) => Self::Bert(bert::Bert::read(config, weights, prefix)?),
            BackboneConfig::ModernBert(config) => {
                Self::ModernBert(modernbert::ModernBert::read(config, weights, prefix)?)
            }
        })
    }

    /// Whether a token attends only to itself and to tokens before it.
    pub(crate) fn is_causal(&self) -> bool {
        matches!(self, Self::Decoder(_))
    }

    /// Computes the hidden states before the last norm, `[rows, hidden]`.
    pub(crate) fn forward(&self, packed: &Packed) -> Result<Tensor> {
        match self {
            Self::Decoder(backbone) => backbone.forward(packed),
            Self::Bert(backbone) => backbone.forward(packed),
            Self::ModernBert(backbone) => backbone.forward(packed),
        }
    }

    /// Applies the last norm to one row in place.
    pub(crate) fn last_norm(&self, row: &mut [f32]) {
        match self {
            Self::Decoder(backbone) => backbone.last_norm.apply(row),
            Self::Bert(_) => {}
            Self::ModernBert(backbone) => backbone.last_norm.apply(row),
        }
    }
}
