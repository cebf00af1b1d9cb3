//! Forward pass of ModernBERT.

use assay_weights::config::ModernBertConfig;
use assay_weights::{LoadError, Weights};
use candle_core::{Result, Tensor};

use super::activation::geglu;
use super::attention::{AttentionSpan, attention};
use super::linear::Linear;
use super::norm::{Norm, RowNorm};
use super::packed::Packed;
use super::rotary::{Rotary, Rotations};

/// ModernBERT without its head.
pub(crate) struct ModernBert {
    words: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    global: Rotary,
    local: Rotary,
    pub(crate) last_norm: RowNorm,
}

struct Layer {
    before_attention: Norm,
    qkv: Linear,
    output: Linear,
    before_mlp: Norm,
    gate_up: Linear,
    down: Linear,
    heads: usize,
    /// Distance that the layer attends to on either side. `None` for full attention.
    half_window: Option<usize>,
}

impl ModernBert {
    /// Reads the tensors whose names start with `prefix`, for example `model.`.
    pub(crate) fn read(
        config: &ModernBertConfig,
        weights: &Weights,
        prefix: &str,
    ) -> std::result::Result<Self, LoadError> {
        let norm = format!("{prefix}embeddings.norm");
        let head_dim = config.hidden / config.heads;
        let layers = config.half_windows.iter().enumerate();
        Ok(Self {
            words: weights.tensor(
                &format!("{prefix}embeddings.tok_embeddings.weight"),
                &[config.vocabulary, config.hidden],
            )?,
            norm: Norm::layer(weights, &norm, config.hidden, config.eps, config.norm_bias)?,
            layers: layers
                .map(|(layer, half_window)| {
                    Layer::read(
                        config,
                        weights,
                        &format!("{prefix}layers.{layer}"),
                        layer == 0,
                        *half_window,
                    )
                })
                .collect::<std::result::Result<_, _>>()?,
            global: Rotary::new(&config.global, head_dim, weights),
            local: Rotary::new(&config.local, head_dim, weights),
            last_norm: RowNorm::layer(
                weights,
                &format!("{prefix}final_norm"),
                config.hidden,
                config.eps,
                config.norm_bias,
            )?,
        })
    }

    pub(crate) fn forward(&self, packed: &Packed) -> Result<Tensor> {
        let (global, local) = (
            self.global.rotations(packed)?,
            self.local.rotations(packed)?,
        );
        let x = self
            .norm
            .forward(&self.words.index_select(&packed.ids, 0)?)?;
        self.layers.iter().try_fold(x, |x, layer| {
            layer.forward(
                &x,
                if layer.half_window.is_some() {
                    &local
                } else {
                    &global
                },
                packed,
            )
        })
    }
}

impl Layer {
    fn read(
        config: &ModernBertConfig,
        weights: &Weights,
        name: &str,
        first: bool,
        half_window: Option<usize>,
    ) -> std::result::Result<Self, LoadError> {
        let (hidden, inner) = (config.hidden, config.inner);
        let tensor_name = |part: &str| format!("{name}.{part}");
        let norm = |part: &str| {
            Norm::layer(
                weights,
                &tensor_name(part),
                hidden,
                config.eps,
                config.norm_bias,
            )
        };
        Ok(Self {
            // The first layer has no norm because it follows the norm of the embeddings.
            before_attention: if first {
                Norm::Identity
            } else {
                norm("attn_norm")?
            },
            qkv: Linear::read(
                weights,
                &tensor_name("attn.Wqkv"),
                [3 * hidden, hidden],
                config.attention_bias,
            )?,
            output: Linear::read(
                weights,
                &tensor_name("attn.Wo"),
                [hidden, hidden],
                config.attention_bias,
            )?,
            before_mlp: norm("mlp_norm")?,
            gate_up: Linear::read(
                weights,
                &tensor_name("mlp.Wi"),
                [2 * inner, hidden],
                config.mlp_bias,
            )?,
            down: Linear::read(
                weights,
                &tensor_name("mlp.Wo"),
                [hidden, inner],
                config.mlp_bias,
            )?,
            heads: config.heads,
            half_window,
        })
    }

    fn forward(&self, x: &Tensor, rotations: &Rotations, packed: &Packed) -> Result<Tensor> {
        let (tokens, hidden) = x.dims2()?;
        let tile = packed.gpu.product_rows;
        let [q, k, v] = self
            .qkv
            .parts(&self.before_attention.forward(x)?, [hidden; 3], tile)?;
        let by_head = |x: Tensor| x.reshape((tokens, self.heads, hidden / self.heads));
        let (q, k) = (
            rotations.apply(&by_head(q)?)?,
            rotations.apply(&by_head(k)?)?,
        );
        let attended = attention(
            &q,
            &k,
            &by_head(v)?,
            packed,
            AttentionSpan::Bidirectional(self.half_window),
        )?;
        let x = (x + self.output.forward(&attended, tile)?)?;
        let inner = geglu(&self.gate_up, &self.before_mlp.forward(&x)?, tile)?;
        x + self.down.forward(&inner, tile)?
    }
}
