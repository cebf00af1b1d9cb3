//! The forward pass of a decoder: Llama, Qwen2, Qwen3 and Mistral, told apart by flags of their
//! configuration. One pass serves learning and writing; they differ in where attention finds its
//! keys.

mod layer;
mod projection;

use assay_weights::config::DecoderConfig;
use candle_core::{Result, Tensor};

use crate::ops::{Heads, Tape, Turns, Weight, rms_norm, rows};

pub(crate) use layer::Layer;
pub(crate) use projection::Adapter;

/// A decoder over some tensors: variables that learn, or views of them that do not.
pub(crate) struct Decoder {
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    /// The embedding where the two are tied.
    head: Weight,
    eps: f64,
}

/// Where attention of a layer finds its keys and values.
pub(crate) trait Attend {
    /// Queries of `[tokens, heads * head_dim]` over their keys and values, those of these tokens
    /// among them, to the same shape.
    fn attend(
        &mut self,
        layer: usize,
        qkv: [&Tensor; 3],
        heads: Heads,
        tape: &mut Tape,
    ) -> Result<Tensor>;
}

impl Decoder {
    /// Takes the tensors under their names.
    pub(crate) fn new(
        config: &DecoderConfig,
        tensor: &dyn Fn(&str) -> Result<Tensor>,
        adapter: &dyn Fn(&str) -> Result<Option<Adapter>>,
    ) -> Result<Self> {
        let embedding = tensor("model.embed_tokens.weight")?;
        Ok(Self {
            layers: (0..config.layers())
                .map(|layer| Layer::new(config, &format!("model.layers.{layer}"), tensor, adapter))
                .collect::<Result<_>>()?,
            norm: tensor("model.norm.weight")?,
            head: Weight::Plain(if config.tied {
                embedding.clone()
            } else {
                tensor("lm_head.weight")?
            }),
            embedding,
            eps: config.eps,
        })
    }

    /// Its weights laid out for many products: as quick as can be for a few rows at a time, and
    /// nothing learns through them.
    pub(crate) fn laid_out(self) -> Result<Self> {
        Ok(Self {
            layers: self
                .layers
                .into_iter()
                .map(Layer::laid_out)
                .collect::<Result<_>>()?,
            head: self.head.laid_out()?,
            ..self
        })
    }

    /// Hidden states behind the last norm, `[tokens, hidden]`, of these tokens.
    pub(crate) fn hidden(
        &self,
        ids: &Tensor,
        turns: &Turns,
        keys: &mut dyn Attend,
        tape: &mut Tape,
    ) -> Result<Tensor> {
        let mut x = rows(&self.embedding, ids, tape)?;
        for (at, layer) in self.layers.iter().enumerate() {
            x = layer.forward(
                &x,
                turns,
                &mut |qkv, heads, tape| keys.attend(at, qkv, heads, tape),
                tape,
            )?;
        }
        rms_norm(&x, &self.norm, self.eps, tape)
    }

    /// `[rows, hidden]` to `[rows, vocabulary]`.
    pub(crate) fn logits(&self, hidden: &Tensor, tape: &mut Tape) -> Result<Tensor> {
        self.head.of(hidden, tape)
    }
}
