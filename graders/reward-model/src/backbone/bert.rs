//! Forward pass of BERT.

use assay_weights::config::BertConfig;
use assay_weights::{LoadError, Weights};
use candle_core::{Result, Tensor};

use super::activation::gelu;
use super::attention::{AttentionSpan, attention};
use super::linear::Linear;
use super::norm::Norm;
use super::packed::Packed;

/// BERT without its pooler.
pub(crate) struct Bert {
    words: Tensor,
    positions: Tensor,
    types: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    qkv: Linear,
    output: Linear,
    after_attention: Norm,
    up: Linear,
    down: Linear,
    after_mlp: Norm,
    heads: usize,
}

impl Bert {
    /// Reads the tensors whose names start with `prefix`, for example `bert.`.
    pub(crate) fn read(
        config: &BertConfig,
        weights: &Weights,
        prefix: &str,
    ) -> std::result::Result<Self, LoadError> {
        let tensor_name = |part: &str| format!("{prefix}embeddings.{part}");
        let table =
            |part: &str, rows: usize| weights.tensor(&tensor_name(part), &[rows, config.hidden]);
        Ok(Self {
            words: table("word_embeddings.weight", config.vocabulary)?,
            positions: table("position_embeddings.weight", config.max_positions)?,
            types: table("token_type_embeddings.weight", config.types)?,
            norm: Norm::layer(
                weights,
                &tensor_name("LayerNorm"),
                config.hidden,
                config.eps,
                true,
            )?,
            layers: (0..config.layers)
                .map(|layer| {
                    Layer::read(config, weights, &format!("{prefix}encoder.layer.{layer}"))
                })
                .collect::<std::result::Result<_, _>>()?,
        })
    }

    pub(crate) fn forward(&self, packed: &Packed) -> Result<Tensor> {
        let words = self.words.index_select(&packed.ids, 0)?;
        let types = self.types.index_select(&packed.types, 0)?;
        let positions = self.positions.index_select(&packed.positions, 0)?;
        let x = self.norm.forward(&((words + types)? + positions)?)?;
        self.layers
            .iter()
            .try_fold(x, |x, layer| layer.forward(&x, packed))
    }
}

impl Layer {
    fn read(
        config: &BertConfig,
        weights: &Weights,
        name: &str,
    ) -> std::result::Result<Self, LoadError> {
        let (hidden, inner) = (config.hidden, config.inner);
        let tensor_name = |part: &str| format!("{name}.{part}");
        let norm = |part: &str| Norm::layer(weights, &tensor_name(part), hidden, config.eps, true);
        let (q, k, v) = (
            tensor_name("attention.self.query"),
            tensor_name("attention.self.key"),
            tensor_name("attention.self.value"),
        );
        Ok(Self {
            qkv: Linear::joined(
                weights,
                &[(&q, hidden), (&k, hidden), (&v, hidden)],
                hidden,
                true,
            )?,
            output: Linear::read(
                weights,
                &tensor_name("attention.output.dense"),
                [hidden, hidden],
                true,
            )?,
            after_attention: norm("attention.output.LayerNorm")?,
            up: Linear::read(
                weights,
                &tensor_name("intermediate.dense"),
                [inner, hidden],
                true,
            )?,
            down: Linear::read(weights, &tensor_name("output.dense"), [hidden, inner], true)?,
            after_mlp: norm("output.LayerNorm")?,
            heads: config.heads,
        })
    }

    fn forward(&self, x: &Tensor, packed: &Packed) -> Result<Tensor> {
        let (tokens, hidden) = x.dims2()?;
        let tile = packed.gpu.product_rows;
        let [q, k, v] = self.qkv.parts(x, [hidden; 3], tile)?;
        let by_head = |x: Tensor| x.reshape((tokens, self.heads, hidden / self.heads));
        let attended = attention(
            &by_head(q)?,
            &by_head(k)?,
            &by_head(v)?,
            packed,
            AttentionSpan::Bidirectional(None),
        )?;
        let x = self
            .after_attention
            .forward(&(self.output.forward(&attended, tile)? + x)?)?;
        let inner = gelu(&self.up.forward(&x, tile)?)?;
        self.after_mlp
            .forward(&(self.down.forward(&inner, tile)? + x)?)
    }
}
