//! Forward pass of decoders: Llama, Qwen2, Qwen3 and Mistral.

use assay_weights::config::DecoderConfig;
use assay_weights::{LoadError, Weights};
use candle_core::{Result, Tensor};

use super::activation::swiglu;
use super::attention::{AttentionSpan, attention};
use super::linear::Linear;
use super::norm::{Norm, RowNorm};
use super::packed::Packed;
use super::rotary::{Rotary, Rotations};

/// A decoder without its head.
pub(crate) struct Decoder {
    embedding: Tensor,
    layers: Vec<Layer>,
    rotary: Rotary,
    pub(crate) last_norm: RowNorm,
}

struct Layer {
    before_attention: Norm,
    qkv: Linear,
    /// Norms of queries and keys, if the model has them.
    qk_norm: Option<(Norm, Norm)>,
    output: Linear,
    before_mlp: Norm,
    gate_up: Linear,
    down: Linear,
    /// Number of query heads, number of key and value heads, head dimension.
    heads: [usize; 3],
    span: AttentionSpan,
}

impl Decoder {
    /// Reads the tensors whose names start with `prefix`, for example `model.`.
    pub(crate) fn read(
        config: &DecoderConfig,
        weights: &Weights,
        prefix: &str,
    ) -> std::result::Result<Self, LoadError> {
        let embedding = format!("{prefix}embed_tokens.weight");
        Ok(Self {
            embedding: weights.tensor(&embedding, &[config.vocabulary, config.hidden])?,
            layers: (0..config.layers())
                .map(|layer| {
                    Layer::read(
                        config,
                        weights,
                        &format!("{prefix}layers.{layer}"),
                        config.windows[layer],
                    )
                })
                .collect::<std::result::Result<_, _>>()?,
            rotary: Rotary::new(&config.rope, config.head_dim, weights),
            last_norm: RowNorm::rms(weights, &format!("{prefix}norm"), config.hidden, config.eps)?,
        })
    }

    pub(crate) fn forward(&self, packed: &Packed) -> Result<Tensor> {
        let rotations = self.rotary.rotations(packed)?;
        let x = self.embedding.index_select(&packed.ids, 0)?;
        self.layers
            .iter()
            .try_fold(x, |x, layer| layer.forward(&x, &rotations, packed))
    }
}

impl Layer {
    fn read(
        config: &DecoderConfig,
        weights: &Weights,
        name: &str,
        window: Option<usize>,
    ) -> std::result::Result<Self, LoadError> {
        let (hidden, inner) = (config.hidden, config.inner);
        let (wide, narrow) = (
            config.heads * config.head_dim,
            config.kv_heads * config.head_dim,
        );
        let tensor_name = |part: &str| format!("{name}.{part}");
        let norm =
            |part: &str, size: usize| Norm::rms(weights, &tensor_name(part), size, config.eps);
        let (q, k, v) = (
            tensor_name("self_attn.q_proj"),
            tensor_name("self_attn.k_proj"),
            tensor_name("self_attn.v_proj"),
        );
        let (gate, up) = (tensor_name("mlp.gate_proj"), tensor_name("mlp.up_proj"));
        let qk_norm = config
            .qk_norm
            .then(|| {
                Ok::<_, LoadError>((
                    norm("self_attn.q_norm", config.head_dim)?,
                    norm("self_attn.k_norm", config.head_dim)?,
                ))
            })
            .transpose()?;
        Ok(Self {
            before_attention: norm("input_layernorm", hidden)?,
            qkv: Linear::joined(
                weights,
                &[(&q, wide), (&k, narrow), (&v, narrow)],
                hidden,
                config.qkv_bias,
            )?,
            qk_norm,
            output: Linear::read(
                weights,
                &tensor_name("self_attn.o_proj"),
                [hidden, wide],
                config.output_bias,
            )?,
            before_mlp: norm("post_attention_layernorm", hidden)?,
            gate_up: Linear::joined(
                weights,
                &[(&gate, inner), (&up, inner)],
                hidden,
                config.mlp_bias,
            )?,
            down: Linear::read(
                weights,
                &tensor_name("mlp.down_proj"),
                [hidden, inner],
                config.mlp_bias,
            )?,
            heads: [config.heads, config.kv_heads, config.head_dim],
            span: AttentionSpan::Causal(window),
        })
    }

    fn forward(&self, x: &Tensor, rotations: &Rotations, packed: &Packed) -> Result<Tensor> {
        let tile = packed.gpu.product_rows;
        let x = (x + self.attend(&self.before_attention.forward(x)?, rotations, packed)?)?;
        let inner = swiglu(&self.gate_up, &self.before_mlp.forward(&x)?, tile)?;
        x + self.down.forward(&inner, tile)?
    }

    fn attend(&self, x: &Tensor, rotations: &Rotations, packed: &Packed) -> Result<Tensor> {
        let [heads, kv_heads, head_dim] = self.heads;
        let (rows, tile) = (packed.rows(), packed.gpu.product_rows);
        let counts = [heads, kv_heads, kv_heads];
        let sizes = counts.map(|count| count * head_dim);
        let [q, k, v] = self.qkv.parts(x, sizes, tile)?;
        let by_head = |x: Tensor, count: usize| x.reshape((rows, count, head_dim));
        let (mut q, mut k, v) = (
            by_head(q, heads)?,
            by_head(k, kv_heads)?,
            by_head(v, kv_heads)?,
        );
        if let Some((q_norm, k_norm)) = &self.qk_norm {
            (q, k) = (q_norm.forward(&q)?, k_norm.forward(&k)?);
        }
        let (q, k) = (rotations.apply(&q)?, rotations.apply(&k)?);
        self.output
            .forward(&attention(&q, &k, &v, packed, self.span)?, tile)
    }
}
