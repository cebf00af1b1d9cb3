//! The forward pass of a decoder: Llama, Qwen2, Qwen3 and Mistral, which differ by flags of their
//! configuration. Training and generation share the pass and differ only in the source of keys and
//! values.

mod layer;
mod projection;

use assay_weights::config::DecoderConfig;
use candle_core::{Result, Tensor};

use crate::ops::{Heads, RotaryTable, Tape, Weight, rms_norm, rows};

pub(crate) use layer::Layer;
pub(crate) use projection::Adapter;

/// A decoder over tensors, which are either trained variables or views without gradients.
pub(crate) struct Decoder {
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    /// Equals the embedding if the two are tied.
    head: Weight,
    eps: f64,
}

/// Computes attention; implementations differ in the source of keys and values.
pub(crate) trait Attend {
    /// Attention of queries of shape `[tokens, heads * head_dim]`, which is also the shape of the
    /// result. `qkv` has the queries, keys and values of the new tokens.
    fn attend(
        &mut self,
        layer: usize,
        qkv: [&Tensor; 3],
        heads: Heads,
        tape: &mut Tape,
    ) -> Result<Tensor>;
}

impl Decoder {
    /// Builds the decoder from tensors by their Hugging Face names.
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
            head: Weight::Tensor(if config.tied {
                embedding.clone()
            } else {
                tensor("lm_head.weight")?
            }),
            embedding,
            eps: config.eps,
        })
    }

    /// Packs the weights for products with few rows at a time. No gradient flows through packed
    /// weights.
    pub(crate) fn pack_weights(self) -> Result<Self> {
        Ok(Self {
            layers: self
                .layers
                .into_iter()
                .map(Layer::pack_weights)
                .collect::<Result<_>>()?,
            head: self.head.pack()?,
            ..self
        })
    }

    /// Number of layers.
    pub(crate) fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Whether the embedding is trained.
    pub(crate) fn embedding_learns(&self) -> bool {
        self.embedding.is_variable()
    }

    /// Whether a parameter of a layer is trained.
    pub(crate) fn layer_learns(&self, layer: usize) -> bool {
        self.layers[layer].learns()
    }

    /// Whether the last norm is trained.
    pub(crate) fn norm_learns(&self) -> bool {
        self.norm.is_variable()
    }

    /// The head, `[vocabulary, hidden]`; `None` if it is packed.
    pub(crate) fn head(&self) -> Option<&Tensor> {
        match &self.head {
            Weight::Tensor(head) => Some(head),
            Weight::Packed(_) => None,
        }
    }

    /// Embeddings of tokens, `[tokens, hidden]`.
    pub(crate) fn embed(&self, ids: &Tensor, tape: &mut Tape) -> Result<Tensor> {
        rows(&self.embedding, ids, tape)
    }

    /// Maps `[tokens, hidden]` to the same shape by one layer.
    pub(crate) fn layer(
        &self,
        layer: usize,
        x: &Tensor,
        rotary: &RotaryTable,
        attention: &mut dyn Attend,
        tape: &mut Tape,
    ) -> Result<Tensor> {
        self.layers[layer].forward(
            x,
            rotary,
            &mut |qkv, heads, tape| attention.attend(layer, qkv, heads, tape),
            tape,
        )
    }

    /// The last norm.
    pub(crate) fn normed(&self, x: &Tensor, tape: &mut Tape) -> Result<Tensor> {
        rms_norm(x, &self.norm, self.eps, tape)
    }

    /// Hidden states of tokens after the last norm, `[tokens, hidden]`.
    pub(crate) fn hidden(
        &self,
        ids: &Tensor,
        rotary: &RotaryTable,
        attention: &mut dyn Attend,
        tape: &mut Tape,
    ) -> Result<Tensor> {
        let mut x = self.embed(ids, tape)?;
        for layer in 0..self.layers() {
            x = self.layer(layer, &x, rotary, attention, tape)?;
        }
        self.normed(&x, tape)
    }

    /// Maps `[rows, hidden]` to `[rows, vocabulary]`.
    pub(crate) fn logits(&self, hidden: &Tensor, tape: &mut Tape) -> Result<Tensor> {
        self.head.apply(hidden, tape)
    }
}
